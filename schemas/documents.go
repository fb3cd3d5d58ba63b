package schemas

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// The types of blocks that the service knows. Any other type is stored and passed on.
const (
	BlockMarkdown = "md"
	BlockCSV      = "csv"
	BlockChart    = "interactive_chart"
)

// BlockState is the kind of change of a block that waits for the user.
type BlockState string

// The block states. A clean block has current only, a pending_new one new only,
// a pending_edit one both. A pending_move block has a new_position and no new;
// a pending_delete one is removed when it is accepted.
const (
	BlockClean         BlockState = "clean"
	BlockPendingNew    BlockState = "pending_new"
	BlockPendingEdit   BlockState = "pending_edit"
	BlockPendingDelete BlockState = "pending_delete"
	BlockPendingMove   BlockState = "pending_move"
)

// Document is an ordered collection of blocks. NewTitle is a title that waits
// for the user. Revision grows with every change of the document or one of its
// blocks, and UpdatedAt is the time of the last change. Blocks are set when one
// document is read, in order of their positions; Pending are the ids of blocks
// that wait for the user.
type Document struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	NewTitle  string    `json:"new_title,omitempty"`
	Owner     string    `json:"owner"`
	Revision  int64     `json:"revision"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Blocks    []Block   `json:"blocks,omitzero"`
	Pending   []string  `json:"pending,omitzero"`
}

// DocumentList is a page of documents, the newest first, without their blocks.
type DocumentList struct {
	Items      []Document `json:"items"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// VersionReason is why a document was stored as a version.
type VersionReason string

// The reasons: proposals were accepted, the user changed blocks or the title,
// or another version was restored.
const (
	VersionAccepted VersionReason = "accepted"
	VersionEdited   VersionReason = "edited"
	VersionRestored VersionReason = "restored"
)

// DocumentVersion is the accepted state of a document before a change. Revision
// is the document's revision at that time, which names the version; CreatedAt
// is the time and Reason the kind of the change. Blocks is the number of
// blocks.
type DocumentVersion struct {
	Revision  int64         `json:"revision"`
	Title     string        `json:"title"`
	Reason    VersionReason `json:"reason"`
	Blocks    int           `json:"blocks"`
	CreatedAt time.Time     `json:"created_at"`
}

// DocumentVersionList has the versions of a document, the newest first.
type DocumentVersionList struct {
	Items []DocumentVersion `json:"items"`
}

// DocumentCreate makes a document, with the client's own id unless it is nil.
type DocumentCreate struct {
	ID    *string `json:"id,omitempty" validate:"omitempty,clientid"`
	Title string  `json:"title" validate:"required,max=200"`
}

// DocumentPatch renames a document.
type DocumentPatch struct {
	Title string `json:"title" validate:"required,max=200"`
}

// Block is an element of content with data about how to render it. It belongs
// to a document or to a chat; the Current of a chat's message is its text. New,
// NewMeta and NewPosition wait for the user. Blocks of a document are ordered
// by Position, compared byte by byte. Revision is the document's revision at
// the block's last change.
type Block struct {
	ID         string  `json:"id"`
	DocumentID string  `json:"document_id,omitempty"`
	ChatID     string  `json:"chat_id,omitempty"`
	Role       string  `json:"role,omitempty"`
	Type       string  `json:"type"`
	Current    *string `json:"current,omitempty"`
	New        *string `json:"new,omitempty"`
	// Meta is an object: the header of a chart, mime and size of an image.
	Meta        json.RawMessage `json:"meta,omitempty"`
	NewMeta     json.RawMessage `json:"new_meta,omitempty"`
	State       BlockState      `json:"state"`
	Position    string          `json:"position"`
	NewPosition string          `json:"new_position,omitempty"`
	Revision    int64           `json:"revision"`
}

// BlockCreate adds a block that the user wrote, with the client's own id unless it is nil.
// Without AfterBlockID it goes to the end, with an empty AfterBlockID to the front.
type BlockCreate struct {
	ID           *string         `json:"id,omitempty" validate:"omitempty,clientid"`
	Type         string          `json:"type" validate:"required,max=64,blocktype"`
	Content      string          `json:"content,omitempty"`
	Meta         json.RawMessage `json:"meta,omitempty"`
	AfterBlockID *string         `json:"after_block_id,omitempty" validate:"omitempty,blockref"`
}

// BlockPatch is the user's own edit: it changes Current. Absent fields change
// nothing; an empty AfterBlockID means the front.
type BlockPatch struct {
	Content      *string         `json:"content,omitempty"`
	Meta         json.RawMessage `json:"meta,omitempty"`
	AfterBlockID *string         `json:"after_block_id,omitempty" validate:"omitempty,blockref"`
}

// BlockApply puts a chat's block into a document: as the new content of one of
// its blocks, or as a block of its own, by default at the end.
type BlockApply struct {
	DocumentID    string  `json:"document_id" validate:"required,clientid"`
	TargetBlockID string  `json:"target_block_id,omitempty" validate:"omitempty,clientid"`
	AfterBlockID  *string `json:"after_block_id,omitempty" validate:"omitempty,blockref"`
}

