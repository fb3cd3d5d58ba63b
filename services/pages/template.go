package pages

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// maxTemplateText bounds the output of a template, in bytes.
const maxTemplateText = 32_000

// NamesUser reports whether a key of the context object names the user. A page
// may send it, but it has no effect: the login decides who the user is.
func NamesUser(key string) bool { return key == "user_id" || key == "user_role" }

// templateData is what a page's context template sees. Context is the request's
// context object without the keys that name the user.
type templateData struct {
	Page, Tab, Subtab string
	Context           map[string]any
}

// ContextText executes the page's context template, which must not be nil, on the
// request's context object. A value that the page did not send is empty. The
// text is cut at maxTemplateText, even if there is an error.
func (o *Offer) ContextText(page schemas.Object) (string, error) {
	data := templateData{Page: o.Page, Tab: o.Tab, Subtab: o.Subtab, Context: make(map[string]any)}
	for key, raw := range page {
		if NamesUser(key) {
			continue
		}
		if v, err := text.Decode(raw); err == nil {
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

// parseContextTemplate parses the text under `template:` and checks its names,
// so that a mistake is reported at the start and not when a user asks.
func parseContextTemplate(name, source string) (*text.Template, error) {
	parsed, err := template.New(name).Parse(source)
	if err != nil {
		return nil, err
	}
	t := text.Bounded(parsed)
	for _, path := range t.Fields() {
		if err := checkName(path[0]); err != nil {
			return t, err
		}
	}
	return t, nil
}

// templateNames are the names of templateData.
var templateNames = []string{"Page", "Tab", "Subtab", "Context"}

func checkName(name string) error {
	if slices.Contains(templateNames, name) {
		return nil
	}
	return fmt.Errorf("there is no .%s; there are .Page, .Tab and .Subtab, and .Context has the values that the page sent, as in {{.Context.%s}}", name, name)
}
