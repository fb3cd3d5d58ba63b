package prompt

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/maphash"
	"mime"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/pdftext"
)

// Limits of attachments.
const (
	maxAttachments      = 10
	maxAttachmentText   = 256 << 10 // bytes of one text file
	maxAttachmentTexts  = 512 << 10 // bytes of all text files and of the text of all PDF files of a message
	maxAttachmentBinary = 5 << 20   // bytes of one image or PDF file
	maxAttachmentsKept  = 8 << 20   // bytes of the files of an edited message as they are stored, with new ones
)

// attach adds stored files to the message: texts as named data after its content,
// images beside it, without their content, which the source of the n-th file reads later. A file
// that is no image for a model is only noted, because the model's server refuses a request with it.
// If attach fails, msg is unchanged.
func attach(msg *turn.Message, files []schemas.Attachment, source func(n int) turn.ImageSource) error {
	var data strings.Builder
	var images []turn.Image
	var notes []string
	for i := range files {
		f := &files[i]
		kind, err := mediaOf(files, i)
		if err != nil {
			return err
		}
		if strings.HasPrefix(kind, "image/") {
			if image, ok := imageOf(kind, f.Content); ok {
				image.Source = source(i)
				images = append(images, image)
			} else {
				notes = append(notes, fmt.Sprintf("attached: %s (%s), not shown, because it is no image that a model can read", text.Line(f.Name, maxPromptName), text.Line(kind, maxPromptName)))
			}
			continue
		}
		fmt.Fprintf(&data, "\n\nAttached file (%s):\n", kind)
		writeData(&data, f.Name, f.Content)
	}
	if len(files) == 0 {
		return nil
	}
	msg.Content = withNotes(strings.TrimLeft(msg.Content+strings.TrimSuffix(data.String(), "\n"), "\n"), notes)
	msg.Images = append(msg.Images, images...)
	return nil
}

// imageHead is how many characters of an image's base64 show its type.
const imageHead = 1_024

// base64Letters are the characters of base64.
const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

// imageOf returns a stored file as an image for the model, without its source. It is not ok if
// its type is none that models take, if it does not begin as a file of its type, or if it is not
// base64.
func imageOf(kind, content string) (_ turn.Image, ok bool) {
	media := schemas.ImageMedia(kind)
	content = oneLine(content)
	head, err := base64.StdEncoding.DecodeString(content[:min(len(content), imageHead)])
	ok = media != "" && err == nil && schemas.CheckImageFile(media, head) == nil && strings.Trim(content, base64Letters) == ""
	return turn.Image{MIME: media, Size: len(content), Sum: maphash.String(sums, content)}, ok
}

// sums is the seed of turn.Image.Sum.
var sums = maphash.MakeSeed()

// oneLine returns base64 without line ends, as a data URL has it.
func oneLine(content string) string {
	if strings.ContainsAny(content, "\r\n") {
		return strings.NewReplacer("\r", "", "\n", "").Replace(content)
	}
	return content
}

