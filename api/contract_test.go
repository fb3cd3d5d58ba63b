package api_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/schemas"
)

// The types that only one side has, and why.
var (
	onlyInGo = map[string]string{
		"Error": "goes on the wire as Problem",
		"User":  "goes on the wire as Me",
	}
	onlyInContract = map[string]string{
		"ChatEvent": "the union of the events; Go has a type for each",
	}
)

func TestExamplesOfTheContract(t *testing.T) {
	apitest.Load(t, contractFile).CheckExamples(t)
}

func TestRoutesAreTheContract(t *testing.T) {
	contract := apitest.Load(t, contractFile)
	var want, got []string
	for path, item := range contract.Paths.Map() {
		for method, op := range item.Operations() {
			public := op.Security != nil && len(*op.Security) == 0
			want = append(want, rowText(method, path, public, op.RequestBody != nil))
		}
	}
	params := regexp.MustCompile(`:([a-z_]+)`)
	for _, r := range api.Table() {
		got = append(got, rowText(r.Method, params.ReplaceAllString(r.Path, "{$1}"), r.Public, r.Body))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths of openapi.yaml (-) and routes (+) differ:\n%s", diff)
	}
}

func rowText(method, path string, public, body bool) string {
	return method + " " + path + " public=" + strconv.FormatBool(public) + " body=" + strconv.FormatBool(body)
}

func TestSchemasAreTheContract(t *testing.T) {
	contract := apitest.Load(t, contractFile)
	types, enums := goTypes(t)
	bodies := requestTypes(contract)
	for name, expr := range types {
		if _, listed := onlyInGo[name]; listed {
			continue
		}
		ref := contract.Components.Schemas[name]
		if ref == nil {
			t.Errorf("components.schemas has no %s", name)
			continue
		}
		switch expr := expr.(type) {
		case *ast.StructType:
			checkStruct(t, name, expr, ref.Value, bodies[name])
		case *ast.Ident:
			checkEnum(t, name, enums[name], ref.Value)
		}
	}
	for name := range contract.Components.Schemas {
		if _, listed := onlyInContract[name]; !listed && types[name] == nil {
			t.Errorf("package schemas has no %s", name)
		}
	}
}

// TestComponentNamesAreUnique checks what generators of clients need:
// they make a type from every component, of whatever kind.
func TestComponentNamesAreUnique(t *testing.T) {
	c := apitest.Load(t, contractFile).Components
	kinds := map[string]string{}
	for kind, names := range map[string][]string{
		"schemas": slices.Collect(maps.Keys(c.Schemas)), "parameters": slices.Collect(maps.Keys(c.Parameters)),
		"requestBodies": slices.Collect(maps.Keys(c.RequestBodies)), "responses": slices.Collect(maps.Keys(c.Responses)),
	} {
		for _, name := range names {
			if other := kinds[name]; other != "" {
				t.Errorf("%s is in %s and in %s", name, other, kind)
			}
			kinds[name] = kind
		}
	}
}

// TestBodiesAreInPlace checks what generators of clients need: some do not know the
// media type of a body that is a reference, and then the service refuses it.
func TestBodiesAreInPlace(t *testing.T) {
	for path, item := range apitest.Load(t, contractFile).Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody != nil && op.RequestBody.Ref != "" {
				t.Errorf("%s %s: the body is the reference %s", method, path, op.RequestBody.Ref)
			}
		}
	}
}

// goTypes returns the exported types of package schemas, and the values of the
// constants of each type.
func goTypes(t *testing.T) (types map[string]ast.Expr, enums map[string][]string) {
	t.Helper()
	files, err := filepath.Glob("../schemas/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no source of package schemas: %v", err)
	}
	types, enums = map[string]ast.Expr{}, map[string][]string{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				collect(s, types, enums)
			}
		}
	}
	return types, enums
}

func collect(s ast.Spec, types map[string]ast.Expr, enums map[string][]string) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() {
			types[s.Name.Name] = s.Type
		}
	case *ast.ValueSpec:
		id, ok := s.Type.(*ast.Ident)
		if !ok {
			return
		}
		for _, v := range s.Values {
			if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				enums[id.Name] = append(enums[id.Name], text)
			}
		}
	}
}

// requestTypes returns the schemas that request bodies are made of.
func requestTypes(contract apitest.Contract) map[string]bool {
	found := map[string]bool{}
	var walk func(ref *openapi3.SchemaRef)
	walk = func(ref *openapi3.SchemaRef) {
		if ref == nil || ref.Value == nil {
			return
		}
		if name := path(ref); name != "" {
			if found[name] {
				return
			}
			found[name] = true
		}
		walk(ref.Value.Items)
		for _, p := range ref.Value.Properties {
			walk(p)
		}
	}
	for _, item := range contract.Paths.Map() {
		for _, op := range item.Operations() {
			if op.RequestBody != nil {
				walk(op.RequestBody.Value.Content.Get("application/json").Schema)
			}
		}
	}
	walk(&openapi3.SchemaRef{Ref: "#/components/schemas/SocketEvent", Value: contract.Components.Schemas["SocketEvent"].Value})
	delete(found, "Object") // open, by its name
	return found
}

// path returns the name of the type that a schema refers to.
func path(ref *openapi3.SchemaRef) string {
	return strings.TrimPrefix(ref.Ref, "#/components/schemas/")
}

