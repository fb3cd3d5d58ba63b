package schemas

import "encoding/json"

// Page is what a page offers to its chat.
type Page struct {
	Page         string        `json:"page"`
	Aliases      []string      `json:"aliases"`
	Tools        []string      `json:"tools"`
	PayloadTypes []PayloadType `json:"payload_types"`
	Actions      []Action      `json:"actions"`
	Tabs         []Tab         `json:"tabs"`
}

// Tab is what a tab adds to its page.
type Tab struct {
	Tab          string        `json:"tab"`
	Tools        []string      `json:"tools"`
	PayloadTypes []PayloadType `json:"payload_types"`
	Actions      []Action      `json:"actions"`
	Subtabs      []Subtab      `json:"subtabs"`
}

// Subtab is what a subtab adds to its tab.
type Subtab struct {
	Subtab       string        `json:"subtab"`
	Tools        []string      `json:"tools"`
	PayloadTypes []PayloadType `json:"payload_types"`
	Actions      []Action      `json:"actions"`
}

// PageList lists pages.
type PageList struct {
	Items []Page `json:"items"`
}

// Tool is a tool that a page offers.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// ToolList lists tools.
type ToolList struct {
	Items []Tool `json:"items"`
}

// PayloadType is a kind of payload with its JSON schema. Source is tool or llm.
type PayloadType struct {
	Name        string          `json:"name"`
	Source      string          `json:"source"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"`
	ParseMarker string          `json:"parse_marker,omitempty"`
}

// Action is an action that a page declares. Handler is client or server.
type Action struct {
	Action      string `json:"action"`
	Description string `json:"description"`
	Handler     string `json:"handler"`
	// PayloadType is the type of the payloads that the action accepts.
	PayloadType string `json:"payload_type,omitempty"`
	// Schema is the JSON schema of the data; it is set for an action that a
	// page file handles.
	Schema json.RawMessage `json:"schema,omitempty"`
}
