package apptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/runs"
)

// CheckAll checks runs that are over.
func CheckAll(t *testing.T, conversations ...*Conversation) {
	t.Helper()
	for _, c := range conversations {
		for _, err := range c.Check(t.Context()) {
			t.Errorf("%s: %v", c.Question, err)
		}
	}
}

// Check checks the promises of the service on a run that has ended.
func (c *Conversation) Check(ctx context.Context) []error {
	var wrong []error
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	log, err := c.Log(ctx)
	if err != nil {
		return []error{err}
	}
	c.checkUnion(log, fail)
	c.checkRecoveries(log, fail)
	last := log[len(log)-1].Event
	c.checkTools(fail)
	c.checkModel(last, fail)
	if err := c.checkChat(ctx, log, last, fail); err != nil {
		fail("%w", err)
	}
	var run schemas.Run
	if status, err := c.get(ctx, "/api/chat/runs/"+c.RunID, &run); err != nil || status != http.StatusOK {
		return append(wrong, fmt.Errorf("reading the run: status %d, %w, want 200", status, err))
	}
	wants := map[string]schemas.RunState{schemas.TypeComplete: schemas.RunCompleted, schemas.TypeError: schemas.RunFailed, schemas.TypeCancelled: schemas.RunCancelled}
	if run.State != wants[last.Type] || run.LastSequence != log[len(log)-1].ID {
		fail("the run is %s at %d, its log ends with %s at %d", run.State, run.LastSequence, last.Type, log[len(log)-1].ID)
	}
	switch {
	case last.Type == schemas.TypeError && (last.Code != schemas.CodeInterrupted || run.Attempt <= runs.MaxAttempts):
		fail("attempt %d failed with %s", run.Attempt, last.Code)
	case last.Type == schemas.TypeCancelled && c.CancelledAt == 0:
		fail("nobody cancelled it")
	case c.cancelled.Terminal() && c.cancelled != run.State:
		fail("cancel said %s, but it is %s", c.cancelled, run.State)
	}
	return wrong
}

// CheckMessages compares the run's log in the dialect messages with the one in
// chat: levels pair and nest over all attempts, and the text is the same.
func (c *Conversation) CheckMessages(ctx context.Context, t *testing.T) {
	t.Helper()
	log, err := c.Read(ctx, "?dialect=messages")
	if err != nil {
		t.Error(err)
		return
	}
	frames := make([]schemas.MessageFrame, len(log))
	for i, f := range log {
		if err := json.Unmarshal([]byte(f.Data), &frames[i]); err != nil {
			t.Errorf("decoding frame %d: %v", f.ID, err)
		}
	}
	CheckNesting(t, frames)
	if got, want := FoldedText(t, frames), WithoutMarkers(TextOf(WithoutVoided(c.Frames))); got != want {
		t.Errorf("%s: the text in the dialect messages is %q, want %q as in chat", c.Question, got, want)
	}
}

// checkUnion compares the events of all connections with the final log: none is
// missing, and those that are not in the log were made void.
func (c *Conversation) checkUnion(log []ChatFrame, fail func(string, ...any)) {
	for i, f := range log {
		if f.Event.Terminal() != (i == len(log)-1) {
			fail("event %d of %d is %s, want a terminal event at the end and only there", i+1, len(log), f.Event.Type)
		}
		at, found := slices.BinarySearchFunc(c.Frames, f.ID, func(g ChatFrame, id int64) int { return int(g.ID - id) })
		if !found || !SameFrame(c.Frames[at], f) {
			fail("event %d was not read as the log has it, want %s", f.ID, f.Data)
		}
	}
	got, want := WithoutVoided(c.Frames), WithoutVoided(log)
	if !slices.EqualFunc(got, want, SameFrame) {
		fail("the events that were read and count are\n%s\nwant those of the log\n%s", ListFrames(got), ListFrames(want))
	}
}

// ListFrames lists frames, one per line.
func ListFrames(list []ChatFrame) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%d %.120s\n", f.ID, f.Data)
	}
	return b.String()
}

// SameFrame compares frames, except for the data of complete, which may have
// diagnostics.
func SameFrame(a, b ChatFrame) bool { return a.ID == b.ID && a.Data == b.Data }

