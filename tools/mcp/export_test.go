package mcp

// What the tests see.
const (
	MaxDescription = maxDescription
	MaxPages       = maxPages
	MaxSchema      = maxSchema
	MaxTools       = maxTools
)

// ShellWord is shellWord, for tests.
var ShellWord = shellWord
