package readers

import (
	"cmp"
	"context"
	"errors"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/text"
)

// Answers reads the stored messages of chats. An unknown id is schemas.ErrNotFound.
type Answers interface {
	Message(ctx context.Context, owner string, conversationID int64, id string) (schemas.Message, error)
}

// dropped shows what is left of an ended run whose log is no longer kept: its answer as
// one text, and its end. It is written as a later attempt, which makes void whatever the
// reader has seen of the log. The error is never nil.
func (f *follower) dropped(ctx context.Context, stored *record.Run) error {
	if f.after >= stored.LastSeq {
		return errDone
	}
	message, err := f.Answers.Message(ctx, stored.Owner.ID, stored.ConversationID, stored.MessageID)
	if err != nil && !errors.Is(err, schemas.ErrNotFound) {
		return err
	}
	if message.RunID != stored.ID {
		message = schemas.Message{} // the run has kept no answer
	}
	f.addWords(&message, stored.Owner)
	list := remains(*stored, message)
	if f.after >= list[0].Seq {
		list = cut(list, f.after, message.Content)
	}
	return f.show(list)
}

// cut returns what a reader gets that has seen a number among the last ones: the text is
// in the event that begins the attempt. Who has seen all but the end gets the end.
func cut(list []runlog.Event, after int64, content string) []runlog.Event {
	first, last := list[0], list[len(list)-1]
	begin, ok := first.Body.(*runlog.Attempt)
	if !ok || after+1 >= last.Seq {
		return []runlog.Event{last}
	}
	again := *begin
	again.Text = content
	first.Seq, first.Body = after+1, &again
	return []runlog.Event{first, last}
}

// addWords adds the display names of tools to the calls of an answer.
func (r *Readers) addWords(m *schemas.Message, user schemas.User) {
	for i := range m.ToolHistory {
		call := &m.ToolHistory[i]
		words := r.Words(call.ToolName, user)
		call.Title, call.Done = words.Title, words.Done
	}
	if p := m.CustomPayload; p != nil && p.Type == schemas.TypeToolHistory {
		p.Data = schemas.Encode(m.ToolHistory)
	}
}

// keptType is the type of the group of a kept answer, and of its message.
const keptType, keptMessage = "llm", "text"

// remains returns the log of an ended run whose answer is all that is left of it. The
// numbers are the last ones of the log that it replaces. Without room for that there is
// only the end: the log never had an answer.
func remains(stored record.Run, message schemas.Message) []runlog.Event {
	var list []runlog.Event
	add := func(at runlog.Level, b runlog.Body) {
		list = append(list, runlog.Event{Time: stored.EndedAt.UnixMilli(), At: at, Body: b})
	}
	add(runlog.Level{}, &runlog.Attempt{
		Run:     runlog.Run{RunID: stored.ID, ConversationID: stored.ConversationID, ChatID: stored.ChatKey, UserMessageID: stored.UserMessageID},
		Message: "Resuming...", Code: schemas.StatusResuming, Number: stored.Attempt + 1,
		Target: runlog.Target{Place: runlog.Place{BlockIDs: cmp.Or(message.BlockIDs, stored.MessageID)}, MessageID: stored.MessageID},
	})
	if message.Content != "" {
		show(message.Content, uint32(stored.Attempt)*runlog.AttemptSpan, stored, add) //nolint:gosec // attempts are few
	}
	add(runlog.Level{}, end(stored, message))
	first := stored.LastSeq - int64(len(list)) + 1
	if first < 1 {
		list, first = list[len(list)-1:], stored.LastSeq
	}
	for i := range list {
		list[i].Seq = first + int64(i)
	}
	return list
}

// show adds a kept text: a group with a message for each stretch between two markers. The
// numbers of both come after offset.
func show(content string, offset uint32, stored record.Run, add func(runlog.Level, runlog.Body)) {
	status := keptStatus[stored.State]
	at := runlog.Level{Group: offset + 1}
	add(at, &runlog.LevelStart{Depth: runlog.GroupLevel, Type: keptType, Label: "Answer", Ref: stored.MessageID})
	stretch := func(shown string) {
		if shown == "" {
			return
		}
		at.Message = max(at.Message, offset) + 1
		add(at, &runlog.LevelStart{Depth: runlog.MessageLevel, Type: keptMessage, Ref: stored.MessageID})
		add(at, &runlog.Text{Text: shown})
		add(at, &runlog.LevelEnd{Depth: runlog.MessageLevel, Status: status})
	}
	from := 0
	for _, marker := range text.Markers(content) {
		stretch(content[from:marker[0]])
		add(runlog.Level{}, &runlog.Marker{Text: content[marker[0]:marker[1]]})
		from = marker[1]
	}
	stretch(content[from:])
	add(runlog.Level{Group: at.Group}, &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: keptType, Status: status})
}

// keptStatus is the status of the levels of a kept answer.
var keptStatus = map[schemas.RunState]string{schemas.RunCompleted: "completed", schemas.RunFailed: "error", schemas.RunCancelled: "cancelled"}

// end returns the terminal event of a run, with its answer.
func end(stored record.Run, m schemas.Message) runlog.Body {
	switch stored.State {
	case schemas.RunCompleted:
		return &runlog.Completed{Payload: schemas.ChatResponsePayload{
			Message: m.Content, SuggestedValues: m.SuggestedValues, SuggestedActions: m.SuggestedActions, CustomPayload: m.CustomPayload,
			Payloads: m.Payloads, ToolHistory: m.ToolHistory, ConversationID: stored.ConversationID, ChatID: stored.ChatKey,
			MessageID: stored.MessageID, RunID: stored.ID, StopReason: stored.StopReason, Usage: stored.Usage, Warnings: m.Warnings,
		}}
	case schemas.RunCancelled:
		return &runlog.Cancelled{MessageID: m.ID, Used: stored.Usage}
	default:
		failed := runlog.Failed{Code: schemas.CodeInternal, Message: "the answer ended with an error", MessageID: m.ID, Used: stored.Usage}
		if stored.Error != nil {
			failed.Code, failed.Message = stored.Error.Code, stored.Error.Message
		}
		failed.Retryable = failed.Code.Retryable()
		return &failed
	}
}
