package pdftext

// What the tests see.
const (
	Broken    = broken
	Costly    = costly
	Encrypted = encrypted
	Refused   = refused
	Textless  = textless
)

// A program with the race detector sleeps for a second before it exits, unless it is
// told not to.
func init() { childEnv = []string{"GORACE=atexit_sleep_ms=0"} }
