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
// images as parts of their own. The errors are those of CheckAttachments; on an
// error msg is unchanged.
func Attach(msg *turn.Message, files []schemas.Attachment) error {
	if len(files) == 0 {
		return nil
	}
	var text strings.Builder
	var images []turn.Image
	err := eachAttachment(files, func(kind string, f *schemas.Attachment, image []byte) {
		if image != nil {
			images = append(images, turn.Image{MIME: kind, Base64: base64.StdEncoding.EncodeToString(image)})
			return
		}
		fmt.Fprintf(&text, "\n\nAttached file (%s):\n", kind)
		writeData(&text, f.Name, f.Content)
	})
	if err != nil {
		return err
	}
	msg.Content = strings.TrimLeft(msg.Content+strings.TrimSuffix(text.String(), "\n"), "\n")
	msg.Images = append(msg.Images, images...)
	return nil
}

// CheckAttachments refuses files that are neither text nor an image, are too large
// or cannot be read, with an error of code invalid.
func CheckAttachments(files []schemas.Attachment) error {
	return eachAttachment(files, func(string, *schemas.Attachment, []byte) {})
}

// eachAttachment checks the files in order and calls do for each, with its media
// type and the bytes of an image; for a text the bytes are nil.
func eachAttachment(files []schemas.Attachment, do func(kind string, f *schemas.Attachment, image []byte)) error {
	if len(files) > maxAttachments {
		return wrongAttachment("/attachments", fmt.Sprintf("at most %d files are allowed", maxAttachments))
	}
	texts := 0
	for i := range files {
		f, at := &files[i], fmt.Sprintf("/attachments/%d", i)
		kind, _, err := mime.ParseMediaType(f.MIME)
		if err != nil {
			return wrongAttachment(at+"/mime", "is not a media type")
		}
		switch {
		case schemas.TextMedia(kind):
			if texts += len(f.Content); len(f.Content) > maxAttachmentText || texts > maxAttachmentTexts {
				return wrongAttachment(at+"/content", fmt.Sprintf("text files may have at most %d bytes each and %d together", maxAttachmentText, maxAttachmentTexts))
			}
			do(kind, f, nil)
		case strings.HasPrefix(kind, "image/"):
			image, err := decodeImage(at, f.Content)
			if err != nil {
				return err
			}
			do(kind, f, image)
		default:
			return wrongAttachment(at+"/mime", "must be a text type or image/*")
		}
	}
	return nil
}

func decodeImage(at, content string) ([]byte, error) {
	if base64.StdEncoding.DecodedLen(len(content)) > maxAttachmentImage+3 {
		return nil, wrongAttachment(at+"/content", fmt.Sprintf("an image may have at most %d bytes", maxAttachmentImage))
	}
	raw, err := base64.StdEncoding.DecodeString(content)
	if err != nil || len(raw) == 0 {
		return nil, wrongAttachment(at+"/content", "must be base64")
	}
	if len(raw) > maxAttachmentImage {
		return nil, wrongAttachment(at+"/content", fmt.Sprintf("an image may have at most %d bytes", maxAttachmentImage))
	}
	return raw, nil
}

func wrongAttachment(pointer, detail string) error {
	e := schemas.NewError(schemas.CodeInvalid, "an attachment cannot be used")
	e.Fields = []schemas.FieldError{{Pointer: pointer, Detail: detail}}
	return e
}
