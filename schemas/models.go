package schemas

// ModelOffer is a model that a request may name.
type ModelOffer struct {
	Name string `json:"name"`
	// Default is true for the model of requests that name none.
	Default bool `json:"default"`
	// ContextWindow is in tokens; it is absent if unknown.
	ContextWindow int         `json:"context_window,omitempty"`
	Price         *ModelPrice `json:"price,omitempty"`
}

// ModelPrice is in US dollars for a million tokens.
type ModelPrice struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// ModelList lists the models.
type ModelList struct {
	Items []ModelOffer `json:"items"`
}
