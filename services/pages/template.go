package pages

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"text/template"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// maxTemplateText is how many bytes of a template's output are read.
const maxTemplateText = 32_000

// NamesUser reports whether a key of the context object names the user. A page may
// send it, and it has no effect: the login says who the user is.
func NamesUser(key string) bool { return key == "user_id" || key == "user_role" }

// templateData is what a page's context template sees. Context is the request's
// context object without what names the user.
type templateData struct {
	Page, Tab, Subtab string
	Context           map[string]any
}

// ContextText executes the page's context template, which must not be nil, on the
// request's context object. A value that the page did not send is empty. The text
// is cut at a limit, also if there is an error.
func (o *Offer) ContextText(page schemas.Object) (string, error) {
	data := templateData{Page: o.Page, Tab: o.Tab, Subtab: o.Subtab, Context: make(map[string]any)}
	for key, raw := range page {
		if NamesUser(key) {
			continue
		}
		var v any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&v) == nil {
			data.Context[key] = v
		}
	}
	out := text.Buffer{Limit: maxTemplateText}
	err := o.ContextTemplate.Execute(&out, data)
	if errors.Is(err, text.ErrFull) {
		err = nil
	}
	return strings.ReplaceAll(strings.ToValidUTF8(out.String(), ""), "<no value>", ""), err
}

// parseContextTemplate parses the text under `template:`, and tries it on an
// empty page so that a mistake in a name shows at the start.
func parseContextTemplate(name, text string) (*template.Template, error) {
	t, err := template.New(name).Parse(text)
	if err != nil {
		return nil, err
	}
	// An empty page may lack what the template asks of the context; only a
	// field that no page ever has is a mistake.
	if err := t.Execute(io.Discard, templateData{}); err != nil && strings.Contains(err.Error(), "in type pages.templateData") {
		return nil, err
	}
	return t, nil
}
