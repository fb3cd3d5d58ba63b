package wires

import (
	"errors"
	"slices"

	"github.com/chattray/chattray/schemas"
)

// Start starts the run of a request, or returns the one that the Idempotency-Key started.
// If the chat's run waits, it is cancelled: a new message replaces the answer that it
// waits for. The request's MessageID is the client's, in any form; the message gets that id
// if it can, else its MessageKey.
func (c *Call) Start(chat schemas.Chat, req *schemas.ChatRequest) (schemas.Run, error) {
	if chat.ActiveRunID != "" {
		run, err := c.Service.Runs.Run(c.Context(), c.User, chat.ActiveRunID)
		switch {
		case err != nil:
			return run, err
		case run.State == schemas.RunWaiting && isIfBusy(req.IfBusy):
			req.IfBusy = "cancel"
		}
	}
	size := 0
	for name, value := range req.Context {
		size += len(name) + len(value)
	}
	if size > maxContext {
		return schemas.Run{}, schemas.Invalid("/context", "must have at most 1 MiB")
	}
	ids := messageIDs(chat.ChatID, req.MessageID)
	if len(ids) > 0 {
		req.MessageID = ids[0]
	}
	if err := c.Service.Check(req); err != nil {
		return schemas.Run{}, err
	}
	key := c.options()
	run, err := c.Service.Runs.Start(c.Context(), c.User, req, key)
	if seen, ok := errors.AsType[*schemas.Error](err); ok && seen == schemas.ErrTaken && len(ids) > 1 {
		req.MessageID = ids[1]
		return c.Service.Runs.Start(c.Context(), c.User, req, key)
	}
	return run, err
}

// isIfBusy reports whether the value is one of those of if_busy: only they are replaced, so that
// others are refused.
func isIfBusy(s string) bool { return slices.Contains([]string{"", "reject", "queue", "cancel"}, s) }

// StartAt starts the run of a request for a message at a place of the chat, or returns the
// run that the place says to follow.
func (c *Call) StartAt(chat schemas.Chat, req *schemas.ChatRequest, at Place) (schemas.Run, error) {
	if at.Follow != "" {
		return c.Service.Runs.Run(c.Context(), c.User, at.Follow)
	}
	if at.KeepsFiles && chat.ActiveRunID != "" { // the answer may be missing because it is being generated again
		run, err := c.Service.Runs.Run(c.Context(), c.User, chat.ActiveRunID)
		if err != nil || run.UserMessageID == at.Edit {
			return run, err
		}
	}
	again := *req
	again.EditMessageID, again.RegenerateMessageID = at.Edit, at.Regenerate
	if at.Regenerate != "" {
		again.Message, again.MessageID, again.Attachments = "", "", nil
	}
	if at.Edit != "" && !at.KeepsFiles && again.Attachments == nil {
		again.Attachments = []schemas.Attachment{}
	}
	return c.Start(chat, &again)
}

// maxPlaces bounds how often the place of a message is looked for.
const maxPlaces = 5

// errChanging is returned for a message whose chat others change all the time.
var errChanging = schemas.NewError(schemas.CodeConflict, "other requests are changing this chat; send the message again")

// StartPlaced starts the run of a request at the place that find returns. If another
// request has just stored or edited the message there, asked for its answer again or begun a
// run in a chat that had none, find is asked again. Requests that name their chat by the same words
// are placed one after the other, "" naming none: the second of two equal ones finds the run
// of the first, also if another process began it.
func (c *Call) StartPlaced(req *schemas.ChatRequest, chat string, find func() (schemas.Chat, Place, error)) (run schemas.Run, err error) {
	if chat != "" {
		unlock, err := c.Service.placing.Lock(c.Context(), c.User.ID+"\n"+chat)
		if err != nil {
			return run, err
		}
		defer unlock()
	}
	for range maxPlaces {
		chat, at, err := find()
		if errors.Is(err, errChanging) {
			continue
		}
		if err != nil {
			return run, err
		}
		asked, free := *req, chat.ActiveRunID == "" && !c.Behind
		if free && isIfBusy(asked.IfBusy) {
			asked.IfBusy = "reject"
		}
		run, err = c.StartAt(chat, &asked, at)
		if again := outrun(at, err) || free && busy(err); !again {
			return run, err
		}
	}
	return run, errChanging
}

// busy reports whether a request was refused because its chat has a live run.
func busy(err error) bool {
	seen, ok := errors.AsType[*schemas.Error](err)
	return ok && seen.Code == schemas.CodeBusy
}

// StartLast starts the run of a request that sends all messages of a chat, for the last
// message of the user; the messages after it are ignored. In a new chat the messages before
// it become the history. In a known one place says where the message belongs among the
// chat's messages. It gets the list up to the message, and may change req. Key is the
// client's id of the chat, which is read again each time before place is asked.
func (c *Call) StartLast(key string, chat schemas.Chat, req *schemas.ChatRequest, list []Message,
	place func(chat schemas.Chat, have []schemas.Message, list []Message) (Place, error),
) (schemas.Run, error) {
	for list[len(list)-1].Role != "user" {
		list = list[:len(list)-1]
	}
	if chat.ConversationID == 0 {
		req.ConversationHistory = History(list[:len(list)-1])
		return c.Start(chat, req)
	}
	return c.StartPlaced(req, ChatKey(key), func() (_ schemas.Chat, at Place, err error) {
		if chat, err = c.Service.Chat(c.Context(), c.User, key); err != nil {
			return chat, at, err
		}
		if c.Behind {
			chat.ActiveRunID = ""
		}
		have, err := c.Service.Current(c.Context(), c.User, chat)
		if err != nil {
			return chat, at, err
		}
		rename(list, chat, have)
		last := &list[len(list)-1]
		current, err := c.Service.Successor(c.Context(), c.User, chat, have, last.ID)
		if err != nil {
			return chat, at, err
		}
		if current != "" {
			last.ID, req.MessageID = current, ""
		}
		at, err = place(chat, have, list)
		return chat, c.Unanswered(have, at), err
	})
}

// Unanswered returns the place of a message of the chat. A question that is asked again and
// has no answer, because its run waits for its turn, follows that run.
func (c *Call) Unanswered(have []schemas.Message, at Place) Place {
	q := slices.IndexFunc(have, func(m schemas.Message) bool { return m.ID == at.Edit })
	if at.KeepsFiles && q >= 0 && c.Unfinished(have[q].RunID) {
		return Place{Follow: have[q].RunID}
	}
	return at
}

// Unfinished reports whether a run of the user has not ended.
func (c *Call) Unfinished(id string) bool {
	run, err := c.Service.Runs.Run(c.Context(), c.User, id)
	return err == nil && !run.State.Terminal()
}
