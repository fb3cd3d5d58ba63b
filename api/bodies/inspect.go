package bodies

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/text"
)

// maxFieldErrors bounds the errors of one answer, maxPointer the bytes of a pointer in them
// and maxPointerName the characters of a name in it, which clients choose.
const (
	maxFieldErrors = 20
	maxPointer     = 1000
	maxPointerName = 100
)

// inspector compares a body with a Go type while it scans it, more strictly than
// encoding/json does: names in their exact case and at most once, no unknown ones
// outside of open objects, no null for a value, no lone surrogates.
type inspector struct {
	scanner

	path []step
	// wrong are values of another shape; refused are values with U+0000, which
	// databases cannot store.
	wrong, refused []schemas.FieldError
	// files says that the body sends attachments.
	files bool
}

// inspect reads a body that should be a t. For a body that is not valid JSON in
// UTF-8 it only sets failed.
func inspect(raw []byte, t reflect.Type) *inspector {
	in := &inspector{scanner: scanner{raw: raw}}
	in.onEscape = in.badEscape
	in.value(t)
	if in.next(); in.at < len(raw) {
		in.fail()
	}
	return in
}

// step is a part of a JSON pointer: an index, or a name when that is -1.
type step struct {
	name  string
	index int
}

func (in *inspector) pointer() string {
	var b strings.Builder
	for _, s := range in.path {
		b.WriteByte('/')
		if b.Len() > maxPointer {
			b.WriteString("…")
			break
		}
		if s.index >= 0 {
			b.WriteString(strconv.Itoa(s.index))
			continue
		}
		b.WriteString(jsonlimit.Escape(text.Ellipsis(s.name, maxPointerName)))
	}
	return b.String()
}

func (in *inspector) isWrong(detail string) {
	if len(in.wrong) < maxFieldErrors {
		in.wrong = append(in.wrong, schemas.FieldError{Pointer: in.pointer(), Detail: detail})
	}
}

func (in *inspector) badEscape(r rune) {
	switch {
	case r != 0:
		in.isWrong("is not valid Unicode: a lone surrogate")
	case len(in.refused) < maxFieldErrors:
		in.refused = append(in.refused, schemas.FieldError{Pointer: in.pointer(), Detail: "must not contain U+0000"})
	}
}

// value reads one value that should fit t; a nil t fits all.
func (in *inspector) value(t reflect.Type) {
	first := in.next()
	written := in.scalar(first)
	if in.failed {
		return
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if want := mismatch(t, first, written); want != "" {
		in.isWrong("must be " + want + ", not " + kindOf(first, written))
		t = nil
	}
	switch first {
	case '{':
		in.object(t)
	case '[':
		in.array(t)
	}
}

// scalar reads a value that begins with the byte first and is neither an object
// nor an array.
func (in *inspector) scalar(first byte) []byte {
	switch first {
	case '{', '[':
		return nil
	case '"':
		return in.text()
	case 't':
		in.word("true")
	case 'f':
		in.word("false")
	case 'n':
		in.word("null")
	default:
		return in.number()
	}
	return nil
}

func (in *inspector) object(t reflect.Type) {
	var known map[string]field
	if t != nil && t.Kind() == reflect.Struct {
		known = fields(t)
	}
	var seen map[string]bool
	in.open()
	for first := true; in.more(first, '}'); first = false {
		written := in.text()
		in.take(':')
		if in.failed {
			return
		}
		name := unquoted(written)
		in.path = append(in.path, step{name: name, index: -1})
		ft, ok := known[name]
		switch {
		case seen[name]:
			in.isWrong("is given twice")
		case known != nil && !ok && !openTypes[t]:
			in.isWrong("is not a known field")
		}
		if seen == nil {
			seen = make(map[string]bool)
		}
		seen[name] = true
		if ft.optional && in.next() == 'n' {
			ft.Type = nil
		}
		in.value(ft.Type)
		in.path = in.path[:len(in.path)-1]
	}
	in.close()
}

func (in *inspector) array(t reflect.Type) {
	var item reflect.Type
	if t != nil && t.Kind() == reflect.Slice && t != rawType {
		item = t.Elem()
	}
	in.open()
	for i := 0; in.more(i == 0, ']'); i++ {
		in.files = in.files || len(in.path) == 1 && in.path[0].name == attachments
		in.path = append(in.path, step{index: i})
		in.value(item)
		in.path = in.path[:len(in.path)-1]
	}
	in.close()
}

// attachments is the member of a body for which the limit of files applies.
const attachments = "attachments"

var rawType = reflect.TypeFor[json.RawMessage]()

// mismatch returns what t expects if it does not fit a value that begins with
// the byte first; written is the text of a number.
func mismatch(t reflect.Type, first byte, written []byte) string {
	if t == nil || t == rawType || t.Kind() == reflect.Interface {
		return ""
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return unless(first == '{', "an object")
	case reflect.Slice:
		return unless(first == '[', "an array")
	case reflect.String:
		return unless(first == '"', "a string")
	case reflect.Bool:
		return unless(first == 't' || first == 'f', "a boolean")
	case reflect.Int, reflect.Int64:
		ok := isNumber(first)
		if ok {
			_, err := strconv.ParseInt(string(written), 10, 64)
			ok = err == nil
		}
		return unless(ok, "an integer")
	default:
		return unless(isNumber(first), "a number")
	}
}

func isNumber(first byte) bool { return first == '-' || '0' <= first && first <= '9' }

func unless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

func kindOf(first byte, written []byte) string {
	switch first {
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case '[':
		return "an array"
	case '{':
		return "an object"
	case 'n':
		return "null"
	default:
		return "the number " + string(written[:min(len(written), 20)])
	}
}

var fieldCache sync.Map // reflect.Type → map[string]reflect.Type

// field is a field of a struct. An optional field may be null, which counts as absent.
type field struct {
	reflect.Type
	optional bool
}

// dropNulls removes the optional JSON of a request that is null: that counts as absent.
// Where null is a value, the field has the tag null.
func dropNulls(v reflect.Value) {
	if v = reflect.Indirect(v); v.Kind() != reflect.Struct {
		return
	}
	for f, value := range v.Fields() {
		raw, ok := reflect.TypeAssert[json.RawMessage](value)
		switch {
		case !ok:
			dropNulls(value)
		case string(raw) == "null" && strings.Contains(f.Tag.Get("json"), ",omit") && f.Tag.Get("null") == "":
			value.SetZero()
		}
	}
}

// openTypes are the structs that may have unknown members.
var openTypes = map[reflect.Type]bool{reflect.TypeFor[schemas.HistoryMessage](): true}

// fields returns the fields of a struct by their JSON names.
func fields(t reflect.Type) map[string]field {
	if known, ok := fieldCache.Load(t); ok {
		return known.(map[string]field)
	}
	known := map[string]field{}
	for _, f := range slices.Collect(t.Fields()) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = field{f.Type, strings.Contains(options, "omit")}
	}
	fieldCache.Store(t, known)
	return known
}
