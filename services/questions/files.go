package questions

import (
	"context"
	"fmt"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/prompt"
)

// attach gives the user's message its files: those of the edited message that it
// keeps, then those of the request.
func (q *Questions) attach(ctx context.Context, req *schemas.ChatRequest, b *record.Begin) error {
	files, infos, err := q.kept(ctx, req, b)
	if err != nil {
		return err
	}
	sent, sentInfos, err := prompt.ReadAttachments(ctx, b.Run.Owner.ID, files, req.Attachments, q.PDF)
	if err != nil {
		return err
	}
	b.UserMessage.Files, b.UserMessage.Attachments = slices.Concat(files, sent), slices.Concat(infos, sentInfos)
	return nil
}

// kept returns the files of the edited message that the new one keeps: those that the
// request names, and all of them if it says nothing about files. A client without the
// content of the files, such as one that has loaded the chat, can therefore change the
// text alone.
func (q *Questions) kept(ctx context.Context, req *schemas.ChatRequest, b *record.Begin) ([]schemas.Attachment, []schemas.AttachmentInfo, error) {
	if req.EditMessageID == "" || req.KeepAttachments == nil && req.Attachments != nil || req.KeepAttachments != nil && len(req.KeepAttachments) == 0 {
		return nil, nil, nil
	}
	m, err := q.Store.Message(ctx, b.Run.Owner.ID, b.ConversationID, req.EditMessageID)
	if err != nil || len(m.Attachments) == 0 && req.KeepAttachments == nil {
		return nil, nil, err
	}
	stored, err := q.Store.Files(ctx, b.Run.Owner.ID, b.ConversationID, req.EditMessageID)
	if err != nil || req.KeepAttachments == nil {
		return stored, m.Attachments, err
	}
	files, infos := make([]schemas.Attachment, len(req.KeepAttachments)), make([]schemas.AttachmentInfo, len(req.KeepAttachments))
	for i, n := range req.KeepAttachments {
		if n < 0 || n >= min(len(stored), len(m.Attachments)) {
			return nil, nil, schemas.Invalid(fmt.Sprintf("/keep_attachments/%d", i), fmt.Sprintf("is no file of the message, which has %d", len(m.Attachments)))
		}
		files[i], infos[i] = stored[n], m.Attachments[n]
	}
	return files, infos, nil
}
