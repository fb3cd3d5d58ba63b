package wires

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
)

// Limits of requests. maxInstructions and maxKind are in characters.
const (
	maxItems        = 100_000 // messages, their parts and tools of a body
	itemDepth       = 4       // the parts of a message are nested as deep: {"messages":[{"parts":[
	maxContext      = 1 << 20 // bytes; the run holds it as long as it lives, after its body is released
	maxInstructions = 16_000
	maxHistory      = 200 // messages; the newest are kept
	maxKind         = 40  // of a part's type that the model reads
)

// Decode reads the body into v. It ignores members that v does not have: new versions of
// clients add some.
func (c *Call) Decode(v any) error {
	bad := func(message string) error { return schemas.NewError(schemas.CodeBadRequest, message) }
	switch {
	case !utf8.Valid(c.Body):
		return bad("the body is not valid UTF-8")
	case hasNUL(c.Body):
		return bad("the body has the character NUL")
	case items(c.Body) > maxItems:
		return schemas.NewError(schemas.CodeInvalid, "the body has more than "+strconv.Itoa(maxItems)+" messages, parts and tools")
	}
	return Unmarshal(c.Body, v, "")
}

// Repointed returns an error whose pointers are moved.
func Repointed(err error, move func(pointer string) string) error {
	seen, ok := errors.AsType[*schemas.Error](err)
	if !ok || len(seen.Fields) == 0 {
		return err
	}
	moved := *seen
	moved.Fields = slices.Clone(seen.Fields)
	for i, f := range moved.Fields {
		moved.Fields[i].Pointer = move(f.Pointer)
	}
	return &moved
}

// Pointed returns an error of Start with pointers into the client's body, where the
// message has the pointer message, and its files have the pointers files.
func Pointed(err error, message string, files []string) error {
	return Repointed(err, func(pointer string) string {
		parts := strings.Split(pointer, "/")
		switch {
		case pointer == "/message", pointer == "/attachments", pointer == "/message_id":
			return message
		case len(parts) > 2 && parts[1] == "attachments":
			if n, err := strconv.Atoi(parts[2]); err == nil && n < len(files) {
				return files[n]
			}
		case len(parts) > 1 && parts[1] == "conversation_history": // some of the client's messages are left out of it
			list, _, _ := strings.Cut(strings.TrimPrefix(message, "/"), "/")
			return "/" + list
		}
		return pointer
	})
}

// hasNUL reports whether JSON has an escaped NUL, which cannot be stored. A text may be
// about the escape: its backslash is escaped.
func hasNUL(body []byte) bool {
	for {
		at := bytes.Index(body, []byte(`\u0000`))
		if at < 0 {
			return false
		}
		if before := body[:at]; (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 0 {
			return true
		}
		body = body[at+len(`\u0000`):]
	}
}

// items returns the number of items in the arrays of JSON down to itemDepth, where an
// empty array counts as one. Decoded, an item of two bytes takes a hundred times as many.
func items(body []byte) (n int) {
	var open []byte // the brackets that are open
	quoted := false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if open = append(open, c); c == '[' && len(open) <= itemDepth {
				n++
			}
		case c == ']' || c == '}':
			open = open[:max(len(open)-1, 0)]
		case c == ',' && len(open) <= itemDepth && bytes.HasSuffix(open, []byte("[")):
			n++
		}
	}
	return n
}

// Defaults takes from the query what the body leaves out: page, tab, subtab, model,
// on_disconnect and if_busy.
func Defaults(req *schemas.ChatRequest, query url.Values) {
	for key, name := range map[string]string{"current_page": "page", "active_tab": "tab", "active_subtab": "subtab"} {
		if v := query.Get(name); v != "" && req.Context.String(key) == "" {
			if req.Context == nil {
				req.Context = schemas.Object{}
			}
			req.Context[key] = schemas.Encode(v)
		}
	}
	req.Model = cmp.Or(req.Model, query.Get("model"))
	req.OnDisconnect = cmp.Or(req.OnDisconnect, query.Get("on_disconnect"))
	req.IfBusy = cmp.Or(req.IfBusy, query.Get("if_busy"))
}

// Instruct puts system messages into the context: the model gets them as data.
func Instruct(req *schemas.ChatRequest, texts []string, pointer string) error {
	text := strings.Join(texts, "\n")
	if text == "" {
		return nil
	}
	if utf8.RuneCountInString(text) > maxInstructions {
		return schemas.Invalid(pointer, "must have at most "+strconv.Itoa(maxInstructions)+" characters of system messages and instructions together")
	}
	if req.Context == nil {
		req.Context = schemas.Object{}
	}
	if _, given := req.Context["instructions"]; !given {
		req.Context["instructions"] = schemas.Encode(text)
	}
	return nil
}

