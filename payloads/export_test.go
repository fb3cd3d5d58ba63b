package payloads

// What the tests see.
const (
	MaxPayloads = maxPayloads
	MaxValue    = maxValue
	SourceLLM   = sourceLLM
)
