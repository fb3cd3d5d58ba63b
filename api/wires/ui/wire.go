// Package ui is the wire of the AI SDK's UI message stream: useChat and AbstractChat of
// ai 5, 6 and 7, and what is built on them.
package ui

import (
	"errors"
	"net/http"
	"slices"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Wire returns the wire.
func Wire() wires.Wire {
	return wires.Wire{
		Name: "ui", Paths: []string{"/api/ui"},
		Routes: []wires.Route{
			{Method: http.MethodPost, Path: "/api/ui", Body: true, Files: true, Starts: true, Stream: true, Handle: post},
			{Method: http.MethodGet, Path: "/api/ui/:id/stream", Stream: true, Handle: resume},
			{Method: http.MethodPost, Path: "/api/ui/:id/stop", Handle: stop},
			{Method: http.MethodGet, Path: "/api/ui/:id/messages", Handle: messages},
		},
		Fail: fail,
		Tables: []wires.Version{
			{Name: "7", Table: newTable(newest)},
			{Name: "5", Table: newTable(noApprovals)},
		},
	}
}

// newest is the major version that is assumed if the client names none.
const newest = 7

// opening is sent at once, so that proxies and clients see that the stream is open.
const opening = ": stream-open\n\n"

// header sets the header by which clients know the stream.
func header(h http.Header) { h.Set("x-vercel-ai-ui-message-stream", "v1") }

// serve answers with a part of a run.
func serve(c *wires.Call, to wires.Stream, run schemas.Run, major int, given wires.Given, brought ...record.CallAnswer) error {
	return c.Service.Serve(c, to, wires.Response{Run: run, Table: newTable(major, brought...), Given: given, Header: header, Opening: opening})
}

// post starts a run, follows one that already answers the message, or gives answers to
// calls that wait and continues their run. A message after answers waits for that run.
func post(c *wires.Call) error {
	to, err := c.Service.Stream(c)
	if err != nil {
		return err
	}
	defer to.Close()
	r, err := decode(c)
	if err != nil {
		return err
	}
	chat, err := c.Service.Chat(c.Context(), c.User, r.ID)
	if err != nil {
		return err
	}
	if run, list, ok := r.answers(); ok {
		return proceed(c, to, r, chat, run, list)
	}
	leave := func() {}
	defer func() { leave() }()
	run, err := c.Once(func() (schemas.Run, error) {
		before, err := settle(c, r, chat)
		if err != nil {
			return schemas.Run{}, err
		}
		if before.RunID != "" {
			r.IfBusy, c.Behind, leave = "queue", true, c.Service.Stay(to.Context(), c.User, before)
		}
		return begin(c, r, chat)
	})
	if err != nil {
		return err
	}
	return serve(c, to, run, r.AI, wires.Given{})
}

// settle gives the answers of the message before a new one, as of a page that does not send
// them by itself. It returns the run for whose end the message waits. It does not wait for one
// that had its answers before. One that waits for other answers too gets none: the message
// takes its place.
func settle(c *wires.Call, r *request, chat schemas.Chat) (run schemas.Run, err error) {
	id, list, at := r.answersBefore()
	if id == "" || id != chat.ActiveRunID {
		return run, nil
	}
	if run, err = c.Service.Runs.Run(c.Context(), c.User, id); err != nil {
		return run, err
	}
	if settles, err := c.Service.Settles(c.Context(), c.User, id, list); err != nil || !settles {
		return schemas.Run{}, err
	}
	given, err := answer(c, r, chat, run, list, at)
	e, ok := errors.AsType[*schemas.Error](err)
	refused := ok && slices.Contains([]schemas.Code{schemas.CodeNotFound, schemas.CodeConflict, schemas.CodeInvalid}, e.Code)
	if refused || given.Again != nil { // a page that cannot mend an output can still go on
		return schemas.Run{}, nil
	}
	return run, err
}

// begin starts a run for the last user message, or returns the run that answers it.
func begin(c *wires.Call, r *request, chat schemas.Chat) (schemas.Run, error) {
	list, system := r.list()
	req, err := r.asked(c, chat, system)
	if err != nil {
		return schemas.Run{}, err
	}
	at := r.lastUser()
	if at < 0 {
		return schemas.Run{}, schemas.Invalid("/messages", "must have a user message")
	}
	if err := r.ask(req, at); err != nil {
		return schemas.Run{}, err
	}
	run, err := c.StartLast(r.ID, chat, req, list, func(chat schemas.Chat, have []schemas.Message, list []wires.Message) (wires.Place, error) {
		if r.Trigger != regenerate && r.MessageID != "" {
			edited, err := c.Service.Successor(c.Context(), c.User, chat, have, r.MessageID)
			if err != nil || edited != "" {
				return wires.Edited(chat, have, r.MessageID, edited, req), err
			}
		}
		return r.place(have, list, chat.ActiveRunID), nil
	})
	return run, r.pointed(err, at)
}

// place returns the place of the last user message among the chat's messages.
func (r *request) place(have []schemas.Message, list []wires.Message, live string) wires.Place {
	if r.Trigger != regenerate {
		return wires.Find(have, list, live)
	}
	find := func(id, role string) int {
		return slices.IndexFunc(have, func(m schemas.Message) bool { return m.ID == id && m.Role == role })
	}
	if answer := find(r.MessageID, "assistant"); r.MessageID != "" && answer >= 0 {
		return wires.Place{Regenerate: have[answer].ID}
	}
	question := find(list[len(list)-1].ID, "user")
	if question < 0 {
		question = wires.FirstAfter(have, list)
	}
	if question < 0 {
		return wires.Place{}
	}
	return wires.Again(have, question, live)
}

// proceed passes the answers of the last message to the calls that wait, and responds with
// what comes after them.
func proceed(c *wires.Call, to wires.Stream, r *request, chat schemas.Chat, id string, list []record.CallAnswer) error {
	if len(list) == 0 {
		return schemas.Invalid("/messages", "the last message is neither a user message nor an answer to calls")
	}
	run, err := c.Service.Runs.Run(c.Context(), c.User, id)
	if err != nil {
		return err
	}
	if run.ConversationID != chat.ConversationID {
		return schemas.ErrNotFound
	}
	given, err := answer(c, r, chat, run, list, len(r.Messages)-1)
	if err != nil {
		return err
	}
	return serve(c, to, run, r.AI, given, list...)
}

// answer gives the answers of a message to the calls of a run of the chat.
func answer(c *wires.Call, r *request, chat schemas.Chat, run schemas.Run, list []record.CallAnswer, at int) (wires.Given, error) {
	latest := func() (string, error) {
		have, err := c.Service.Current(c.Context(), c.User, chat)
		if err != nil || chat.ActiveRunID != "" || len(have) == 0 {
			return chat.ActiveRunID, err
		}
		return have[len(have)-1].RunID, nil
	}
	return c.Service.Answers(c.Context(), c.User, run, latest, list, func(index int) string { return r.answerTo(wires.CallID(run.RunID, index), at) })
}

// resume answers with the chat's live run, from its beginning: the client discards what it
// has of the answer.
func resume(c *wires.Call) error {
	major, err := version(c)
	if err != nil {
		return err
	}
	chat, err := c.Service.Chat(c.Context(), c.User, c.Param("id"))
	if err != nil {
		return err
	}
	if chat.ActiveRunID == "" {
		c.Response.WriteHeader(http.StatusNoContent)
		return nil
	}
	to, err := c.Service.Stream(c)
	if err != nil {
		return err
	}
	defer to.Close()
	run, err := c.Service.Runs.Run(c.Context(), c.User, chat.ActiveRunID)
	if err != nil {
		return err
	}
	return serve(c, to, run, major, wires.Given{})
}

var errVersion = schemas.Invalid("/ai", "must be 5, 6 or 7")

// version returns the client's major version from the query.
func version(c *wires.Call) (int, error) {
	switch c.URL.Query().Get("ai") {
	case "":
		return newest, nil
	case "5":
		return noApprovals, nil
	case "6", "7":
		return newest, nil
	}
	return 0, errVersion
}

// stop cancels the chat's live run.
func stop(c *wires.Call) error {
	chat, err := c.Service.Chat(c.Context(), c.User, c.Param("id"))
	if err != nil {
		return err
	}
	if chat.ActiveRunID != "" {
		if _, err := c.Service.Runs.Cancel(c.Context(), c.User, chat.ActiveRunID); err != nil {
			return err
		}
	}
	return c.Respond(map[string]bool{"stopped": chat.ActiveRunID != ""})
}
