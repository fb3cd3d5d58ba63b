package apitest

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// schemas are the JSON schemas of the contract, each compiled when it is first
// used: compiling one takes longer than checking a thousand values.
type schemas struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by JSON pointer
}

// contractURL is the name under which the compiler has the contract.
const contractURL = "contract.json"

// newSchemas reads the schemas of a contract in YAML.
func newSchemas(file string) (*schemas, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var contract any
	if err := yaml.Unmarshal(raw, &contract); err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(contract); err != nil {
		return nil, err
	}
	if contract, err = jsonschema.UnmarshalJSON(bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(contractURL, contract); err != nil {
		return nil, err
	}
	return &schemas{compiler: c, compiled: map[string]*jsonschema.Schema{}}, nil
}

// check returns how a JSON value violates the schema at a pointer.
func (s *schemas) check(pointer string, raw []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	schema, err := s.at(pointer)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// at returns the schema at a pointer. The compiler is for one caller at a time.
func (s *schemas) at(pointer string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if schema := s.compiled[pointer]; schema != nil {
		return schema, nil
	}
	schema, err := s.compiler.Compile(contractURL + pointer)
	if err == nil {
		s.compiled[pointer] = schema
	}
	return schema, err
}

// pointerTo joins the parts of a JSON pointer in a URL.
func pointerTo(parts ...string) string {
	var b strings.Builder
	b.WriteString("#")
	for _, part := range parts {
		b.WriteString("/" + escapePointer.Replace(part))
	}
	return b.String()
}

var escapePointer = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D")
