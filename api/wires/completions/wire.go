// Package completions is the wire of OpenAI's chat completions: every OpenAI client, Open
// WebUI, LibreChat and what else speaks it.
package completions

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/openaiwire"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Wire returns the wire.
func Wire() wires.Wire {
	handle := openaiwire.Handler
	return wires.Wire{
		Name: "completions", Paths: []string{"/v1"},
		Routes: []wires.Route{
			{Method: http.MethodPost, Path: "/v1/chat/completions", Body: true, Files: true, Starts: true, Stream: true, Handle: handle(post)},
			{Method: http.MethodGet, Path: "/v1/models", Handle: handle(models)},
			{Method: http.MethodGet, Path: "/v1/models/:id", Handle: handle(model)},
			{Method: http.MethodGet, Path: "/v1/models/:id/:page", Handle: handle(model)},
		},
		Fail:   openaiwire.Fail,
		Tables: []wires.Version{{Name: "1", Table: newTable(options{model: "chattray", activity: true, usage: true})}},
	}
}

func models(c *wires.Call) error {
	return c.Respond(map[string]any{"object": "list", "data": openaiwire.Models(c.Service)})
}

// model describes one model. Some clients escape the slash of its id, others do not.
func model(c *wires.Call) error {
	id := c.Param("id")
	if page := c.Param("page"); page != "" {
		id += "/" + page
	}
	if _, _, err := openaiwire.Named(c.Service, id); err != nil {
		return err
	}
	list := openaiwire.Models(c.Service)
	m := list[0]
	m.ID = id
	return c.Respond(m)
}

// post starts a run, follows one that already answers the message, or gives the outcomes of
// the client's tools and continues their run. A message after outcomes waits for that run.
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
	if run, list, ok := r.answers(); ok {
		return proceed(c, to, r, req, run, list)
	}
	leave := func() {}
	defer func() { leave() }()
	run, err := c.Once(func() (schemas.Run, error) {
		id, list := r.answersBefore()
		before, behind, err := openaiwire.Settle(c, id, list, r.answerTo(id))
		if err != nil {
			return schemas.Run{}, err
		}
		r.thread = cmp.Or(before.ChatID, r.thread)
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

// begin starts a run for the last message, or returns the run that answers it.
func begin(c *wires.Call, r *request, req *schemas.ChatRequest) (schemas.Run, error) {
	files, err := r.ask(req)
	if err != nil {
		return schemas.Run{}, err
	}
	list := r.list()
	run, err := c.StartPlaced(req, r.thread, func() (schemas.Chat, wires.Place, error) {
		at, err := r.place(c, req, list)
		if req.ConversationHistory = nil; r.chat.ConversationID == 0 {
			req.ConversationHistory = wires.History(list[:len(list)-1])
		}
		return r.chat, at, err
	})
	if err != nil {
		err = openaiwire.Pointed(err, r.content(), files, "function", nil)
	}
	return run, err
}

// place returns the place of the last message in the chat that the client names. Messages
// have no ids, so the texts of the user's messages are compared. A list that is not the
// chat's stands alone: it gets a chat that is not listed.
func (r *request) place(c *wires.Call, req *schemas.ChatRequest, list []wires.Message) (at wires.Place, err error) {
	alone := func() (wires.Place, error) {
		r.chat, req.ChatID, req.Unlisted = schemas.Chat{}, "", true
		return wires.Place{}, nil
	}
	if r.thread == "" {
		return alone()
	}
	if r.chat, err = c.Service.Chat(c.Context(), c.User, r.thread); err != nil {
		return at, err
	}
	if req.ChatID = r.chat.ChatID; r.chat.ConversationID == 0 {
		return at, nil
	}
	if c.Behind {
		r.chat.ActiveRunID = ""
	}
	have, err := c.Service.Current(c.Context(), c.User, r.chat)
	if err != nil {
		return at, err
	}
	var asked []string
	for i, m := range list {
		if m.Role == "user" && (strings.TrimSpace(m.Text) != "" || i == len(list)-1) { // as wires.History
			asked = append(asked, m.Text)
		}
	}
	next, ok := wires.Next(have, asked[:len(asked)-1])
	switch {
	case !ok:
		return alone()
	case next < 0:
		return at, nil
	case have[next].Content == req.Message && (len(req.Attachments) == 0 || wires.Same(have[next], req)):
		return c.Unanswered(have, wires.Again(have, next, r.chat.ActiveRunID)), nil
	}
	return wires.Place{Edit: have[next].ID}, nil
}

// proceed passes the outcomes of the client's tools to the calls that wait for them, and
// responds with what comes after them.
func proceed(c *wires.Call, to wires.Stream, r *request, req *schemas.ChatRequest, id string, list []record.CallAnswer) error {
	run, err := c.Service.Runs.Run(c.Context(), c.User, id)
	if err != nil {
		return openaiwire.NotFound(err, r.call(id))
	}
	given, err := c.Service.Answers(c.Context(), c.User, run, openaiwire.Latest(c, run), list, r.answerTo(id))
	if err != nil {
		return openaiwire.NotFound(err, r.call(id))
	}
	r.thread = run.ChatID
	return respond(c, to, r, req, run, given)
}

// respond answers with a part of a run. A client that closes the connection has no way
// back, unless it can repeat its Idempotency-Key.
func respond(c *wires.Call, to wires.Stream, r *request, req *schemas.ChatRequest, run schemas.Run, given wires.Given) error {
	t := newTable(options{model: r.Model, usage: r.usage(), activity: r.activity, whole: !r.Stream})(wires.Params{}).(*table)
	part := wires.Response{
		Run: run, Given: given, Leaves: req.OnDisconnect == "cancel" && c.Header.Get("Idempotency-Key") == "",
		Table: func(p wires.Params) wires.Table { t.Params = p; return t },
	}
	if !r.patient {
		part.Asked = func(index int) error { return deny(c, run.RunID, index) }
	}
	if r.Stream {
		return c.Service.Serve(c, to, part)
	}
	_, err := c.Service.Collect(c, to, part, false)
	if seen, ok := errors.AsType[*schemas.Error](err); ok && seen.Code == schemas.CodeInterrupted && r.thread == "" {
		c.Response.Header().Set("X-Should-Retry", "false") // the same request would start another run
	}
	if err == nil {
		err = t.failed
	}
	if err != nil {
		return err
	}
	return c.Respond(t.completion())
}

// deny answers an approval, for which these clients have no way to ask their user.
func deny(c *wires.Call, run string, index int) error {
	waits, err := c.Service.Runs.Waits(c.Context(), c.User, run)
	if err != nil {
		return err
	}
	for _, w := range waits {
		if w.Index != index || w.Kind != schemas.WaitApproval || w.Answer != "" {
			continue
		}
		errs, err := c.Service.Runs.Answer(c.Context(), c.User, run, []record.CallAnswer{{Index: index, Approved: new(bool)}})
		if err != nil {
			return err
		}
		if seen, ok := errors.AsType[*schemas.Error](errs[0]); !ok || seen.Code != schemas.CodeConflict { // answered elsewhere
			return errs[0]
		}
	}
	return nil
}
