package pdftext

import "io"

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

// Busy takes all turns until it is over.
func (r *Reader) Busy() (over func()) {
	for range cap(r.slots) {
		r.slots <- struct{}{}
	}
	return func() {
		for range cap(r.slots) {
			<-r.slots
		}
	}
}

// Reading returns how many files are being read.
func (r *Reader) Reading() int { return len(r.slots) }

// Kept copies from a child's output to where it is kept, as os/exec does.
func Kept(limit int, from io.Reader) error {
	_, err := io.Copy(&bounded{left: limit}, from)
	return err
}