// checkRecoveries checks the status events of later attempts: their text is the
// text so far, and the answer continues after it.
func (c *Conversation) checkRecoveries(log []ChatFrame, fail func(string, ...any)) {
	attempt := 1
	for i, f := range log {
		if n := int((f.ID-1)/1_000_000) + 1; n != attempt {
			if e := f.Event; n < attempt || e.Attempt != n || e.KeptThrough == nil || e.Text == nil || f.ID != int64(n-1)*1_000_000+1 {
				fail("attempt %d begins with event %d: %s", n, f.ID, f.Data)
				return
			}
			attempt = n
			before := WithoutVoided(append(slices.Clip(log[:i]), ChatFrame{ID: f.ID, Event: ChatEvent{KeptThrough: f.Event.KeptThrough}}))
			if text := TextOf(before); text != *f.Event.Text && log[len(log)-1].Event.Type == schemas.TypeComplete {
				fail("attempt %d continues %q, want %q, the text of the events up to %d", n, *f.Event.Text, text, *f.Event.KeptThrough)
			}
		}
	}
	if last := log[len(log)-1].Event; last.Payload != nil && strings.TrimSpace(TextOf(WithoutVoided(log))) != last.Payload.Message {
		fail("the text of the events is %q, want %q as in complete", TextOf(WithoutVoided(log)), last.Payload.Message)
	}
}

// repeatable reports whether the reply and its calls may be repeated after a
// crash.
func (t Turn) repeatable() bool {
	return !slices.ContainsFunc(t.Calls, func(c ToolCall) bool { return c.Tool != "look" })
}

// storedBy returns the mark from which a repeatable turn is certainly stored:
// when a tool of a later turn has begun that must not be called again; 0 if
// unknown.
func (c *Conversation) storedBy(n int) int {
	index := 0
	for i, one := range c.Turns {
		if i > n && !one.repeatable() {
			return c.began(one, index)
		}
		index += len(one.Calls)
	}
	return 0
}

// checkTools counts calls: book is called at most once, and no tool is called
// again after its result was shown or, if all calls of the turn are repeatable,
// was stored.
func (c *Conversation) checkTools(fail func(string, ...any)) {
	index := 0
	for n, one := range c.Turns {
		for _, call := range one.Calls {
			hits := c.System.ToolCalls(call.Key)
			if call.Tool == "book" && len(hits) > 1 {
				fail("%s was called %d times, want at most once", call.Key, len(hits))
			}
			shown := c.shownAt(index)
			if one.repeatable() {
				shown = c.storedBy(n)
			}
			if shown > 0 && len(hits) > 0 && hits[len(hits)-1] > shown {
				fail("%s was called again after its result was shown or stored", call.Key)
			}
			index++
		}
	}
}

// shownAt returns when the result of a call was shown, 0 if it was not or only
// as interrupted.
func (c *Conversation) shownAt(index int) int {
	return c.seen[fmt.Sprintf("%s %d", schemas.TypeToolComplete, index)]
}

// checkModel checks the calls of the model. A turn whose tools have begun is
// not asked for again, nor is a repeatable turn that is stored, and the model
// is not called after a cancel. Each call has the results of the tools before
// it.
func (c *Conversation) checkModel(last ChatEvent, fail func(string, ...any)) {
	asks := c.System.ModelCalls(c.Question)
	index := 0
	for n, one := range c.Turns {
		known := c.began(one, index)
		if one.repeatable() {
			known = c.storedBy(n)
		}
		for _, a := range asks {
			if a.Results != index {
				continue
			}
			if known > 0 && a.At > known {
				fail("the model was asked for turn %d at mark %d, want no call after its tools began at mark %d", n, a.At, known)
			}
			if last.Type == schemas.TypeCancelled && a.At > c.CancelledAt && c.CancelledAt > 0 && c.System.startedBetween(c.CancelledAt, a.At) {
				fail("the model was asked for turn %d after a cancel was acknowledged, want no call", n)
			}
			c.checkTold(a, fail)
		}
		index += len(one.Calls)
	}
}

// began returns when a tool of the turn was first seen to run.
func (c *Conversation) began(one Turn, index int) int {
	known := 0
	for i, call := range one.Calls {
		times := slices.Concat(c.System.ToolCalls(call.Key), []int{c.seen[fmt.Sprintf("%s %d", schemas.TypeToolStart, index+i)]})
		for _, at := range times {
			if at > 0 && (known == 0 || at < known) {
				known = at
			}
		}
	}
	return known
}

