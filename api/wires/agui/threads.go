package agui

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// maxPage is the largest page of messages and of threads.
const maxPage = 200

// limit returns the limit of the query.
func limit(c *wires.Call) (int, error) {
	v := c.URL.Query().Get("limit")
	if v == "" {
		return maxPage, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 || n > maxPage {
		return 0, schemas.NewError(schemas.CodeInvalid, "the query parameter limit must be from 1 to "+strconv.Itoa(maxPage))
	}
	return n, nil
}

// uiMessage is a message of TanStack AI.
type uiMessage struct {
	ID       string   `json:"id"`
	Role     string   `json:"role"`
	Parts    []object `json:"parts"`
	Metadata object   `json:"metadata,omitempty"`
}

// hydrate answers with what a thread has, for a client of TanStack AI to begin with.
func hydrate(c *wires.Call, thread string) error {
	n, err := limit(c)
	if err != nil {
		return err
	}
	chat, err := c.Service.Chat(c.Context(), c.User, thread)
	if err != nil {
		return err
	}
	out := object{"messages": []uiMessage{}, "activeRun": nil, "interrupts": nil}
	if chat.ConversationID == 0 {
		return c.Respond(out)
	}
	if err := c.Large(); err != nil {
		return err
	}
	before := c.URL.Query().Get("before")
	page, err := c.Service.Chats.Get(c.Context(), c.User, chat.ConversationID, record.MessageQuery{Limit: n, Cursor: before})
	if err != nil {
		return err
	}
	list := stored(page.Messages, chat.ActiveRunID)
	if chat.ActiveRunID != "" && before == "" {
		part, waiting, err := soFar(c, chat.ActiveRunID)
		switch {
		case err != nil:
			return err
		case len(waiting) > 0:
			list = append(list, part...)
			out["interrupts"] = object{"runId": chat.ActiveRunID, "pending": waiting}
		default:
			out["activeRun"] = object{"runId": chat.ActiveRunID}
		}
	}
	out["messages"] = forUI(list)
	if page.NextCursor != "" {
		out["page"] = object{"truncated": true, "cursor": page.NextCursor}
	}
	return c.Respond(out)
}

// soFar returns the answer of a run that waits, with its interrupts; none of a run that
// does not wait.
func soFar(c *wires.Call, id string) ([]message, []object, error) {
	run, err := c.Service.Runs.Run(c.Context(), c.User, id)
	if err != nil || run.State != schemas.RunWaiting {
		return nil, nil, err
	}
	waits, err := c.Service.Runs.Waits(c.Context(), c.User, id)
	if err != nil {
		return nil, nil, err
	}
	open := slices.DeleteFunc(waits, func(w schemas.Wait) bool { return w.Answer != "" })
	to, err := c.Service.Stream(c)
	if err != nil {
		return nil, nil, err
	}
	defer to.Close()
	var t *table
	made := func(p wires.Params) wires.Table {
		t = build(p, client{})
		t.kept = &transcript{}
		return t
	}
	if _, err := c.Service.Collect(c, to, wires.Response{Run: run, Table: made}, true); err != nil {
		return nil, nil, err
	}
	return t.kept.messages(), t.interrupts(open), nil
}

// forUI returns messages of the protocol as those of TanStack AI: a result is a part of the
// message of its call.
func forUI(list []message) []uiMessage {
	out := []uiMessage{}
	for _, m := range list {
		switch m.Role {
		case "user":
			out = append(out, uiMessage{ID: m.ID, Role: m.Role, Parts: []object{{"type": "text", "content": m.Content}}, Metadata: m.Metadata})
		case "assistant":
			ui := uiMessage{ID: m.ID, Role: m.Role, Parts: []object{}}
			if m.Content != "" {
				ui.Parts = append(ui.Parts, object{"type": "text", "content": m.Content})
			}
			for _, call := range m.ToolCalls {
				p := object{"type": "tool-call", "id": call.ID, "name": call.Function.Name, "arguments": call.Function.Arguments, "state": "input-complete"}
				if json.Valid([]byte(call.Function.Arguments)) {
					p["input"] = json.RawMessage(call.Function.Arguments)
				}
				ui.Parts = append(ui.Parts, p)
			}
			out = append(out, ui)
		case "tool":
			addResult(out, &m)
		}
	}
	return out
}

// addResult adds a result to the message of its call.
func addResult(list []uiMessage, m *message) {
	for i := range slices.Backward(list) {
		at := slices.IndexFunc(list[i].Parts, func(p object) bool { return p["id"] == m.ToolCallID })
		if at < 0 {
			continue
		}
		call, part := list[i].Parts[at], object{"type": "tool-result", "toolCallId": m.ToolCallID, "content": m.Content, "state": "complete"}
		call["state"], call["output"] = "complete", m.Content
		if m.Error != "" {
			call["state"], part["state"], part["error"] = "error", "error", m.Error
		}
		list[i].Parts = append(list[i].Parts, part)
		return
	}
}

// stop cancels the live run of a thread.
func stop(c *wires.Call) error {
	var in struct {
		ThreadID string `json:"threadId"`
		RunID    string `json:"runId"`
	}
	if err := c.Decode(&in); err != nil {
		return err
	}
	if in.ThreadID == "" {
		return schemas.Invalid("/threadId", "is required")
	}
	stopped, err := cancel(c, in.ThreadID, in.RunID)
	if err != nil {
		return err
	}
	return c.Respond(object{"stopped": stopped})
}

// cancel cancels the live run of a thread, unless the client names another run of it.
func cancel(c *wires.Call, thread, id string) (bool, error) {
	chat, err := c.Service.Chat(c.Context(), c.User, thread)
	if err != nil || chat.ActiveRunID == "" {
		return false, err
	}
	if id != "" && id != chat.ActiveRunID {
		run, err := begunAs(c, thread, id)
		switch {
		case errors.Is(err, schemas.ErrNotFound): // of a request that continued the live run
		case err != nil:
			return false, err
		case run.RunID != chat.ActiveRunID:
			return false, nil
		}
	}
	_, err = c.Service.Runs.Cancel(c.Context(), c.User, chat.ActiveRunID)
	return err == nil, err
}

// stopThread cancels the live run of a thread, for CopilotKit.
func stopThread(c *wires.Call) error {
	in := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(c.Body)) > 0 {
		if err := c.Decode(&in); err != nil {
			return err
		}
	}
	var id string
	for name, value := range in {
		if name != "runId" || json.Unmarshal(value, &id) != nil {
			return schemas.NewError(schemas.CodeBadRequest, "the body may have the member runId, a text, and no other")
		}
	}
	stopped, err := cancel(c, c.Param("thread"), id)
	if err != nil {
		return err
	}
	out := object{"stopped": stopped}
	if !stopped {
		out["message"] = "This thread has no run under way."
	}
	return c.Respond(out)
}