func checkStruct(t *testing.T, name string, s *ast.StructType, schema *openapi3.Schema, inRequest bool) {
	t.Helper()
	var required, names []string
	for _, f := range s.Fields.List {
		tags := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
		jsonName, options, _ := strings.Cut(tags.Get("json"), ",")
		if jsonName == "-" { // it is not sent
			continue
		}
		names = append(names, jsonName)
		rules := tags.Get("validate")
		if options == "" || strings.Contains(rules, "required") {
			required = append(required, jsonName)
		}
		at := name + "." + jsonName
		ref := schema.Properties[jsonName]
		if ref == nil {
			t.Errorf("%s is not in the contract", at)
			continue
		}
		if got, want := schemaText(ref), goText(f.Type); want != "any" && got != want {
			t.Errorf("%s is %s in the contract, %s in Go", at, got, want)
		}
		checkRules(t, at, rules, ref)
	}
	for p := range schema.Properties {
		if !slices.Contains(names, p) {
			t.Errorf("%s.%s is in the contract only", name, p)
		}
	}
	slices.Sort(required)
	got := slices.Sorted(slices.Values(schema.Required))
	if !slices.Equal(got, required) {
		t.Errorf("%s requires %v in the contract, %v in Go", name, got, required)
	}
	closed := schema.AdditionalProperties.Has != nil && !*schema.AdditionalProperties.Has
	inRequest = inRequest && name != "HistoryMessage" // a client's own message objects are accepted
	if closed != inRequest {
		t.Errorf("%s: additionalProperties false is %v, want %v (it is part of a request: %v)", name, closed, inRequest, inRequest)
	}
}

// goText writes a Go type in the words of a schema; the contract may describe
// any more closely.
func goText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return goText(e.X)
	case *ast.ArrayType:
		return "[]" + goText(e.Elt)
	case *ast.SelectorExpr:
		if e.Sel.Name == "Time" {
			return "string date-time"
		}
		return "any"
	case *ast.Ident:
		basic := map[string]string{
			"string": "string", "bool": "boolean", "int": "integer", "int64": "integer int64", "float64": "number",
		}
		if b, ok := basic[e.Name]; ok {
			return b
		}
		return e.Name
	}
	return "?"
}

func schemaText(ref *openapi3.SchemaRef) string {
	if name := path(ref); name != "" {
		return name
	}
	s := ref.Value
	switch {
	case s.Type.Is("array"):
		return "[]" + schemaText(s.Items)
	case s.Type == nil && s.Const != nil:
		return reflect.TypeOf(s.Const).String()
	case s.Type == nil:
		return "any"
	case s.Type.Is("string") && s.Format != "date-time":
		return "string"
	}
	return strings.TrimSpace(s.Type.Slice()[0] + " " + s.Format)
}

// checkRules compares validation tags with the words of the contract.
func checkRules(t *testing.T, at, rules string, ref *openapi3.SchemaRef) {
	t.Helper()
	s := ref.Value
	for rule := range strings.SplitSeq(rules, ",") {
		name, value, _ := strings.Cut(rule, "=")
		n, _ := strconv.ParseUint(value, 10, 64)
		ok := true
		switch name {
		case "max":
			ok = s.MaxLength != nil && *s.MaxLength == n || s.MaxItems != nil && *s.MaxItems == n
		case "min":
			ok = s.MinLength == n
		case "required":
			ok = s.MinLength > 0 || len(s.Enum) > 0
		case "gte":
			ok = s.Min != nil && *s.Min == float64(n)
		case "clientid":
			ok = s.Pattern != ""
		case "unique":
			ok = s.UniqueItems
		case "dive": // the rules after this one are for the items
			if s.Items != nil {
				s = s.Items.Value
			}
		case "oneof":
			ok = cmp.Equal(enumOf(s), strings.Fields(value))
		}
		if !ok {
			t.Errorf("%s: the contract does not say %s", at, rule)
		}
	}
}

func enumOf(s *openapi3.Schema) []string {
	var values []string
	for _, v := range s.Enum {
		text, _ := v.(string)
		values = append(values, text)
	}
	return values
}

func checkEnum(t *testing.T, name string, want []string, schema *openapi3.Schema) {
	t.Helper()
	if diff := cmp.Diff(want, enumOf(schema)); diff != "" {
		t.Errorf("%s: constants in Go (-) and enum of the contract (+) differ:\n%s", name, diff)
	}
}

func TestEveryCodeHasItsStatus(t *testing.T) {
	_, enums := goTypes(t)
	if len(enums["Code"]) == 0 {
		t.Fatal("found no codes, want those of schemas")
	}
	for _, code := range enums["Code"] {
		status := api.Status(schemas.Code(code))
		if status < http.StatusBadRequest {
			t.Errorf("the code %s has the status %d", code, status)
		}
	}
}

func TestEventsHaveTheirConstant(t *testing.T) {
	contract := apitest.Load(t, contractFile)
	event := contract.Components.Schemas["ChatEvent"].Value
	for name, ref := range event.Discriminator.Mapping {
		schema := contract.Components.Schemas[strings.TrimPrefix(ref.Ref, "#/components/schemas/")]
		if schema == nil || schema.Value.Properties["type"].Value.Const != name {
			t.Errorf("the event %s has another constant in its schema", name)
		}
	}
	if len(event.OneOf) != len(event.Discriminator.Mapping) {
		t.Errorf("ChatEvent is one of %d, but %d are mapped", len(event.OneOf), len(event.Discriminator.Mapping))
	}
	var any json.RawMessage = []byte(`{"type":"status","message":"Thinking..."}`)
	contract.CheckJSON(t, "ChatEvent", any)
}
