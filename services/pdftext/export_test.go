package pdftext

// What the tests see.
const (
	Broken    = broken
	Costly    = costly
	Encrypted = encrypted
	Refused   = refused
	Textless  = textless
)
