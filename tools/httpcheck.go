package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/google/jsonschema-go/jsonschema"
	"golang.org/x/net/http/httpguts"

	"github.com/chattray/chattray/schemas/text"
)

// maxShownSample bounds the part of sample arguments, and of their body, that an error
// repeats.
const maxShownSample = 200

// checkHeaders returns what is wrong with the names and values of declared headers. The
// values may be secrets and are in no error.
func checkHeaders(headers map[string]string) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		switch canonical := textproto.CanonicalMIMEHeaderKey(name); {
		case !httpguts.ValidHeaderFieldName(name):
			wrong = append(wrong, fmt.Errorf("%q is not a name of a header", name))
		case !httpguts.ValidHeaderFieldValue(headers[name]), canonical == "Host" && !httpguts.ValidHostHeader(headers[name]):
			wrong = append(wrong, fmt.Errorf("the value of %s has characters that a header must not have", name))
		case canonical == "Content-Length", canonical == "Transfer-Encoding", canonical == "Trailer":
			wrong = append(wrong, fmt.Errorf("%s follows from the body; leave it out", name))
		case canonical == "Idempotency-Key", canonical == "X-Idempotency-Key":
			wrong = append(wrong, fmt.Errorf("%s would be the same in all calls, so that the server takes them for one; leave it out", name))
		}
	}
	return errors.Join(wrong...)
}

// secretRef is what page files write for a secret in a header.
var secretRef = regexp.MustCompile(`\$\{[^{}]*\}`)

// singleBraces are how others write placeholders, such as OpenAPI in its paths.
var singleBraces = regexp.MustCompile(`(?:^|[^{$])\{(\w+)\}`)

// checkTemplates returns what is wrong with the templates of the URL and the body: secrets,
// which only headers have, names that are no arguments, and what no arguments can make
// right, which samples of the arguments show. A schema that cannot be read is not its
// concern.
func (h *httpTool) checkTemplates(schema json.RawMessage) []error {
	s, err := read(schema)
	if err != nil {
		return nil
	}
	var wrong []error
	add := func(part string, err error) {
		// An error of the execution may depend on the values.
		if _, values := errors.AsType[template.ExecError](err); err != nil && !values {
			wrong = append(wrong, fmt.Errorf("%s: %w", part, err))
		}
	}
	check := func(part, source string, t *text.Template, sample func(map[string]any) error) {
		if ref := secretRef.FindString(source); ref != "" {
			add(part, fmt.Errorf("%s is not replaced here: secrets are for headers only", ref))
		}
		unknown, args := make(map[string]bool), sampleArguments(s)
		for _, path := range t.Fields() {
			if name := strings.Join(path, "."); !describes(s, path) && !unknown[name] {
				unknown[name] = true
				add(part, noArgument(s, name))
			}
			if _, ok := args[path[0]]; !ok {
				args[path[0]] = sampleText
			}
		}
		if len(unknown) == 0 {
			add(part, sample(args))
		}
	}
	for _, m := range singleBraces.FindAllStringSubmatch(h.def.URL, -1) {
		used := slices.ContainsFunc(h.url.Fields(), func(path []string) bool { return path[0] == m[1] })
		if s.Properties[m[1]] != nil && !used { // else the braces are the server's, such as GraphQL's
			add("url", fmt.Errorf("{%s} is not replaced: write {{.%s}}", m[1], m[1]))
		}
	}
	check("url", h.def.URL, h.url, func(args map[string]any) error {
		_, err := h.address(args)
		return err
	})
	if h.body != nil {
		check("body", h.def.Body, h.body, func(args map[string]any) error { return h.checkBody(s, args) })
	}
	return wrong
}

// noArgument is the error for a field of a template that is no argument.
func noArgument(s *jsonschema.Schema, field string) error {
	names := "no properties"
	if len(s.Properties) > 0 {
		names = "." + strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", .")
	}
	return fmt.Errorf("there is no argument .%s; input_schema has %s", field, names)
}

// describes reports whether a schema of arguments describes the value at a path, or
// allows others than it describes and says so.
func describes(s *jsonschema.Schema, path []string) bool {
	if s == nil {
		return false
	}
	if s.Ref != "" || s.DynamicRef != "" || s.PatternProperties != nil || s.AdditionalProperties != nil && !nothing(s.AdditionalProperties) {
		return true
	}
	if p := s.Properties[path[0]]; p != nil && (len(path) == 1 || free(p) || describes(p, path[1:])) {
		return true
	}
	parts := slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.If, s.Then, s.Else}, slices.Collect(maps.Values(s.DependentSchemas)))
	return slices.ContainsFunc(parts, func(part *jsonschema.Schema) bool { return describes(part, path) })
}

// free reports whether a schema describes objects of any form.
func free(s *jsonschema.Schema) bool {
	object := s.Type == "object" || slices.Contains(s.Types, "object") || s.Type == "" && len(s.Types) == 0
	return object && s.Properties == nil && s.AdditionalProperties == nil
}

// quoted is a placeholder in quotation marks.
var quoted = regexp.MustCompile(`"(\{\{[^{}"]*\}\})"`)

// checkBody returns an error if the body for sample arguments must be JSON and is not.
// Arguments that exclude each other have no such sample.
func (h *httpTool) checkBody(s *jsonschema.Schema, args map[string]any) error {
	content, err := h.content(args)
	if !errors.Is(err, errNotJSON) {
		return err
	}
	if s.AnyOf != nil || s.OneOf != nil || s.Not != nil || s.If != nil || s.DependentSchemas != nil || s.MaxProperties != nil {
		return nil
	}
	hint := `each value is written as JSON, a text with its quotation marks; for a text with values in it write {{printf "order %v" .id}}`
	if found := quoted.FindStringSubmatch(h.def.Body); found != nil {
		hint = fmt.Sprintf("each value is written as JSON, a text with its quotation marks: write %s instead of %s", found[1], found[0])
	}
	return fmt.Errorf("with the arguments %s it is not JSON but %s; %s", text.Ellipsis(jsonText(args), maxShownSample), text.Ellipsis(text.OneLine(content), maxShownSample), hint)
}

// sampleText is the sample of a text.
const sampleText = "a"

// sampleArguments returns a value for each property of the schema, as values does.
func sampleArguments(s *jsonschema.Schema) map[string]any {
	args := make(map[string]any)
	for name, p := range s.Properties {
		args[name] = sample(p)
	}
	return args
}

// sample returns a value of the kind that a schema describes. It need not keep the limits.
func sample(s *jsonschema.Schema) any {
	if s == nil {
		return sampleText
	}
	if s.Const != nil {
		return *s.Const
	}
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	kind := s.Type
	for _, t := range s.Types {
		if kind == "" && t != "null" {
			kind = t
		}
	}
	switch kind {
	case "integer", "number":
		return int64(1)
	case "boolean":
		return true
	case "null":
		return nil
	case "array":
		return []any{sample(s.Items)}
	case "object":
		return sampleArguments(s)
	}
	return sampleText
}
