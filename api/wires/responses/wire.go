// Package responses is the wire of OpenAI's Responses API, with background, cursor and
// cancel.
package responses

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/openaiwire"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Wire returns the wire.
func Wire() wires.Wire {
	handle := openaiwire.Handler
	return wires.Wire{
		Name: "responses", Paths: []string{"/v1"},
		Routes: []wires.Route{
			{Method: http.MethodPost, Path: "/v1/responses", Body: true, Files: true, Starts: true, Stream: true, Handle: handle(post)},
			{Method: http.MethodGet, Path: "/v1/responses/:id", Stream: true, Handle: handle(get)},
			{Method: http.MethodDelete, Path: "/v1/responses/:id", Handle: handle(remove)},
			{Method: http.MethodPost, Path: "/v1/responses/:id/cancel", Stream: true, Handle: handle(cancel)},
			{Method: http.MethodGet, Path: "/v1/responses/:id/input_items", Handle: handle(inputItems)},
		},
		Fail:   openaiwire.Fail,
		Tables: []wires.Version{{Name: "1", Table: newTable(options{model: "chattray"})}},
	}
}

// post starts a run, or answers calls that wait and continues their run.
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
	req, err := r.asked(c)
	if err != nil {
		return err
	}
	id, list := r.answers()
	if len(list) == 0 {
		id, list = r.answersBefore()
		return ask(c, to, r, req, id, list)
	}
	run, err := c.Service.Runs.Run(c.Context(), c.User, id)
	if err != nil {
		return openaiwire.NotFound(err, r.call(id))
	}
	if asks, err := r.asks(c, run); err != nil {
		return err
	} else if asks {
		return ask(c, to, r, req, id, list)
	}
	given, err := c.Service.Answers(c.Context(), c.User, run, openaiwire.Latest(c, run), list, r.answerTo(run.RunID))
	if err != nil {
		return openaiwire.NotFound(err, r.call(id))
	}
	return respond(c, to, r, req, run, given)
}

// asks reports whether the user's message before the answers to a run's calls is a new one,
// and not that of the run, which some clients send again.
func (r *request) asks(c *wires.Call, run schemas.Run) (bool, error) {
	at := r.lastUser()
	if r.Previous == "" || at < 0 {
		return false, nil
	}
	chat, err := c.Service.Chats.Get(c.Context(), c.User, run.ConversationID, record.MessageQuery{Limit: maxPage})
	return slices.ContainsFunc(chat.Messages, func(m schemas.Message) bool {
		return m.ID == run.UserMessageID && m.Content != r.Input[at].Content.Asked()
	}), err
}

// ask starts a run for a message, after the answers to the calls of a run that come with it.
func ask(c *wires.Call, to wires.Stream, r *request, req *schemas.ChatRequest, id string, list []record.CallAnswer) error {
	leave := func() {}
	defer func() { leave() }()
	run, err := c.Once(func() (schemas.Run, error) {
		before, behind, err := openaiwire.Settle(c, id, list, r.answerTo(id))
		if err != nil {
			return schemas.Run{}, err
		}
		if behind {
			req.IfBusy, c.Behind, leave = "queue", true, c.Service.Stay(to.Context(), c.User, before)
		}
		return begin(c, r, req)
	})
	if err != nil {
		return err
	}
	return respond(c, to, r, req, run, wires.Given{})
}

// begin starts a run for the last message of the user.
func begin(c *wires.Call, r *request, req *schemas.ChatRequest) (schemas.Run, error) {
	at := r.lastUser()
	if at < 0 {
		return schemas.Run{}, schemas.Invalid("/input", "must have a user message, or answers to calls that wait")
	}
	pointer := r.pointer(at)
	req.Message = r.Input[at].Content.Asked()
	var files []string
	var err error
	if req.Attachments, files, err = r.Input[at].Content.Files(pointer); err != nil {
		return schemas.Run{}, err
	}
	run, err := c.StartPlaced(req, cmp.Or(r.thread, r.previous), func() (schemas.Chat, wires.Place, error) {
		chat, place, err := r.place(c, req)
		if req.ConversationHistory = nil; chat.ConversationID == 0 {
			req.ConversationHistory = wires.History(r.list(at))
		}
		return chat, place, err
	})
	if err != nil {
		err = openaiwire.Pointed(err, pointer, files, "", r.functions)
	}
	return run, err
}

