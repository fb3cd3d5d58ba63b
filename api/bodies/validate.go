package bodies

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// Rules are the rules for the values in bodies. It is safe for concurrent use.
type Rules struct{ valid *validator.Validate }

// NewRules returns the rules, for messages of so many characters.
func NewRules(maxMessage int) *Rules { return &Rules{newValidator(maxMessage)} }

// newValidator returns the rules of the validate tags in schemas, and those
// between fields of a request.
func newValidator(maxMessage int) *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	must := func(err error) {
		if err != nil {
			panic(err) // a mistake in this function, seen by every test
		}
	}
	must(v.RegisterValidation("clientid", func(fl validator.FieldLevel) bool { return text.IsID(fl.Field().String()) }))
	must(v.RegisterValidation("blockref", func(fl validator.FieldLevel) bool {
		return fl.Field().String() == "" || text.IsID(fl.Field().String())
	}))
	must(v.RegisterValidation("blocktype", func(fl validator.FieldLevel) bool {
		return blockTypeForm.MatchString(fl.Field().String()) && !schemas.IsChunkType(fl.Field().String())
	}))
	v.RegisterStructValidation(func(sl validator.StructLevel) { requestRules(sl, maxMessage) }, schemas.ChatRequest{})
	registerDocumentRules(v)
	v.RegisterStructValidation(attachmentRules, schemas.Attachment{})
	v.RegisterStructValidation(feedbackRules, schemas.Feedback{})
	v.RegisterStructValidation(func(sl validator.StructLevel) {
		p := sl.Current().Interface().(schemas.ChatPatch)
		if p.Title == nil && p.Pinned == nil && p.Archived == nil {
			sl.ReportError(p, "", "", "something", "")
		}
		if p.Title != nil && text.Blank(*p.Title) {
			sl.ReportError(p.Title, "title", "Title", "blank", "")
		}
	}, schemas.ChatPatch{})
	v.RegisterStructValidation(func(sl validator.StructLevel) {
		if u := sl.Current().Interface().(schemas.StreamUpdate); u.Schema != nil && !isObject(u.Schema) {
			sl.ReportError(u.Schema, "schema", "Schema", "object", "")
		}
	}, schemas.StreamUpdate{})
	v.RegisterStructValidation(func(sl validator.StructLevel) {
		if r := sl.Current().Interface().(schemas.ClientToolResult); r.Output == nil {
			sl.ReportError(r.Output, "output", "Output", "required", "")
		}
	}, schemas.ClientToolResult{})
	return v
}

// isObject says whether a part of a body is an object.
func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// requestRules are the rules between the fields of a request: a message may be
// empty only if something else says what is wanted.
func requestRules(sl validator.StructLevel, maxMessage int) {
	r := sl.Current().Interface().(schemas.ChatRequest)
	clicked := r.InteractionType == schemas.ActionExecuted
	if text.Blank(r.Message) && !clicked && r.RegenerateMessageID == "" {
		sl.ReportError(r.Message, "message", "Message", "blank", "")
	}
	if utf8.RuneCountInString(r.Message) > maxMessage {
		sl.ReportError(r.Message, "message", "Message", "max", strconv.Itoa(maxMessage))
	}
	if clicked && r.ActionMetadata == nil {
		sl.ReportError(r.ActionMetadata, "action_metadata", "ActionMetadata", "required", "")
	}
	if !clicked && r.ActionMetadata != nil {
		sl.ReportError(r.ActionMetadata, "action_metadata", "ActionMetadata", "clicked", "")
	}
	if r.EditMessageID != "" && r.RegenerateMessageID != "" {
		sl.ReportError(r.RegenerateMessageID, "regenerate_message_id", "RegenerateMessageID", "alone", "edit_message_id")
	}
	if r.KeepAttachments != nil && r.EditMessageID == "" {
		sl.ReportError(r.KeepAttachments, "keep_attachments", "KeepAttachments", "edits", "")
	}
	for i, h := range r.ConversationHistory {
		if utf8.RuneCountInString(h.Content) > maxMessage {
			at := fmt.Sprintf("conversation_history[%d].content", i)
			sl.ReportError(h.Content, at, at, "max", strconv.Itoa(maxMessage))
		}
	}
}

