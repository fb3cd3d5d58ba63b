package prompt

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// FileStore reads one file of a user's message.
type FileStore interface {
	File(ctx context.Context, owner string, id int64, messageID string, n int) (string, error)
}

// storedImage is the n-th file of a stored message.
type storedImage struct {
	files     FileStore
	owner     string
	chat      int64
	messageID string
	n         int
}

// Base64 implements turn.ImageSource.
func (s *storedImage) Base64(ctx context.Context) (string, error) {
	content, err := s.files.File(ctx, s.owner, s.chat, s.messageID, s.n)
	return oneLine(content), err
}

// storedForms is how much a file takes while it is read, in sizes of the file: its base64 as it is
// stored, and again as it is read.
const storedForms = 3

// addFiles reads the files of a message and adds them to msg, within the memory that all prompts
// share. If that fails, msg is unchanged.
func (h *History) addFiles(ctx context.Context, in HistoryInput, m *schemas.Message, msg *turn.Message) error {
	size := 0
	for _, f := range m.Attachments {
		size += storedForms * f.Size
	}
	release, err := h.Memory(ctx, size)
	if err != nil {
		return err
	}
	defer release()
	files, err := h.store.Files(ctx, in.Owner, in.ConversationID, m.ID)
	if err != nil {
		return err
	}
	return attach(msg, files, func(n int) turn.ImageSource {
		return &storedImage{files: h.Files, owner: in.Owner, chat: in.ConversationID, messageID: m.ID, n: n}
	})
}