// checkTold checks what the model was told about the tools.
func (c *Conversation) checkTold(a ModelCall, fail func(string, ...any)) {
	index := 0
	for _, one := range c.Turns {
		for _, call := range one.Calls {
			if index >= len(a.Told) {
				return
			}
			told := a.Told[index]
			done := strings.Contains(told, call.Tool+" of "+call.Key)
			interrupted := call.Tool == "book" && strings.Contains(told, "interrupted")
			if done == interrupted {
				fail("the model was told about %s: %q, want its result or that it was interrupted", call.Key, told)
			}
			if shown := c.shownAt(index); interrupted && shown > 0 && shown < a.At {
				fail("the model was told that %s was interrupted, want the result that was shown before", call.Key)
			}
			if done && len(c.System.ToolCalls(call.Key)) == 0 {
				fail("%s was called 0 times, and the model was told a result", call.Key)
			}
			index++
		}
	}
}

// checkChat checks the question and the answer in the chat.
func (c *Conversation) checkChat(ctx context.Context, log []ChatFrame, last ChatEvent, fail func(string, ...any)) error {
	var chat schemas.Chat
	path := fmt.Sprintf("/api/chats/%d", log[0].Event.ConversationID)
	status, err := c.get(ctx, path, &chat)
	if err != nil {
		return fmt.Errorf("reading the chat: %w", err)
	}
	if status != http.StatusOK {
		return fmt.Errorf("reading the chat: status %d, want 200", status)
	}
	var question, answer []schemas.Message
	for _, m := range chat.Messages {
		switch {
		case m.RunID == c.RunID && m.Role == "assistant":
			answer = append(answer, m)
		case m.ID == log[0].Event.UserMessageID:
			question = append(question, m)
		}
	}
	if len(question) != 1 || question[0].Content != c.Question {
		fail("the chat has the questions %v, want %q once", question, c.Question)
	}
	if last.Type != schemas.TypeComplete {
		if (last.MessageID != "") != (len(answer) == 1) {
			fail("the chat has %d answers, want 1 if the message id %q of %s is not empty, else 0", len(answer), last.MessageID, last.Type)
		}
		if len(answer) == 1 && answer[0].Content != strings.TrimSpace(TextOf(WithoutVoided(log))) {
			fail("the answer in the chat is %q, want %q as in the events", answer[0].Content, TextOf(WithoutVoided(log)))
		}
		return nil
	}
	if len(answer) != 1 {
		fail("the chat has %d answers, want 1", len(answer))
		return nil
	}
	c.checkAnswer(answer[0], last.Payload, fail)
	return nil
}

// checkAnswer compares the stored answer with the answer in complete, and both
// with the model's script.
func (c *Conversation) checkAnswer(m schemas.Message, p *schemas.ChatResponsePayload, fail func(string, ...any)) {
	if p.Message != c.Want {
		fail("the answer is %q, want %q", p.Message, c.Want)
	}
	stored := schemas.ChatResponsePayload{
		Message: m.Content, SuggestedValues: m.SuggestedValues, SuggestedActions: m.SuggestedActions, CustomPayload: m.CustomPayload, Payloads: m.Payloads,
		ToolHistory: m.ToolHistory, ConversationID: m.ConversationID, ChatID: p.ChatID, MessageID: m.ID, RunID: m.RunID, StopReason: m.StopReason,
		Usage: *m.Usage, Warnings: m.Warnings,
	}
	shown := *p
	shown.Diagnostics = nil
	if got, want := JSON(stored), JSON(shown); got != want {
		fail("the answer in the chat is\n%s\nwant, as in complete,\n%s", got, want)
	}
	calls, findings := 0, 0
	for _, one := range c.Turns {
		for _, call := range one.Calls {
			if call.Tool == "look" {
				findings++
			}
			calls++
		}
	}
	if len(p.ToolHistory) != calls || len(p.Payloads) != findings+1 || len(p.SuggestedValues) != 1 || m.Status != schemas.MessageComplete {
		fail("the answer has %d calls, %d payloads, %d suggestions and status %s, want %d, %d, 1 and complete",
			len(p.ToolHistory), len(p.Payloads), len(p.SuggestedValues), m.Status, calls, findings+1)
	}
}
