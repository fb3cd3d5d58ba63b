// Package agui is the wire of the Agent-User Interaction Protocol: the HttpAgent of
// @ag-ui/client 1.0 and 0.0.59, TanStack AI, and CopilotKit, whose own runtime may be in
// front or is replaced by the routes under /api/copilotkit.
package agui

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// Wire returns the wire.
func Wire() wires.Wire {
	return wires.Wire{
		Name: "agui", Paths: []string{"/api/agui", "/api/copilotkit"}, Fail: fail,
		Routes: []wires.Route{
			{Method: http.MethodPost, Path: "/api/agui", Body: true, Files: true, Starts: true, Stream: true, Handle: post},
			{Method: http.MethodGet, Path: "/api/agui", Stream: true, Handle: get},
			{Method: http.MethodPost, Path: "/api/agui/stop", Body: true, Handle: stop},
			{Method: http.MethodPost, Path: "/api/copilotkit", Body: true, Files: true, Stream: true, Handle: single},
			{Method: http.MethodGet, Path: "/api/copilotkit/info", Handle: info},
			{Method: http.MethodPost, Path: "/api/copilotkit/agent/:agent/run", Body: true, Files: true, Starts: true, Stream: true, Handle: post},
			{Method: http.MethodPost, Path: "/api/copilotkit/agent/:agent/connect", Body: true, Files: true, Stream: true, Handle: connect},
			{Method: http.MethodPost, Path: "/api/copilotkit/agent/:agent/stop/:thread", Body: true, Optional: true, Handle: stopThread},
			{Method: http.MethodGet, Path: "/api/copilotkit/threads", Handle: threads},
			{Method: http.MethodGet, Path: "/api/copilotkit/threads/:thread/messages", Handle: threadMessages},
		},
		Tables: []wires.Version{
			{Name: "1.0", Table: newTable(client{thread: "T", run: "R", v1: true})},
			{Name: "0.0.59", Table: newTable(client{thread: "T", run: "R"})},
		},
	}
}

// client returns what a response needs to know of the request.
func (in *input) client() client {
	return client{thread: in.ThreadID, run: in.RunID, parent: in.ParentRunID, v1: in.ProtocolVersion != ""}
}

// number is the line with which a client resumes.
func number(dst []byte, n int64) []byte {
	return append(strconv.AppendInt(append(dst, "id: "...), n, 10), '\n')
}

