package bodies

import (
	"encoding/json"
	"regexp"

	"github.com/go-playground/validator/v10"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// blockTypeForm is the form of a block's type. Any type of this form is stored
// and passed on, except those of chunks.
var blockTypeForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+/-]*$`)

// maxMeta is the size of a block's meta in bytes.
const maxMeta = 64 << 10

// registerDocumentRules adds the rules of documents and blocks that tags cannot
// express.
func registerDocumentRules(v *validator.Validate) {
	title := func(sl validator.StructLevel, title string) {
		if title != "" && text.Blank(title) {
			sl.ReportError(title, "title", "Title", "blank", "")
		}
	}
	meta := func(sl validator.StructLevel, raw json.RawMessage) {
		switch {
		case raw == nil:
		case len(raw) > maxMeta:
			sl.ReportError(raw, "meta", "Meta", "metasize", "")
		case !isObject(raw):
			sl.ReportError(raw, "meta", "Meta", "object", "")
		}
	}
	v.RegisterStructValidation(func(sl validator.StructLevel) {
		title(sl, sl.Current().Interface().(schemas.DocumentCreate).Title)
	}, schemas.DocumentCreate{})
	v.RegisterStructValidation(func(sl validator.StructLevel) {
		title(sl, sl.Current().Interface().(schemas.DocumentPatch).Title)
	}, schemas.DocumentPatch{})
	v.RegisterStructValidation(func(sl validator.StructLevel) {
		meta(sl, sl.Current().Interface().(schemas.BlockCreate).Meta)
	}, schemas.BlockCreate{})
	v.RegisterStructValidation(func(sl validator.StructLevel) {
		p := sl.Current().Interface().(schemas.BlockPatch)
		meta(sl, p.Meta)
		if p.Content == nil && p.Meta == nil && p.AfterBlockID == nil {
			sl.ReportError(p, "", "", "something", "")
		}
	}, schemas.BlockPatch{})
	v.RegisterStructValidation(func(sl validator.StructLevel) {
		a := sl.Current().Interface().(schemas.BlockApply)
		if a.TargetBlockID != "" && a.AfterBlockID != nil {
			sl.ReportError(a.AfterBlockID, "after_block_id", "AfterBlockID", "alone", "target_block_id")
		}
	}, schemas.BlockApply{})
}
