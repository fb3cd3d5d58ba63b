package turn

import (
	"encoding/json"

	"github.com/chattray/chattray/schemas"
)

// PayloadType is a kind of payload: from a tool, or written by the model after
// a marker. Package payloads makes it. It is safe for concurrent use.
type PayloadType struct {
	Name        string
	Description string
	Schema      json.RawMessage
	// Array is true if Schema requires an array instead of an object.
	Array bool
	// Source is tool or llm.
	Source string
	// Global types are allowed on every page.
	Global bool
	// Marker comes before the JSON in the model's text, with its colon, as in
	// "SCHEMA_PROPOSAL:". Empty for tool payloads.
	Marker string
	// Instructions tell the model when and how to write it.
	Instructions string
	// Check decodes data, or returns why it does not fit Schema.
	Check func(data json.RawMessage) (any, error)
	// Summarize returns one line about what Check decoded.
	Summarize func(decoded any) string
}

// PayloadDef is the declaration of a payload type in a page file. Summary is a
// Go text/template over the decoded data.
type PayloadDef struct {
	Name         string
	Description  string
	Source       string
	Marker       string
	Instructions string
	Schema       json.RawMessage
	Summary      string
}

// HTTPTool is the declaration of an HTTP tool in a page file. URL and Body are
// Go text/templates over the checked arguments (URL values are escaped, body
// values are JSON), Headers are values already taken from the settings. Payload
// is the JSON pointer of the answer's part that becomes the payload of type
// PayloadType; empty for none.
type HTTPTool struct {
	Name        string
	Description string
	Words
	InputSchema json.RawMessage
	Method      string
	URL         string
	Body        string
	Headers     map[string]string
	Payload     string
	PayloadType string
	Idempotent  bool
	// Confirm makes each call wait for the user's approval; in a page file this
	// is the default for methods other than GET and HEAD.
	Confirm bool
}

// Found is what the model wrote for the page in one reply, outside the visible
// text.
type Found struct {
	// Payloads are in the order of the text and fit their schema.
	Payloads []Payload
	Values   []schemas.SuggestedValue
	Actions  []schemas.SuggestedAction
	// Warnings are sentences for the user; Dropped has what was hidden but not
	// used, for the diagnostics.
	Warnings []string
	Dropped  []schemas.DroppedPart
	// Cut is a value that the reply's end cut off; nil when there is none.
	Cut *CutValue
}

// CutValue is a marker whose value did not end.
type CutValue struct {
	Marker string
	Text   string
}