// maxHeaderRow is the longest first row of a table, in bytes.
const maxHeaderRow = 32 << 10

// HeaderRow returns the length of the first row of CSV with its line break, and
// whether the row is whole: a line break in a quoted field does not end it. A
// text longer than maxHeaderRow counts as a whole row.
func HeaderRow(csv string) (n int, whole bool) {
	quoted := false
	for i := range len(csv) {
		switch c := csv[i]; {
		case i == maxHeaderRow:
			return len(csv), true
		case quoted:
			quoted = c != '"' // the second of two quotes opens the field again
		case c == '"':
			quoted = i == 0 || csv[i-1] == ',' || csv[i-1] == '"'
		case c == '\n':
			return i + 1, true
		}
	}
	return 0, false
}

// ChartHeader finds the header at the beginning of a chart's text: one JSON
// object on lines of its own. N is the length of its lines, 0 if the text
// begins with something else; header is empty if CheckChart refuses it. Whole
// is false while more text could belong to it; ended tells that no more text
// follows.
func ChartHeader(chart string, ended bool) (header string, n int, whole bool) {
	const space = " \t\r\n"
	start := strings.TrimLeft(chart, space)
	if start == "" || start[0] != '{' {
		row := strings.Contains(start, "\n") || len(chart) > maxHeaderRow // before that it may be a StrayHeader
		return "", 0, ended || row || start != "" && !strings.ContainsAny(start[:1], "[-0123456789")
	}
	var object json.RawMessage
	d := json.NewDecoder(strings.NewReader(start))
	if err := d.Decode(&object); err != nil {
		cut := errors.Is(err, io.ErrUnexpectedEOF) && !ended && len(chart) <= maxHeaderRow
		return "", 0, !cut
	}
	after := start[d.InputOffset():]
	rest := strings.TrimLeft(after, " \t\r")
	switch {
	case rest == "" && !ended:
		return "", 0, false
	case rest != "" && rest[0] != '\n':
		return "", 0, true // the object is not on lines of its own
	}
	n = len(chart) - len(strings.TrimPrefix(rest, "\n"))
	if CheckChart(object) != nil {
		return "", n, true
	}
	return string(object), n, true
}

// StrayHeader reports whether the data of a chart begin with what was meant as its
// header: with an object, whole or not, or with a list or a number on the first line.
func StrayHeader(data string) bool {
	line, _, _ := strings.Cut(strings.TrimLeft(data, " \t\r\n"), "\n")
	if line == "" || line[0] == '{' {
		return line != ""
	}
	return strings.ContainsAny(line[:1], "[-0123456789") && json.Valid([]byte(line))
}

// CheckChart returns what is wrong with the header of a chart: it must be an
// object, a Vega-Lite specification whose views and lookups have no data of their own.
func CheckChart(header json.RawMessage) error {
	var view map[string]json.RawMessage
	if json.Unmarshal(header, &view) != nil || view == nil {
		return errors.New("must be a JSON object")
	}
	for _, key := range []string{"data", "datasets"} {
		if view[key] != nil {
			return errors.New("must be a Vega-Lite specification without " + key + ": the data is the block's content, as CSV")
		}
	}
	inner := []json.RawMessage{}
	if view["spec"] != nil {
		inner = append(inner, view["spec"])
	}
	var transforms []struct{ From json.RawMessage }
	_ = json.Unmarshal(view["transform"], &transforms) // one of another shape names no data
	for _, t := range transforms {
		if t.From != nil {
			inner = append(inner, t.From)
		}
	}
	for _, key := range []string{"layer", "concat", "hconcat", "vconcat"} {
		var list []json.RawMessage
		if json.Unmarshal(view[key], &list) == nil {
			inner = append(inner, list...)
		}
	}
	for _, v := range inner {
		if err := CheckChart(v); err != nil {
			return err
		}
	}
	return nil
}

// CheckImage returns what is wrong with the content of an image block: it must
// be base64 of a file of that type. An image without content has not been
// written yet.
func CheckImage(kind, content string) error {
	content = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, content)
	if content == "" {
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(content)
	if err != nil {
		return errors.New("must be an image in base64")
	}
	return CheckImageFile(kind, raw)
}

// CheckImageFile returns what is wrong with the beginning of a file of an image type:
// it must be that of a file of that type.
func CheckImageFile(kind string, raw []byte) error {
	want := kind
	if want == "image/jpg" {
		want = "image/jpeg"
	}
	if want == "image/svg+xml" {
		if !bytes.Contains(raw, []byte("<svg")) {
			return errors.New("must be an image of the type " + kind + " in base64")
		}
		return nil
	}
	if is := http.DetectContentType(raw); is != want && (strings.HasPrefix(is, "image/") || known[want]) {
		return errors.New("must be an image of the type " + kind + " in base64; it is " + is)
	}
	return nil
}

// known are the types of images that have a signature here.
var known = map[string]bool{"image/png": true, "image/jpeg": true, "image/gif": true, "image/webp": true, "image/bmp": true}
