package documents

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Header returns what comes before the content of a chart or an image, as one
// JSON object; for other types it is empty.
func Header(b *schemas.Block) string {
	var meta schemas.Object
	for _, raw := range []json.RawMessage{b.NewMeta, b.Meta} {
		if meta == nil && len(raw) > 0 && json.Unmarshal(raw, &meta) != nil {
			meta = nil
		}
	}
	switch {
	case b.Type == schemas.BlockChart:
		delete(meta, record.PlannedKey)
		if meta == nil {
			meta = schemas.Object{}
		}
		return string(schemas.Encode(meta))
	case strings.HasPrefix(b.Type, "image/"):
		return string(schemas.Encode(map[string]any{
			"mime": cmp.Or(meta.String("mime"), b.Type), "width": meta["width"], "height": meta["height"], "encoding": "base64",
		}))
	}
	return ""
}
