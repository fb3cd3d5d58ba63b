package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/services/research"
)

// Limits of apply_schema.
const (
	maxSchemaChanges = 100
	maxSchemaDepth   = 32 // steps of a path, and levels of a value
	maxSchemaKey     = 200
	maxSchemaBytes   = 256 << 10 // bytes of a stream's whole schema
	maxSchemaShown   = 80        // characters of a value in the answer
)

// forbiddenKeys would change a JavaScript object's prototype where the schema
// is used.
var forbiddenKeys = []string{"__proto__", "constructor", "prototype"}

// schemaChange is the data of apply_schema.
type schemaChange struct {
	StreamID int64                      `json:"stream_id"`
	Changes  map[string]json.RawMessage `json:"changes"`
}

// Streams stores the streams whose schemas are changed. An unknown id is
// schemas.ErrNotFound.
type Streams interface {
	Stream(ctx context.Context, id int64) (schemas.Stream, error)
	// UpdateStream applies change to the stream in one transaction.
	UpdateStream(ctx context.Context, id int64, change func(*schemas.Stream) error) (schemas.Stream, error)
}

// ApplySchema is the bundled action apply_schema: it writes values into a
// stream's schema by dotted path. A missing path is created inside a part that
// the schema has. A number in a path is an index if the schema has a list
// there, at most the list's length. The action is offered only to the stream's
// owner and admins; for others the error has the code forbidden.
func ApplySchema(streams Streams) Action {
	return Action{
		Name: "apply_schema",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["stream_id","changes"],"properties":{` +
			`"stream_id":{"type":"integer","minimum":1},` +
			`"changes":{"type":"object","minProperties":1,"maxProperties":` + strconv.Itoa(maxSchemaChanges) + `}}}`),
		Check: func(data json.RawMessage) error {
			_, err := readSchemaChange(data)
			return err
		},
		Offered: func(ctx context.Context, user schemas.User, page schemas.Object) bool {
			if user.Admin() {
				return true
			}
			stream, err := streams.Stream(ctx, page.Int("stream_id"))
			return err == nil && research.MayWrite(user, &stream)
		},
		Allow: func(ctx context.Context, call Call) error {
			c, err := readSchemaChange(call.Data)
			if err != nil {
				return err
			}
			stream, err := streams.Stream(ctx, c.StreamID)
			if err != nil {
				return err
			}
			_, err = c.apply(call.User, &stream)
			return err
		},
		Handle: func(ctx context.Context, call Call) (Outcome, error) {
			c, err := readSchemaChange(call.Data)
			if err != nil {
				return Outcome{}, err
			}
			var lines []string
			stream, err := streams.UpdateStream(ctx, c.StreamID, func(s *schemas.Stream) error {
				lines, err = c.apply(call.User, s)
				return err
			})
			if err != nil {
				return Outcome{}, err
			}
			return Outcome{Text: appliedText(&stream, lines)}, nil
		},
	}
}

// readSchemaChange decodes the data and checks the paths.
func readSchemaChange(data json.RawMessage) (schemaChange, error) {
	var c schemaChange
	if err := json.Unmarshal(data, &c); err != nil {
		return c, invalid(dataPointer, "must have stream_id and changes")
	}
	for _, path := range slices.Sorted(maps.Keys(c.Changes)) {
		if why := wrongPath(path); why != "" {
			return c, wrongChange(path, why)
		}
	}
	return c, nil
}

func wrongPath(path string) string {
	keys := strings.Split(path, ".")
	if len(keys) > maxSchemaDepth {
		return fmt.Sprintf("a path has at most %d steps", maxSchemaDepth)
	}
	for _, key := range keys {
		switch {
		case strings.TrimSpace(key) == "":
			return "a step of the path is empty"
		case len(key) > maxSchemaKey:
			return fmt.Sprintf("a step of the path has at most %d bytes", maxSchemaKey)
		case slices.Contains(forbiddenKeys, key):
			return "this name is not allowed in a path"
		}
	}
	return ""
}

func wrongChange(path, detail string) error {
	escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(text.Line(path, maxQuoted))
	return invalid(dataPointer+"/changes/"+escaped, detail)
}

// apply writes the changes into the stream's schema, in the order of their
// paths, and returns one line for each changed value.
func (c *schemaChange) apply(user schemas.User, s *schemas.Stream) ([]string, error) {
	if !research.MayWrite(user, s) {
		return nil, schemas.NewError(schemas.CodeForbidden, "only the owner of the stream “"+text.Line(s.Name, maxQuoted)+"” and admins may change its schema")
	}
	root := map[string]any{}
	if len(s.Schema) > 0 && string(s.Schema) != "null" {
		if err := text.DecodeExact(s.Schema, &root); err != nil {
			return nil, invalid(dataPointer, "the stream's schema is not an object; write the whole schema first")
		}
	}
	parts := slices.Sorted(maps.Keys(root))
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(c.Changes)) {
		part, _, _ := strings.Cut(path, ".")
		if len(parts) > 0 && !slices.Contains(parts, part) {
			return nil, wrongChange(path, "the schema has no part of this name; it has: "+text.Line(strings.Join(parts, ", "), maxQuoted))
		}
		var value any
		if err := text.DecodeExact(c.Changes[path], &value); err != nil {
			return nil, wrongChange(path, "is not a JSON value")
		}
		if err := checkValue(value, 0); err != nil {
			return nil, wrongChange(path, err.Error())
		}
		was, err := setPath(root, strings.Split(path, "."), value)
		if err != nil {
			return nil, wrongChange(path, err.Error())
		}
		if line := changeLine(path, was, value); line != "" {
			lines = append(lines, line)
		}
	}
	raw := []byte(text.JSON(root))
	if len(raw) > maxSchemaBytes {
		return nil, invalid(dataPointer+"/changes", fmt.Sprintf("the schema would have more than %d bytes", maxSchemaBytes))
	}
	if len(lines) > 0 {
		s.Schema = raw
	}
	return lines, nil
}

// checkValue refuses forbidden keys and deep nesting inside a value.
func checkValue(v any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("is nested more than %d deep", maxSchemaDepth)
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := checkValue(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for key, item := range v {
			if slices.Contains(forbiddenKeys, key) {
				return fmt.Errorf("has the key %q, which is not allowed", key)
			}
			if err := checkValue(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// absent is the value of a path that does not exist.
type absent struct{}

// setPath writes value under keys and returns the value before it. Missing
// objects on the path are created; a value that is neither an object nor a list
// is an error.
func setPath(root map[string]any, keys []string, value any) (was any, err error) {
	key, rest := keys[0], keys[1:]
	old, ok := root[key]
	if len(rest) == 0 {
		root[key] = value
		if !ok {
			return absent{}, nil
		}
		return old, nil
	}
	made, was, err := setInside(old, rest, value)
	if err != nil {
		return nil, err
	}
	root[key] = made
	return was, nil
}

// setInside writes into an object or a list and returns it, because a list may
// grow.
func setInside(in any, keys []string, value any) (out, was any, err error) {
	switch in := in.(type) {
	case nil:
		made := map[string]any{}
		_, err := setPath(made, keys, value)
		return made, absent{}, err
	case map[string]any:
		was, err := setPath(in, keys, value)
		return in, was, err
	case []any:
		i, err := strconv.Atoi(keys[0])
		if err != nil || i < 0 || i > len(in) || strconv.Itoa(i) != keys[0] {
			return nil, nil, fmt.Errorf("%q is not an index in a list of %d", text.Line(keys[0], maxQuoted), len(in))
		}
		was = absent{}
		if i == len(in) {
			in = append(in, nil)
		} else if len(keys) == 1 {
			was = in[i]
		}
		if len(keys) == 1 {
			in[i] = value
			return in, was, nil
		}
		made, was, err := setInside(in[i], keys[1:], value)
		if err != nil {
			return nil, nil, err
		}
		in[i] = made
		return in, was, nil
	default:
		return nil, nil, errors.New("leads through a value that is neither an object nor a list")
	}
}

// changeLine describes the change of a value; "" if it is unchanged.
func changeLine(path string, was, value any) string {
	shown := func(v any) string {
		return "`" + strings.ReplaceAll(text.Ellipsis(text.JSON(v), maxSchemaShown), "`", "'") + "`"
	}
	name := "`" + strings.ReplaceAll(text.Line(path, maxQuoted), "`", "'") + "`"
	if _, none := was.(absent); none {
		return fmt.Sprintf("- %s is %s (new)", name, shown(value))
	}
	if reflect.DeepEqual(was, value) {
		return ""
	}
	return fmt.Sprintf("- %s is %s (was %s)", name, shown(value), shown(was))
}

func appliedText(s *schemas.Stream, lines []string) string {
	name := text.Line(s.Name, maxQuoted)
	if len(lines) == 0 {
		return fmt.Sprintf("The schema of the stream “%s” already had these values; nothing changed.", name)
	}
	return fmt.Sprintf("Updated the schema of the stream “%s” (%s):\n\n%s", name, text.Plural(len(lines), "change"), strings.Join(lines, "\n"))
}