// Tools completes the tools of the page: a missing description becomes the name, a missing
// schema one that accepts any object. A schema that names no type gets the type object, which
// arguments always have. A tool without a name lacks only that.
func Tools(list []schemas.ClientTool) {
	for i := range list {
		list[i].Description = cmp.Or(list[i].Description, list[i].Name, "none")
		list[i].InputSchema = ofObject(list[i].InputSchema)
	}
}

// ofObject returns a schema with a type. What is no schema at all stays as it is, and is
// refused where tools are made.
func ofObject(schema json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(schema, &members) != nil && !Null(schema) {
		return schema
	}
	_, typed := members["type"]
	switch {
	case typed:
		return schema
	case len(members) == 0:
		return json.RawMessage(`{"type":"object"}`)
	}
	return slices.Concat([]byte(`{"type":"object",`), bytes.TrimSpace(schema)[1:])
}

// Text returns the text of a user's message: its text parts, one a line. A message of files
// alone has their names as its text.
func Text(parts, files []string) string {
	words := strings.Join(parts, "\n")
	if !text.Blank(words) || len(files) == 0 {
		return words
	}
	names := make([]string, len(files))
	for i, name := range files {
		names[i] = fileName(name, i+1)
	}
	return strings.Join(names, ", ")
}

// LeftOut is what the model reads in the place of a part of a tool's result that is no text.
func LeftOut(kind string) string {
	return "[" + cmp.Or(text.Line(kind, maxKind), "a part without a type") + " is left out: the result of a tool of the client is text here]"
}

// fileName returns the name of the n-th file of a message.
func fileName(name string, n int) string { return cmp.Or(name, "file-"+strconv.Itoa(n)) }

// File turns a data URL into an attachment. Other URLs are refused: the service fetches
// nothing for a client. The n-th file is called file-n if it has no name.
func File(address, media, name string, n int, pointer string) (schemas.Attachment, error) {
	var none schemas.Attachment
	scheme, rest, ok := strings.Cut(address, ":")
	if !ok || !strings.EqualFold(scheme, "data") {
		return none, schemas.Invalid(pointer, "must be a data: URL; the service fetches no files")
	}
	head, data, ok := strings.Cut(rest, ",")
	if !ok {
		return none, schemas.Invalid(pointer, "is not a data: URL")
	}
	encoded := false
	if at := strings.LastIndexByte(head, ';'); at >= 0 && strings.EqualFold(strings.TrimSpace(head[at+1:]), "base64") {
		head, encoded = head[:at], true
	}
	kind, _, _ := strings.Cut(head, ";")
	a := schemas.Attachment{Name: fileName(name, n), MIME: cmp.Or(media, kind, "text/plain")}
	plain, err := []byte(nil), error(nil)
	if encoded {
		plain, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(data, "=\r\n"))
	} else {
		var text string
		text, err = url.PathUnescape(data)
		plain = []byte(text)
	}
	if err != nil {
		return none, schemas.Invalid(pointer, "is not a data: URL")
	}
	media, _, _ = strings.Cut(strings.ToLower(a.MIME), ";")
	switch {
	case !schemas.TextMedia(strings.TrimSpace(media)):
		a.Content = base64.StdEncoding.EncodeToString(plain)
	case !utf8.Valid(plain):
		return none, schemas.Invalid(pointer, "is not UTF-8 text")
	default:
		a.Content = string(plain)
	}
	return a, nil
}

// options returns the start options of the request's Idempotency-Key.
func (c *Call) options() record.StartOptions {
	o, body := record.StartOptions{IdempotencyKey: c.Header.Get("Idempotency-Key")}, c.Body
	if o.IdempotencyKey == "" {
		o.IdempotencyKey, body = c.Key, []byte(c.KeyBody)
	}
	if o.IdempotencyKey != "" {
		sum := sha256.Sum256(body)
		o.BodyHash = hex.EncodeToString(sum[:])
	}
	return o
}

// Once returns the run that an earlier request with the same Idempotency-Key started. If
// there is none, begin begins one.
func (c *Call) Once(begin func() (schemas.Run, error)) (schemas.Run, error) {
	o := c.options()
	if o.IdempotencyKey == "" {
		return begin()
	}
	switch _, err := c.Service.Runs.ByKey(c.Context(), c.User, o.IdempotencyKey); {
	case errors.Is(err, schemas.ErrNotFound):
		return begin()
	case err != nil:
		return schemas.Run{}, err
	}
	return c.Service.Runs.Start(c.Context(), c.User, &schemas.ChatRequest{}, o) // it compares the bodies
}

// History returns the messages of a new chat that come before its first question.
func History(list []Message) []schemas.HistoryMessage {
	var history []schemas.HistoryMessage
	for _, m := range list {
		if (m.Role == "user" || m.Role == "assistant") && strings.TrimSpace(m.Text) != "" {
			history = append(history, schemas.HistoryMessage{Role: m.Role, Content: m.Text})
		}
	}
	return slices.Clone(history[max(0, len(history)-maxHistory):])
}