// errReplaced is returned for a message after an answer that the chat does not have any more.
var errReplaced = &openaiwire.Refusal{
	Status: http.StatusConflict, Code: string(schemas.CodeConflict), Param: "/previous_response_id",
	Text: "the answer of this response was replaced by another one; continue with the last response of the chat",
}

// place returns the chat that the request continues, and puts it into the request. A
// message after an answer that is not the chat's last edits the message there; an answer
// that was replaced is not part of the chat, which is a conflict. If the run of that message
// has not ended and the message is the same, the run is followed: a client that has seen no
// id of the answer comes back by sending its request again.
func (r *request) place(c *wires.Call, req *schemas.ChatRequest) (chat schemas.Chat, at wires.Place, err error) {
	var run schemas.Run
	switch {
	case r.previous != "":
		if run, err = c.Service.Runs.Run(c.Context(), c.User, r.previous); err != nil {
			return chat, at, openaiwire.NotFound(err, r.named)
		}
		chat, err = c.Service.Chats.Get(c.Context(), c.User, run.ConversationID, record.MessageQuery{Limit: 1})
		req.ConversationID = chat.ConversationID
	case r.thread != "":
		chat, err = c.Service.Chat(c.Context(), c.User, r.thread)
		req.ChatID = chat.ChatID
	}
	if err != nil || chat.ConversationID == 0 {
		return chat, at, err
	}
	active := chat.ActiveRunID
	if c.Behind {
		chat.ActiveRunID = ""
	}
	have, err := c.Service.Current(c.Context(), c.User, chat)
	if err != nil {
		return chat, at, err
	}
	question := questionBehind(have, run.RunID)
	switch {
	case r.Previous != "" && run.State.Terminal() && !wires.Has(have, run.RunID):
		return chat, at, errReplaced
	case question < 0:
	case chat.ActiveRunID != "" && have[question].RunID == chat.ActiveRunID && wires.Same(have[question], req):
		at.Follow = chat.ActiveRunID
	case have[question].RunID != active && wires.Same(have[question], req) && c.Unfinished(have[question].RunID):
		at.Follow = have[question].RunID
	case r.previous != "":
		at.Edit = have[question].ID
	}
	return chat, at, nil
}

// questionBehind returns the index of the user's first message behind the last message of
// a run, or of the user's last message if run is "". It is -1 if there is none.
func questionBehind(have []schemas.Message, run string) int {
	at, behind := -1, run == ""
	for i, m := range have {
		switch {
		case run != "" && m.RunID == run:
			at, behind = -1, true
		case m.Role == "user" && behind && (run == "" || at < 0):
			at = i
		}
	}
	return at
}

// respond answers with a part of a run: its events, the whole of it, or in the background
// what there is.
func respond(c *wires.Call, to wires.Stream, r *request, req *schemas.ChatRequest, run schemas.Run, given wires.Given) error {
	t := makeTable(r.options, wires.Params{Run: run.RunID})
	part := part(t, run)
	part.Given, part.Leaves = given, req.OnDisconnect == "cancel" && c.Header.Get("Idempotency-Key") == ""
	if r.Stream {
		return c.Service.Serve(c, to, part)
	}
	return t.respond(c, to, part, r.Background)
}

func part(t *table, run schemas.Run) wires.Response {
	return wires.Response{Run: run, Table: func(p wires.Params) wires.Table { t.Params = p; return t }}
}

// respond answers with the response object.
func (t *table) respond(c *wires.Call, to wires.Stream, part wires.Response, soFar bool) error {
	after, err := c.Service.Collect(c, to, part, soFar)
	if err != nil {
		return err
	}
	t.from(after, part.Run)
	return c.Respond(t.object())
}

// from sets where the response begins, if no event after that has been seen.
func (t *table) from(after int64, run schemas.Run) {
	if after > 0 && t.begin != after {
		t.begin, t.status, t.items = after, inProgress, nil
	}
	if t.created == 0 { // it waits for its turn
		t.created, t.chat = run.CreatedAt.Unix(), run.ChatID
		t.extra = openaiwire.Extra{RunID: run.RunID, ConversationID: run.ConversationID, MessageID: run.MessageID}
	}
}

