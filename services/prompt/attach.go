package prompt

import (
	"encoding/base64"
	"fmt"
	"mime"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of attachments.
const (
	maxAttachments     = 10
	maxAttachmentText  = 256 << 10 // bytes of one text file
	maxAttachmentTexts = 512 << 10 // bytes of all text files of a message
	maxAttachmentImage = 5 << 20   // bytes of one image
)

// Attach adds the files to the message: texts as named data after its content,
// images beside it. If a file is neither, is too large or cannot be read, the error
// has code invalid and msg is unchanged.
func Attach(msg *turn.Message, files []schemas.Attachment) error {
	if len(files) == 0 {
		return nil
	}
	if len(files) > maxAttachments {
		return wrongAttachment("/attachments", fmt.Sprintf("at most %d files are allowed", maxAttachments))
	}
	var text strings.Builder
	var images []turn.Image
	texts := 0
	for i, f := range files {
		at := fmt.Sprintf("/attachments/%d", i)
		kind, _, err := mime.ParseMediaType(f.MIME)
		if err != nil {
			return wrongAttachment(at+"/mime", "is no media type")
		}
		switch {
		case schemas.TextMedia(kind):
			if texts += len(f.Content); len(f.Content) > maxAttachmentText || texts > maxAttachmentTexts {
				return wrongAttachment(at+"/content", fmt.Sprintf("text files may have %d bytes each and %d together", maxAttachmentText, maxAttachmentTexts))
			}
			fmt.Fprintf(&text, "\n\nAttached file (%s):\n", kind)
			writeData(&text, f.Name, f.Content)
		case strings.HasPrefix(kind, "image/"):
			image, err := attachedImage(at, kind, f.Content)
			if err != nil {
				return err
			}
			images = append(images, image)
		default:
			return wrongAttachment(at+"/mime", "must be a text type or image/*")
		}
	}
	msg.Content = strings.TrimLeft(msg.Content+strings.TrimSuffix(text.String(), "\n"), "\n")
	msg.Images = append(msg.Images, images...)
	return nil
}

func attachedImage(at, kind, content string) (turn.Image, error) {
	if base64.StdEncoding.DecodedLen(len(content)) > maxAttachmentImage+3 {
		return turn.Image{}, wrongAttachment(at+"/content", fmt.Sprintf("an image may have %d bytes", maxAttachmentImage))
	}
	raw, err := base64.StdEncoding.DecodeString(content)
	if err != nil || len(raw) == 0 {
		return turn.Image{}, wrongAttachment(at+"/content", "must be base64")
	}
	if len(raw) > maxAttachmentImage {
		return turn.Image{}, wrongAttachment(at+"/content", fmt.Sprintf("an image may have %d bytes", maxAttachmentImage))
	}
	return turn.Image{MIME: kind, Base64: base64.StdEncoding.EncodeToString(raw)}, nil
}

func wrongAttachment(pointer, detail string) error {
	e := schemas.NewError(schemas.CodeInvalid, "an attachment cannot be used")
	e.Fields = []schemas.FieldError{{Pointer: pointer, Detail: detail}}
	return e
}