// cursor returns the Last-Event-ID; what is no number reads from the start.
func cursor(c *wires.Call) int64 {
	n, err := strconv.ParseInt(c.Header.Get("Last-Event-ID"), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// serve answers with a part of a run.
func serve(c *wires.Call, to wires.Stream, who client, run schemas.Run, given wires.Given) error {
	who.given = given
	at := cursor(c)
	if run.Begun { // the cursor is of another run
		at = 0
	}
	if at > 0 {
		if err := c.Large(); err != nil {
			return err
		}
		have, err := c.Service.Current(c.Context(), c.User, schemas.Chat{ConversationID: run.ConversationID})
		if err != nil {
			return err
		}
		who.stored = stored(have, run.RunID)
		size := 0
		for i := range have {
			size += len(have[i].Content)
		}
		c.Made(size)
	}
	return c.Service.Serve(c, to, wires.Response{Run: run, Table: newTable(who), Given: given, Cursor: at, Number: number})
}

// post starts a run, follows one that already answers the message, or gives answers to
// calls that wait and continues their run.
func post(c *wires.Call) error {
	to, err := c.Service.Stream(c)
	if err != nil {
		return err
	}
	defer to.Close()
	in, err := decode(c)
	if err != nil {
		return err
	}
	in.agent = c.Param("agent")
	at := in.last()
	if at < 0 && len(in.Resume) == 0 {
		return schemas.Invalid("/messages", "must have a message of the user")
	}
	chat, err := c.Service.Chat(c.Context(), c.User, in.ThreadID)
	if err != nil {
		return err
	}
	asks := at >= 0 && in.Messages[at].Role == "user"
	if asks && len(in.Resume) > 0 { // a client must answer before it asks
		if asks, err = isNew(c, chat, in.Messages[:at+1]); err != nil {
			return err
		}
	}
	if asks {
		return question(c, to, in, chat, at)
	}
	a, err := in.answers(c, in.results(len(in.Messages)))
	if err != nil {
		return err
	}
	if a == nil {
		return schemas.Invalid("/messages", "the last message is neither a message of the user nor the result of a call")
	}
	if at >= 0 && in.Messages[at].Role == "user" {
		// The chat has the message: it may be of the run that this request began before.
		if again, ok := begun(c, in, a.run); ok {
			return serve(c, to, in.client(), again, wires.Given{})
		}
	}
	run, given, err := proceed(c, chat, a)
	if e, ok := errors.AsType[*schemas.Error](err); ok && e.Code == schemas.CodeConflict && at >= 0 {
		// The chat has gone on: with the run that this request began before, or without it.
		if again, ok := begun(c, in, a.run); ok {
			return serve(c, to, in.client(), again, wires.Given{})
		}
	}
	if err != nil {
		return err
	}
	who := in.client()
	who.brought = a.brought
	return serve(c, to, who, run, given)
}

// begun returns the run that a request with the same run id began, if it is not the one
// whose calls it answers.
func begun(c *wires.Call, in *input, answered string) (schemas.Run, bool) {
	for _, key := range keys(in.ThreadID, in.RunID) {
		if run, err := c.Service.Runs.ByKey(c.Context(), c.User, key); err == nil && run.RunID != answered {
			return run, true
		}
	}
	return schemas.Run{}, false
}

// isNew reports whether the chat does not have the last message of the list, which is the
// user's. Clients may give a message another id in each request, or none. What the chat's
// last question says is therefore new only if the list says it more often than the chat.
func isNew(c *wires.Call, chat schemas.Chat, list []asked) (bool, error) {
	if chat.ConversationID == 0 {
		return true, nil
	}
	have, err := c.Service.Current(c.Context(), c.User, chat)
	if err != nil {
		return false, err
	}
	m := &list[len(list)-1]
	current, err := c.Service.Successor(c.Context(), c.User, chat, have, m.ID)
	if err != nil || current != "" {
		return false, err
	}
	question, says, times := "", m.text(), 0
	for i := range have {
		if have[i].Role != "user" {
			continue
		}
		if question = have[i].Content; question == says {
			times++
		}
	}
	if question != says {
		return true, nil
	}
	for i := range list {
		if list[i].Role == "user" && list[i].text() == says {
			times--
		}
	}
	return times < 0, nil
}

// question answers a message of the user. What the request also answers is answered first;
// a run that is only told of cancellations is replaced.
func question(c *wires.Call, to wires.Stream, in *input, chat schemas.Chat, at int) error {
	c.KeyBody = strings.Join([]string{in.ThreadID, in.Messages[at].ID, in.Messages[at].text()}, "\n")
	var run schemas.Run
	err := error(schemas.ErrKeyReused)
	leave := func() {}
	defer func() { leave() }()
	stay := func(before schemas.Run) { leave = c.Service.Stay(to.Context(), c.User, before) }
	for _, c.Key = range append(keys(in.ThreadID, in.RunID), questionKey(in.RunID, c.KeyBody)) {
		if run, err = attach(c, in, chat, at, stay); !errors.Is(err, schemas.ErrKeyReused) {
			break
		}
	}
	if err != nil {
		return err
	}
	return serve(c, to, in.client(), run, wires.Given{})
}

// attach returns the run that the same request began, or begins one. It stays with a run for
// whose end the message waits.
func attach(c *wires.Call, in *input, chat schemas.Chat, at int, stay func(before schemas.Run)) (schemas.Run, error) {
	return c.Once(func() (schemas.Run, error) {
		before, queue, err := settle(c, chat, in, at)
		if err != nil {
			return schemas.Run{}, err
		}
		if queue {
			stay(before)
		}
		return begin(c, in, chat, at, queue)
	})
}

// settle gives the answers that come with a new message: those of resume, and results right
// before it, as of a tool after which a page does not ask by itself. Queue says that the
// message waits for their run to end. A run that waits for other answers too gets none from a
// client that has gone on: the message takes its place.
func settle(c *wires.Call, chat schemas.Chat, in *input, at int) (run schemas.Run, queue bool, err error) {
	a, err := in.answers(c, in.results(at))
	if err == nil && a != nil && a.resolves {
		queue, err = c.Service.Settles(c.Context(), c.User, a.run, a.list)
	}
	if err == nil && queue {
		run, _, err = proceed(c, chat, a)
	}
	switch e, ok := errors.AsType[*schemas.Error](err); {
	case ok && e.Code == schemas.CodeConflict: // the chat has gone on
		return run, false, nil
	case ok && e.Code == schemas.CodeNotFound && len(in.Resume) == 0: // results of old calls, which clients send again
		return run, false, nil
	}
	return run, queue, err
}

// keys are the Idempotency-Keys of a run of the client. Its id belongs to the client: one
// that is long enough to be unique finds its run without the thread, unless another thread
// has used it before.
func keys(thread, run string) []string {
	const unique, longest, longestOfThread = 16, 200, 100
	var list []string
	switch {
	case len(run) > longest:
		list = []string{"agui:" + wires.ChatKey(run)}
	case len(run) >= unique:
		list = []string{"agui:" + run}
	}
	if len(run) > longestOfThread {
		run = wires.ChatKey(run)
	}
	return append(list, "agui:"+wires.ChatKey(thread)+":"+run)
}

// questionKey is the Idempotency-Key of a run whose id its thread has used for another
// question.
func questionKey(run, question string) string {
	return "agui:" + wires.ChatKey("\n"+run+"\n"+question)
}

// begin starts a run for the last user message, or returns the run that answers it.
func begin(c *wires.Call, in *input, chat schemas.Chat, at int, queue bool) (schemas.Run, error) {
	list, system := in.list()
	req, err := in.request(c, chat, system)
	if err != nil {
		return schemas.Run{}, err
	}
	if queue {
		req.IfBusy, c.Behind = "queue", true
	}
	if err := in.ask(req, at); err != nil {
		return schemas.Run{}, err
	}
	run, err := c.StartLast(in.ThreadID, chat, req, list, func(chat schemas.Chat, have []schemas.Message, list []wires.Message) (wires.Place, error) {
		return wires.Find(have, list, chat.ActiveRunID), nil
	})
	return run, in.pointed(err, at)
}

// errNothingFollows is returned for the result of a call that never waited.
var errNothingFollows = schemas.NewError(schemas.CodeConflict, "this call does not wait for a result; send a message of the user")

// proceed gives the answers to the calls that wait. It returns their run, and the calls
// after whose answers the response begins.
func proceed(c *wires.Call, chat schemas.Chat, a *answers) (run schemas.Run, given wires.Given, err error) {
	run, err = c.Service.Runs.Run(c.Context(), c.User, a.run)
	if err != nil {
		return run, given, a.located(err)
	}
	if run.ConversationID != chat.ConversationID {
		return run, given, a.located(schemas.ErrNotFound)
	}
	latest := func() (string, error) {
		have, err := c.Service.Current(c.Context(), c.User, chat)
		if err != nil || chat.ActiveRunID != "" || len(have) == 0 {
			return chat.ActiveRunID, err
		}
		return have[len(have)-1].RunID, nil
	}
	given, err = c.Service.Answers(c.Context(), c.User, run, latest, a.list, a.at)
	if errors.Is(err, schemas.ErrNotFound) && len(a.brought) > 0 {
		err = errNothingFollows
	}
	return run, given, a.located(err)
}

// get answers with a run from its beginning, or with what a thread has.
func get(c *wires.Call) error {
	q := c.URL.Query()
	if q.Has("runId") {
		return follow(c, q.Get("runId"), q.Get("threadId"))
	}
	if q.Has("threadId") {
		return hydrate(c, q.Get("threadId"))
	}
	return schemas.NewError(schemas.CodeInvalid, "the query needs threadId, or runId")
}

// follow answers with a run: its own id, or that of the request that began it.
func follow(c *wires.Call, id, thread string) error {
	to, err := c.Service.Stream(c)
	if err != nil {
		return err
	}
	defer to.Close()
	run, err := schemas.Run{}, error(schemas.ErrNotFound)
	if text.IsID(id) {
		run, err = c.Service.Runs.Run(c.Context(), c.User, id)
	}
	if errors.Is(err, schemas.ErrNotFound) {
		run, err = begunAs(c, thread, id)
	}
	if err != nil {
		return err
	}
	if thread == "" {
		thread = run.ChatID
	}
	return serve(c, to, client{thread: thread, run: id}, run, wires.Given{})
}

// begunAs returns the run that the client's request with the id began; without a thread it
// may be of any.
func begunAs(c *wires.Call, thread, id string) (run schemas.Run, err error) {
	for _, key := range keys(thread, id) {
		run, err = c.Service.Runs.ByKey(c.Context(), c.User, key)
		if err == nil && thread != "" && run.ChatID != wires.ChatKey(thread) {
			err = schemas.ErrNotFound
		}
		if !errors.Is(err, schemas.ErrNotFound) {
			break
		}
	}
	return run, err
}
