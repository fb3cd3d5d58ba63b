// Package sending reads the body of a request: its text, and in it images, of which one at a time
// is in memory.
package sending

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/chattray/chattray/schemas/turn"
)

// Body is a request as JSON, without the base64 of its images.
type Body struct {
	Text   []byte
	Images []Image // in the order of their places
}

// Image is an image whose base64 belongs before Text[At].
type Image struct {
	turn.Image
	At int
}

// Size is the length of the whole JSON.
func (b *Body) Size() int64 {
	n := int64(len(b.Text))
	for i := range b.Images {
		n += int64(b.Images[i].Size)
	}
	return n
}

// Reader returns a reader of the whole JSON. It fails with an *ImageError.
func (b *Body) Reader(ctx context.Context) io.Reader { return &reader{Body: *b, ctx: ctx} }

// ImageError says that an image could not be read. Its cause is ours, not the server's.
type ImageError struct{ Err error }

func (e *ImageError) Error() string { return "openai: an image: " + e.Err.Error() }

func (e *ImageError) Unwrap() error { return e.Err }

type reader struct {
	Body

	ctx   context.Context //nolint:containedctx // an io.Reader reads for one request
	at    int             // Text[:at] has been read
	image strings.Reader  // the rest of the image before Text[at]
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.image.Len() > 0 {
		return r.image.Read(p)
	}
	r.image.Reset("")
	end := len(r.Text)
	if len(r.Images) > 0 {
		end = r.Images[0].At
	}
	switch {
	case r.at < end:
		n := copy(p, r.Text[r.at:end])
		r.at += n
		return n, nil
	case len(r.Images) == 0:
		return 0, io.EOF
	}
	image := &r.Images[0]
	content, err := image.Source.Base64(r.ctx)
	if err == nil && len(content) != image.Size {
		err = errors.New("it has another size than before")
	}
	if err != nil {
		return 0, &ImageError{err}
	}
	r.image.Reset(content)
	r.Images = r.Images[1:]
	return r.image.Read(p)
}
