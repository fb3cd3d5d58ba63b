package documents

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// BlockType returns the canonical name of a type; it also understands the
// spelling interative_chart.
func BlockType(name string) string {
	if name == "interative_chart" {
		return schemas.BlockChart
	}
	return name
}

// typeForm is the form of a block's type.
var typeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+/-]{0,63}$`)

// checkWrite checks what a model or a socket may get wrong.
func checkWrite(b *record.NewBlock) error {
	b.Type = BlockType(b.Type)
	switch {
	case !text.IsID(b.ID):
		return schemas.NewError(schemas.CodeInvalid, "a block_id must be 1 to 64 letters, digits, - or _")
	case b.Type != "" && !typeForm.MatchString(b.Type):
		return schemas.NewError(schemas.CodeInvalid, "a block's type must be a short name such as md, csv or image/png")
	case schemas.IsChunkType(b.Type):
		return schemas.NewError(schemas.CodeInvalid, "a block cannot be of the type "+b.Type+", which has another meaning for its readers")
	}
	return checkMeta(b.Meta)
}

// checkContent refuses content that a block of that type cannot show: data that
// is not an image of the type, and an invalid header of a chart.
func checkContent(kind, content string, meta json.RawMessage) error {
	if err := checkMeta(meta); err != nil {
		return err
	}
	if strings.HasPrefix(kind, "image/") {
		if err := schemas.CheckImage(kind, content); err != nil {
			return schemas.Invalid("/content", err.Error())
		}
	}
	if kind == schemas.BlockChart && schemas.StrayHeader(content) {
		return schemas.Invalid("/content", "must begin with the row of the columns' names, not with JSON; a chart's header is its meta, one JSON object")
	}
	if kind == schemas.BlockChart && meta != nil {
		if err := schemas.CheckChart(meta); err != nil {
			return schemas.Invalid("/meta", err.Error())
		}
	}
	return nil
}

// checkMeta accepts only an object that is not too large.
func checkMeta(meta json.RawMessage) error {
	var object map[string]json.RawMessage
	switch {
	case meta == nil:
		return nil
	case len(meta) > maxBlockMeta:
		return schemas.Invalid("/meta", "must have at most 64 KiB")
	case json.Unmarshal(meta, &object) != nil || object == nil, bytes.Contains(meta, []byte(`\u0000`)):
		return schemas.Invalid("/meta", "must be an object")
	}
	if err := turn.Showable("its members", meta); err != nil {
		return schemas.Invalid("/meta", err.Error())
	}
	return nil
}

// Refuses reports whether a block has nothing pending and none of a text that was written into
// it. If the user accepted a part of the text, the block's content is a prefix of the whole.
func Refuses(b *schemas.Block, whole string) bool {
	switch {
	case b.New != nil, b.State == schemas.BlockPendingDelete:
		return false
	case b.Current == nil:
		return true
	}
	whole = fences.Whole(b.Type, whole)
	return *b.Current != whole && (*b.Current == "" || !strings.HasPrefix(whole, *b.Current))
}