// feedbackRules allow reasons for what is rated down.
func feedbackRules(sl validator.StructLevel) {
	if f := sl.Current().Interface().(schemas.Feedback); f.Rating == "up" && len(f.Reasons) > 0 {
		sl.ReportError(f.Reasons, "reasons", "Reasons", "rateddown", "")
	}
}

// attachmentRules allow text, and images and PDF files in base64.
func attachmentRules(sl validator.StructLevel) {
	a := sl.Current().Interface().(schemas.Attachment)
	if a.MIME == "" || a.Content == "" {
		return // the tags report it
	}
	kind, _, err := mime.ParseMediaType(a.MIME)
	switch {
	case err != nil:
		sl.ReportError(a.MIME, "mime", "MIME", "mediatype", "")
	case schemas.ImageMedia(kind) != "", kind == schemas.MediaPDF:
		if _, err := base64.StdEncoding.DecodeString(a.Content); err != nil {
			sl.ReportError(a.Content, "content", "Content", "base64", "")
		}
	case !schemas.TextMedia(kind):
		sl.ReportError(a.MIME, "mime", "MIME", "mediatype", "")
	}
}

// Check returns the fields that are not allowed in the struct that v points to.
func (r *Rules) Check(v any) []schemas.FieldError {
	found, ok := errors.AsType[validator.ValidationErrors](r.valid.Struct(v))
	if !ok {
		return nil
	}
	var out []schemas.FieldError
	seen := map[string]bool{}
	for _, f := range found {
		if p := pointerOf(f.Namespace()); !seen[p] {
			seen[p] = true
			out = append(out, schemas.FieldError{Pointer: p, Detail: detailOf(f)})
		}
	}
	return out
}

// pointerOf turns "ChatRequest.attachments[0].name" into "/attachments/0/name",
// and "ChatRequest.", the whole, into "".
func pointerOf(namespace string) string {
	_, path, _ := strings.Cut(namespace, ".")
	if path == "" {
		return ""
	}
	return "/" + strings.NewReplacer("].", "/", "[", "/", "]", "", ".", "/").Replace(path)
}

func detailOf(f validator.FieldError) string {
	switch f.Tag() {
	case "required":
		return "is required"
	case "blank":
		return "must not be empty"
	case "oneof":
		return "must be one of " + strings.Join(strings.Fields(f.Param()), ", ")
	case "clientid":
		return "must be 1 to 64 letters, digits, - or _"
	case "blockref":
		return "must be empty or the id of a block"
	case "blocktype":
		return "must be a type such as md, csv or image/png, and not one that a websocket's chunks have, such as status"
	case "metasize":
		return "must have at most 64 KiB"
	case "something":
		return "must change something"
	case "gte":
		return "must be at least " + f.Param()
	case "clicked":
		return "is allowed only with interaction_type action_executed"
	case "rateddown":
		return "goes with rating down only"
	case "unique":
		return "must not have an item twice"
	case "edits":
		return "is allowed only with edit_message_id"
	case "alone":
		return "must not be given together with " + f.Param()
	case "object":
		return "must be an object"
	case "base64":
		return "must be base64"
	case "mediatype":
		return "must be " + schemas.MediaWords
	case "max":
		if f.Kind() == reflect.Slice {
			return "must have at most " + f.Param() + " items"
		}
		return "must have at most " + f.Param() + " characters"
	case "min":
		return "must have at least " + f.Param() + " characters"
	default:
		return "is not allowed"
	}
}

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return strconv.FormatInt(n>>20, 10) + " MiB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
