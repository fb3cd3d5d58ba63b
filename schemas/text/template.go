package text

import (
	"bytes"
	"errors"
)

// ErrFull is the error of a Buffer that cannot hold a write.
var ErrFull = errors.New("the output is too long")

// Buffer is a bytes.Buffer that holds at most Limit bytes. A write that goes
// beyond the limit keeps what fits and returns ErrFull, which stops a template.
type Buffer struct {
	bytes.Buffer
	Limit int
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p[:min(len(p), b.Limit-b.Len())])
	if err == nil && n < len(p) {
		err = ErrFull
	}
	return n, err
}
