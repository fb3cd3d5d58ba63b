package mcp

// What the tests see.
const (
	MaxDescription = maxDescription
	MaxMessage     = maxMessage
	MaxResult      = maxResult
	MaxSchema      = maxSchema
	MaxTools       = maxTools
	TypeResult     = typeResult
)