// found returns the run of a response, and where the response begins.
func found(c *wires.Call) (run schemas.Run, begin int64, err error) {
	id, begin, ok := parseID(c.Param("id"), responsesPrefix)
	if !ok {
		return run, 0, schemas.ErrNotFound
	}
	if run, err = c.Service.Runs.Run(c.Context(), c.User, id); err != nil || begin == 0 {
		return run, begin, err
	}
	rests := begin <= run.LastSequence && (begin < run.LastSequence || !run.State.Terminal()) // a run does not end at a pause
	if rests {
		rests, err = c.Service.Rests(c.Context(), c.User, run, begin)
	}
	if err == nil && !rests {
		err = schemas.ErrNotFound
	}
	return run, begin, err
}

// get answers with a response as it is now, or with its events after a number.
func get(c *wires.Call) error {
	query := c.URL.Query()
	cursor, after := int64(0), query.Get("starting_after")
	if after != "" {
		n, err := strconv.ParseInt(after, 10, 64)
		if err != nil || n < 0 {
			return &openaiwire.Refusal{Status: http.StatusBadRequest, Code: string(schemas.CodeInvalid), Param: "starting_after", Text: "starting_after must be a sequence number"}
		}
		cursor = n
	}
	stream := query.Get("stream")
	if !slices.Contains([]string{"", "false", "true"}, stream) {
		return &openaiwire.Refusal{Status: http.StatusBadRequest, Code: string(schemas.CodeInvalid), Param: "stream", Text: "stream must be true or false"}
	}
	run, begin, err := found(c)
	if err != nil {
		return err
	}
	to, err := c.Service.Stream(c)
	if err != nil {
		return err
	}
	defer to.Close()
	t := makeTable(options{model: "chattray"}, wires.Params{Run: run.RunID})
	part := part(t, run)
	part.After, part.Cursor = begin, cursor
	if stream == "true" || stream == "" && after != "" { // openai-go has stream in a body, which is not read
		return c.Service.Serve(c, to, part)
	}
	return t.respond(c, to, part, true)
}

// cancelWait is how long the answer to a cancel waits for the run's end.
const cancelWait = 2 * time.Second

// bounded is a stream that ends after a time.
type bounded struct {
	wires.Stream

	ctx context.Context //nolint:containedctx // lives as long as the request
}

// Context implements wires.Stream.
func (b bounded) Context() context.Context { return b.ctx }

// cancel cancels the run of a response, and answers with the response.
func cancel(c *wires.Call) error {
	run, begin, err := found(c)
	if err != nil {
		return err
	}
	if _, err := c.Service.Runs.Cancel(c.Context(), c.User, run.RunID); err != nil {
		return err
	}
	to, err := c.Service.Stream(c)
	if err != nil {
		return err
	}
	defer to.Close()
	ctx, stop := context.WithTimeout(to.Context(), cancelWait)
	defer stop()
	t := makeTable(options{model: "chattray"}, wires.Params{Run: run.RunID})
	part := part(t, run)
	part.After = begin
	if _, err := c.Service.Collect(c, bounded{to, ctx}, part, false); err != nil { // it ends soon
		t.status = stopped
	}
	t.from(begin, run)
	return c.Respond(t.object())
}

// errKept refuses to delete a response, which is a part of a chat.
var errKept = schemas.NewError(schemas.CodeMethodNotAllowed, "a response is part of a chat: delete the chat with DELETE /api/chats/{conversation_id}")

func remove(c *wires.Call) error {
	if _, _, err := found(c); err != nil {
		return err
	}
	c.Response.Header().Set("Allow", "OPTIONS, GET")
	return errKept
}

// The message of a run is looked for in maxPages pages of maxPage messages.
const (
	maxPage  = 200
	maxPages = 50
)

// inputItems answers with the message that the run answers.
func inputItems(c *wires.Call) error {
	run, _, err := found(c)
	if err != nil {
		return err
	}
	if err := c.Large(); err != nil {
		return err
	}
	q := record.MessageQuery{Limit: maxPage, Superseded: true}
	for range maxPages {
		chat, err := c.Service.Chats.Get(c.Context(), c.User, run.ConversationID, q)
		if err != nil {
			return err
		}
		for _, m := range chat.Messages {
			if m.ID == run.UserMessageID {
				content := []map[string]string{{"type": "input_text", "text": m.Content}}
				one := map[string]any{"id": m.ID, "type": "message", "role": "user", "status": complete, "content": content}
				return c.Respond(map[string]any{"object": "list", "data": []any{one}, "first_id": m.ID, "last_id": m.ID, "has_more": false})
			}
		}
		if q.Cursor = chat.NextCursor; q.Cursor == "" {
			break
		}
	}
	return schemas.ErrNotFound
}