// ReadAttachments returns the files of a request as they are stored, a PDF file as its
// text, and what the message says of them: the sizes are those of the files. The
// error, of code invalid, is for files that are neither text nor an image for a model nor a
// PDF file, that are too large or that cannot be read. A nil pdf takes no PDF files. The
// limits of a message hold for the files together with kept, the stored files that its
// message has besides.
func ReadAttachments(ctx context.Context, user string, kept, files []schemas.Attachment, pdf *pdftext.Reader) ([]schemas.Attachment, []schemas.AttachmentInfo, error) {
	if len(kept)+len(files) > maxAttachments {
		return nil, nil, schemas.Invalid("/attachments", fmt.Sprintf("at most %d files are allowed", maxAttachments))
	}
	texts, err := sizeOfKept(kept, files)
	if err != nil {
		return nil, nil, err
	}
	infos := make([]schemas.AttachmentInfo, len(files))
	var raws [][]byte
	var at []int
	for i := range files {
		f := &files[i]
		kind, err := mediaOf(files, i)
		if err != nil {
			return nil, nil, err
		}
		if strings.HasPrefix(kind, "image/") && schemas.ImageMedia(kind) == "" {
			return nil, nil, wrongFile(files, i, "mime", "must be "+schemas.MediaWords)
		}
		infos[i] = schemas.AttachmentInfo{Name: f.Name, MIME: f.MIME, Size: len(f.Content)}
		if schemas.TextMedia(kind) {
			if texts += len(f.Content); len(f.Content) > maxAttachmentText || texts > maxAttachmentTexts {
				return nil, nil, wrongFile(files, i, "content", fmt.Sprintf("text files may have at most %d bytes each and %d together", maxAttachmentText, maxAttachmentTexts))
			}
			continue
		}
		raw, err := decodeBinary(files, i)
		if err != nil {
			return nil, nil, err
		}
		infos[i].Size = len(raw)
		if kind == schemas.MediaPDF {
			raws, at = append(raws, raw), append(at, i)
		} else if err := schemas.CheckImageFile(kind, raw); err != nil {
			return nil, nil, wrongFile(files, i, "content", err.Error())
		}
	}
	if len(raws) == 0 {
		return files, infos, nil
	}
	read, failed, err := pdf.Texts(ctx, user, raws, maxAttachmentTexts-texts)
	if why, ok := errors.AsType[pdftext.Unreadable](err); ok {
		return nil, nil, wrongFile(files, at[failed], "content", string(why))
	}
	if err != nil {
		return nil, nil, err
	}
	files = slices.Clone(files)
	for n, i := range at {
		files[i].Content = read[n]
	}
	return files, infos, nil
}

// sizeOfKept returns the bytes of text that a message keeps. Kept files and those that
// come with the request must not be more than a request alone can have.
func sizeOfKept(kept, files []schemas.Attachment) (texts int, err error) {
	all := 0
	for i := range kept {
		kind, err := mediaOf(kept, i)
		if err != nil {
			return 0, err
		}
		all += len(kept[i].Content)
		if !strings.HasPrefix(kind, "image/") {
			texts += len(kept[i].Content)
		}
	}
	for i := range files {
		all += len(files[i].Content)
	}
	if len(kept) > 0 && len(files) > 0 && all > maxAttachmentsKept {
		return 0, schemas.Invalid("/attachments", fmt.Sprintf("the files that are kept and the new ones may have at most %d bytes together", maxAttachmentsKept))
	}
	return texts, nil
}

// mediaOf returns the media type of the i-th file: text, PDF or any image, because
// messages may have images of other types than ReadAttachments takes.
func mediaOf(files []schemas.Attachment, i int) (string, error) {
	kind, _, err := mime.ParseMediaType(files[i].MIME)
	if err != nil {
		return "", wrongFile(files, i, "mime", "is not a media type")
	}
	if !schemas.TextMedia(kind) && !strings.HasPrefix(kind, "image/") && kind != schemas.MediaPDF {
		return "", wrongFile(files, i, "mime", "must be "+schemas.MediaWords)
	}
	return kind, nil
}

func decodeBinary(files []schemas.Attachment, i int) ([]byte, error) {
	content, tooLarge := files[i].Content, fmt.Sprintf("an image or a PDF file may have at most %d bytes", maxAttachmentBinary)
	if base64.StdEncoding.DecodedLen(len(content)) > maxAttachmentBinary+3 {
		return nil, wrongFile(files, i, "content", tooLarge)
	}
	raw, err := base64.StdEncoding.DecodeString(content)
	if err != nil || len(raw) == 0 {
		return nil, wrongFile(files, i, "content", "must be base64")
	}
	if len(raw) > maxAttachmentBinary {
		return nil, wrongFile(files, i, "content", tooLarge)
	}
	return raw, nil
}

// wrongFile returns the error for a member of the i-th file.
func wrongFile(files []schemas.Attachment, i int, member, detail string) error {
	e := schemas.NewError(schemas.CodeInvalid, fmt.Sprintf("the file %q cannot be used", text.Line(files[i].Name, maxPromptName)))
	e.Fields = []schemas.FieldError{{Pointer: fmt.Sprintf("/attachments/%d/%s", i, member), Detail: detail}}
	return e
}
