package openai

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas/turn"
)

// encoding is a request as JSON, without the base64 of its images.
type encoding struct {
	text   []byte
	images []placedImage
}

// placedImage is an image whose base64 belongs before text[at].
type placedImage struct {
	turn.Image
	at int
}

// size is the length of the whole JSON.
func (e *encoding) size() int64 {
	n := int64(len(e.text))
	for i := range e.images {
		n += int64(e.images[i].Size)
	}
	return n
}

// memoryOf is how many bytes a request takes while it is sent, when one image at a time is in
// memory.
func memoryOf(req *agents.ModelRequest) int {
	largest := 0
	for i := range req.Messages {
		for _, image := range req.Messages[i].Images {
			largest = max(largest, image.Memory())
		}
	}
	return textSize(req) + largest
}

// sending reads an encoding with its images, of which one at a time is in memory.
type sending struct {
	encoding
	ctx   context.Context //nolint:containedctx // an io.Reader reads for one request
	at    int             // text[:at] has been read
	image strings.Reader  // the rest of the image before text[at]
}

// imageError says that an image could not be read. Its cause is ours, not the server's.
type imageError struct{ error }

func (e *imageError) Unwrap() error { return e.error }

// Read implements io.Reader.
func (s *sending) Read(p []byte) (int, error) {
	if s.image.Len() > 0 {
		return s.image.Read(p)
	}
	s.image.Reset("")
	end := len(s.text)
	if len(s.images) > 0 {
		end = s.images[0].at
	}
	switch {
	case s.at < end:
		n := copy(p, s.text[s.at:end])
		s.at += n
		return n, nil
	case len(s.images) == 0:
		return 0, io.EOF
	}
	image := &s.images[0]
	content, err := image.Source.Base64(s.ctx)
	if err == nil && len(content) != image.Size {
		err = errors.New("openai: an image has another size than before")
	}
	if err != nil {
		return 0, &imageError{err}
	}
	s.image.Reset(content)
	s.images = s.images[1:]
	return s.image.Read(p)
}
