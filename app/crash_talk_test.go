package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services"
)

// talk is one question of a client that never gives up: it comes back with its
// cursor until the run's terminal event is there.
type talk struct {
	w        *world
	question string
	key      string // Idempotency-Key
	body     map[string]any
	turns    []modelTurn
	want     string // the answer's text
	cancelAt int    // cancel after so many frames, 0 never

	runID string
	got   []sseFrame
	seen  map[string]int // when a tool's event was seen: "tool_complete 0"
	// cancelled is the state that the cancel was answered with, and when.
	cancelled   schemas.RunState
	cancelledAt int
	retries     int
	scripted    sync.Once
	// patient is a client that waits while the service cannot answer; hints
	// counts the streams that were broken off with a hint when to come back.
	patient  bool
	hints    atomic.Int64
	answered atomic.Bool
	gate     <-chan struct{} // that the model waits for, nil for none
}

// newTalk makes up a question; the chat is made by its first message.
func (w *world) newTalk(chat, ifBusy string) *talk {
	name := strconv.Itoa(w.note())
	k := &talk{w: w, key: uuid.NewString(), question: "question " + name, seen: map[string]int{}}
	k.body = map[string]any{"message": k.question, "chat_id": chat, "if_busy": ifBusy, "context": map[string]any{"current_page": "lab"}}
	kinds := [][][]string{{}, {{"book"}}, {{"look"}}, {{"book", "look"}}, {{"look", "book", "look"}, {"book"}}, {{"look"}, {"look"}, {"book"}}}
	k.plan(kinds[w.between(0, len(kinds)-1)])
	return k
}

// plan settles which tools the model asks for, turn by turn, before it answers.
func (k *talk) plan(tools [][]string) {
	k.turns = nil
	name := strings.TrimPrefix(k.question, "question ")
	calls := 0
	for n, list := range tools {
		one := modelTurn{text: fmt.Sprintf("This is turn %d of %s and so it goes.", n, k.question)}
		for _, tool := range list {
			one.calls = append(one.calls, planned{tool, tool + "-" + name + "-" + strconv.Itoa(calls)})
			calls++
		}
		k.turns = append(k.turns, one)
	}
	k.turns = append(k.turns, modelTurn{
		text: fmt.Sprintf("And this is the answer to %s, which is not short.", k.question),
		tail: fmt.Sprintf("\n\nNOTE: {\"text\": %q}\n\nSUGGESTED_VALUES: [\"More of %s\"]", k.question, name),
	})
	var parts []string
	marker := 0
	for _, one := range k.turns {
		parts = append(parts, one.text)
		for range one.calls {
			parts = append(parts, fmt.Sprintf("[[tool:%d]]", marker))
			marker++
		}
	}
	k.want = strings.Join(parts, "\n\n")
}

// id is the run's; answered says that it is known.
func (k *talk) id() string {
	if !k.answered.Load() {
		return ""
	}
	return k.runID
}

// keys are those of the calls that the model asks for.
func (k *talk) keys() []string {
	var list []string
	for _, one := range k.turns {
		for _, c := range one.calls {
			list = append(list, c.key)
		}
	}
	return list
}

// run asks and follows to the end.
func (k *talk) run(ctx context.Context) error {
	k.scripted.Do(func() { k.w.script(k.question, k.turns, k.gate) })
	for {
		over, err := k.connect(ctx)
		if over || err != nil {
			return err
		}
		if k.retries++; k.retries > 10_000 {
			return errors.New("it does not end")
		}
	}
}

// connect asks, or comes back, and reads until the stream ends.
func (k *talk) connect(ctx context.Context) (over bool, err error) {
	p, err := k.w.current(ctx)
	if err != nil {
		return false, err
	}
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	resp, err := k.open(ctx, p)
	if err != nil {
		return false, k.broken(p, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable && k.patient {
		k.pause(ctx)
		return false, nil
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(resp.Body) // a process that was killed says less
		if k.w.down(p) {
			return false, nil
		}
		return false, fmt.Errorf("status %d after %d frames: %s", resp.StatusCode, len(k.got), body)
	}
	if !k.answered.Load() {
		k.runID = resp.Header.Get("X-Run-Id")
		k.answered.Store(true)
	}
	k.w.at("a run is answered")
	for r := newStreamReader(resp.Body); ; {
		f, err := r.next()
		if errors.Is(err, io.EOF) && k.patient && r.retry == "1000" && r.last >= k.cursor() {
			k.hints.Add(1)
			k.pause(ctx)
			return false, nil
		}
		if err != nil {
			return false, k.broken(p, err)
		}
		if err := k.take(ctx, f); err != nil || f.event.terminal() {
			return true, err
		}
		if k.w.between(0, 39) == 0 {
			return false, nil // the client loses its connection
		}
	}
}

// pause waits a little.
func (k *talk) pause(ctx context.Context) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
}

// open asks the first time, and comes back with the cursor later on: in the
// header, or in the query.
func (k *talk) open(ctx context.Context, p *process) (*http.Response, error) {
	method, path, header := http.MethodGet, "/api/chat/runs/"+k.runID+"/stream", []string(nil)
	var body any
	cursor := strconv.FormatInt(k.cursor(), 10)
	switch {
	case k.runID == "":
		method, path, body, header = http.MethodPost, "/api/chat/stream", k.body, []string{"Idempotency-Key", k.key}
	case k.w.between(0, 1) == 0:
		header = []string{"Last-Event-ID", cursor}
	default:
		path += "?after=" + cursor
	}
	req, err := request(ctx, method, p.url+path, body, header...)
	if err != nil {
		return nil, err
	}
	if body != nil {
		k.w.at("a question is asked")
	}
	return k.w.client.Do(req)
}

func (k *talk) cursor() int64 {
	if len(k.got) == 0 {
		return 0
	}
	return k.got[len(k.got)-1].id
}

// broken says whether a connection may have ended like this: only that of a
// process that was killed.
func (k *talk) broken(p *process, err error) error {
	if k.w.down(p) && !errors.Is(err, errFrame) {
		return nil
	}
	return fmt.Errorf("the stream of a process that is alive ended after %d frames: %w", len(k.got), err)
}

// take takes a frame and notes what it promises.
func (k *talk) take(ctx context.Context, f sseFrame) error {
	if f.id <= k.cursor() {
		return fmt.Errorf("event %d came after %d", f.id, k.cursor())
	}
	k.got = append(k.got, f)
	e := f.event
	if len(k.got) == 1 && (e.Type != schemas.TypeStatus || e.RunID != k.runID || e.ConversationID == 0) {
		return fmt.Errorf("the first event is %s", f.data)
	}
	if e.Type == schemas.TypeToolStart || e.Type == schemas.TypeToolComplete {
		if !e.IsError {
			k.seen[fmt.Sprintf("%s %d", e.Type, e.Index)] = k.w.note()
		}
	}
	switch {
	case len(k.got) == 1:
		k.w.at("a first event is read")
	case e.terminal():
		k.w.at(lastEvent)
	default:
		k.w.at(e.Type + " is read")
	}
	if k.cancelAt > 0 && len(k.got) == k.cancelAt {
		return k.cancel(ctx)
	}
	return nil
}

// cancel asks for the end until that is acknowledged.
func (k *talk) cancel(ctx context.Context) error {
	var run schemas.Run
	status, err := k.w.call(ctx, http.MethodPost, "/api/chat/runs/"+k.runID+"/cancel", &run)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("cancel: status %d, %w", status, err)
	}
	k.cancelled, k.cancelledAt = run.State, k.w.note()
	k.w.at("a cancel is acknowledged")
	return nil
}

// check holds the run, which is over, against what is promised.
func (k *talk) check(ctx context.Context) []error {
	var wrong []error
	fail := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	log, err := k.log(ctx)
	if err != nil {
		return []error{err}
	}
	k.checkUnion(log, fail)
	k.checkRecoveries(log, fail)
	last := log[len(log)-1].event
	k.checkTools(fail)
	k.checkModel(last, fail)
	if err := k.checkChat(ctx, log, last, fail); err != nil {
		fail("%w", err)
	}
	var run schemas.Run
	if status, err := k.w.call(ctx, http.MethodGet, "/api/chat/runs/"+k.runID, &run); err != nil || status != http.StatusOK {
		return append(wrong, fmt.Errorf("status %d, %w", status, err))
	}
	wants := map[string]schemas.RunState{schemas.TypeComplete: schemas.RunCompleted, schemas.TypeError: schemas.RunFailed, schemas.TypeCancelled: schemas.RunCancelled}
	if run.State != wants[last.Type] || run.LastSequence != log[len(log)-1].id {
		fail("the run is %s at %d, its log ends with %s at %d", run.State, run.LastSequence, last.Type, log[len(log)-1].id)
	}
	switch {
	case last.Type == schemas.TypeError && (last.Code != schemas.CodeInterrupted || run.Attempt <= services.MaxAttempts):
		fail("attempt %d failed with %s", run.Attempt, last.Code)
	case last.Type == schemas.TypeCancelled && k.cancelledAt == 0:
		fail("nobody cancelled it")
	case k.cancelled.Terminal() && k.cancelled != run.State:
		fail("cancel said %s, but it is %s", k.cancelled, run.State)
	}
	return wrong
}

// log reads the whole log, and that there is nothing behind it.
func (k *talk) log(ctx context.Context) ([]sseFrame, error) {
	list, err := k.read(ctx, "")
	if err != nil {
		return nil, err
	}
	if len(list) == 0 || !list[len(list)-1].event.terminal() {
		return nil, fmt.Errorf("the log of an ended run has %d events and no end", len(list))
	}
	status, err := k.w.call(ctx, http.MethodGet, fmt.Sprintf("/api/chat/runs/%s/stream?after=%d", k.runID, list[len(list)-1].id), nil)
	if err == nil && status != http.StatusNoContent {
		err = fmt.Errorf("resuming behind the end is %d", status)
	}
	return list, err
}

// read reads the stream of a run that has ended, to the end; it asks again when
// the program was killed.
func (k *talk) read(ctx context.Context, query string) ([]sseFrame, error) {
	for {
		p, err := k.w.current(ctx)
		if err != nil {
			return nil, err
		}
		req, err := request(ctx, http.MethodGet, p.url+"/api/chat/runs/"+k.runID+"/stream"+query, nil)
		if err != nil {
			return nil, err
		}
		resp, err := k.w.client.Do(req)
		if err == nil {
			var list []sseFrame
			if list, err = newStreamReader(resp.Body).rest(); err == nil {
				return list, nil
			}
		}
		if !k.w.down(p) {
			return nil, fmt.Errorf("the log of an ended run cannot be read to its end: %w", err)
		}
	}
}

// checkMessages holds the log in the dialect messages against the same run in
// chat: levels pair and nest over all attempts, and the text is the same.
func (k *talk) checkMessages(ctx context.Context, t *testing.T) {
	t.Helper()
	log, err := k.read(ctx, "?dialect=messages")
	if err != nil {
		t.Error(err)
		return
	}
	frames := make([]schemas.MessageFrame, len(log))
	for i, f := range log {
		if err := json.Unmarshal([]byte(f.data), &frames[i]); err != nil {
			t.Errorf("frame %d: %v", f.id, err)
		}
	}
	apptest.CheckNesting(t, frames)
	if got, want := apptest.FoldedText(t, frames), apptest.WithoutMarkers(textOf(unvoided(k.got))); got != want {
		t.Errorf("%s: the text is %q in messages, %q in chat", k.question, got, want)
	}
}

// checkUnion compares what was read over all connections with the final log:
// nothing is missing, and what is not in it was made void.
func (k *talk) checkUnion(log []sseFrame, fail func(string, ...any)) {
	for i, f := range log {
		if f.event.terminal() != (i == len(log)-1) {
			fail("event %d of %d is %s", i+1, len(log), f.event.Type)
		}
		at, found := slices.BinarySearchFunc(k.got, f.id, func(g sseFrame, id int64) int { return int(g.id - id) })
		if !found || !sameFrame(k.got[at], f) {
			fail("event %d of the log was not read like this: %s", f.id, f.data)
		}
	}
	got, want := unvoided(k.got), unvoided(log)
	if !slices.EqualFunc(got, want, sameFrame) {
		fail("what stands of the events read is\n%s\nof the log\n%s", listing(got), listing(want))
	}
}

// listing shows frames, a line each.
func listing(list []sseFrame) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%d %.120s\n", f.id, f.data)
	}
	return b.String()
}

// sameFrame compares frames; complete has diagnostics, which are not the log's.
func sameFrame(a, b sseFrame) bool { return a.id == b.id && a.data == b.data }

// checkRecoveries checks the status events of later attempts: their text is
// what stood, and the text goes on from there.
func (k *talk) checkRecoveries(log []sseFrame, fail func(string, ...any)) {
	attempt := 1
	for i, f := range log {
		if n := int((f.id-1)/1_000_000) + 1; n != attempt {
			if e := f.event; n < attempt || e.Attempt != n || e.KeptThrough == nil || e.Text == nil || f.id != int64(n-1)*1_000_000+1 {
				fail("attempt %d begins with event %d: %s", n, f.id, f.data)
				return
			}
			attempt = n
			before := unvoided(append(slices.Clip(log[:i]), sseFrame{id: f.id, event: wireEvent{KeptThrough: f.event.KeptThrough}}))
			if text := textOf(before); text != *f.event.Text && log[len(log)-1].event.Type == schemas.TypeComplete {
				fail("attempt %d stands on %q, its events up to %d give %q", n, *f.event.Text, *f.event.KeptThrough, text)
			}
		}
	}
	if last := log[len(log)-1].event; last.Payload != nil && strings.TrimSpace(textOf(unvoided(log))) != last.Payload.Message {
		fail("the text is %q, complete says %q", textOf(unvoided(log)), last.Payload.Message)
	}
}

// checkTools counts calls: book at most once, and none after its result was
// shown.
func (k *talk) checkTools(fail func(string, ...any)) {
	index := 0
	for _, one := range k.turns {
		for _, c := range one.calls {
			hits := k.w.hitsOf(c.key)
			if c.tool == "book" && len(hits) > 1 {
				fail("%s was called %d times", c.key, len(hits))
			}
			if shown := k.shownAt(index); shown > 0 && len(hits) > 0 && hits[len(hits)-1] > shown {
				fail("%s was called again after its result was shown", c.key)
			}
			index++
		}
	}
}

// shownAt is when the result of a call was shown, which was not that it was
// interrupted.
func (k *talk) shownAt(index int) int {
	return k.seen[fmt.Sprintf("%s %d", schemas.TypeToolComplete, index)]
}

// checkModel checks the calls of the model: none for a reply whose tools had
// begun, none after a cancel, and each knows what became of the tools.
func (k *talk) checkModel(last wireEvent, fail func(string, ...any)) {
	asks := k.w.asksOf(k.question)
	index := 0
	for n, one := range k.turns {
		known := k.began(one, index)
		for _, a := range asks {
			if a.results != index {
				continue
			}
			if known > 0 && a.at > known {
				fail("turn %d was asked for at %d, though its tools had begun at %d", n, a.at, known)
			}
			if last.Type == schemas.TypeCancelled && a.at > k.cancelledAt && k.cancelledAt > 0 && k.w.startedBetween(k.cancelledAt, a.at) {
				fail("turn %d was asked for after a cancel was acknowledged", n)
			}
			k.checkTold(a, fail)
		}
		index += len(one.calls)
	}
}

// began is when a tool of the turn was first seen to run.
func (k *talk) began(one modelTurn, index int) int {
	known := 0
	for i, c := range one.calls {
		times := slices.Concat(k.w.hitsOf(c.key), []int{k.seen[fmt.Sprintf("%s %d", schemas.TypeToolStart, index+i)]})
		for _, at := range times {
			if at > 0 && (known == 0 || at < known) {
				known = at
			}
		}
	}
	return known
}

// checkTold checks what the model was told of the tools.
func (k *talk) checkTold(a ask, fail func(string, ...any)) {
	index := 0
	for _, one := range k.turns {
		for _, c := range one.calls {
			if index >= len(a.told) {
				return
			}
			told := a.told[index]
			done := strings.Contains(told, c.tool+" of "+c.key)
			interrupted := c.tool == "book" && strings.Contains(told, "interrupted")
			if done == interrupted {
				fail("the model was told of %s: %s", c.key, told)
			}
			if shown := k.shownAt(index); interrupted && shown > 0 && shown < a.at {
				fail("%s was shown as done, and the model was told that it was interrupted", c.key)
			}
			if done && len(k.w.hitsOf(c.key)) == 0 {
				fail("%s was never called", c.key)
			}
			index++
		}
	}
}

// checkChat checks what the chat shows of the question and of the answer.
func (k *talk) checkChat(ctx context.Context, log []sseFrame, last wireEvent, fail func(string, ...any)) error {
	var chat schemas.Chat
	status, err := k.w.call(ctx, http.MethodGet, fmt.Sprintf("/api/chats/%d", log[0].event.ConversationID), &chat)
	if err != nil || status != http.StatusOK {
		return fmt.Errorf("chat: status %d, %w", status, err)
	}
	var question, answer []schemas.Message
	for _, m := range chat.Messages {
		switch {
		case m.RunID == k.runID && m.Role == "assistant":
			answer = append(answer, m)
		case m.ID == log[0].event.UserMessageID:
			question = append(question, m)
		}
	}
	if len(question) != 1 || question[0].Content != k.question {
		fail("the chat has the question %v", question)
	}
	if last.Type != schemas.TypeComplete {
		if (last.MessageID != "") != (len(answer) == 1) {
			fail("%s keeps %q, the chat has %d answers", last.Type, last.MessageID, len(answer))
		}
		if len(answer) == 1 && answer[0].Content != strings.TrimSpace(textOf(unvoided(log))) {
			fail("the chat keeps %q, the events give %q", answer[0].Content, textOf(unvoided(log)))
		}
		return nil
	}
	if len(answer) != 1 {
		fail("the chat has %d answers", len(answer))
		return nil
	}
	k.checkAnswer(answer[0], last.Payload, fail)
	return nil
}

// checkAnswer compares the stored answer with the one of complete and both with
// what the model was made to say.
func (k *talk) checkAnswer(m schemas.Message, p *schemas.ChatResponsePayload, fail func(string, ...any)) {
	if p.Message != k.want {
		fail("the answer is %q, want %q", p.Message, k.want)
	}
	stored := schemas.ChatResponsePayload{
		Message: m.Content, SuggestedValues: m.SuggestedValues, SuggestedActions: m.SuggestedActions, CustomPayload: m.CustomPayload, Payloads: m.Payloads,
		ToolHistory: m.ToolHistory, ConversationID: m.ConversationID, ChatID: p.ChatID, MessageID: m.ID, RunID: m.RunID, StopReason: m.StopReason,
		Usage: *m.Usage, Warnings: m.Warnings,
	}
	said := *p
	said.Diagnostics = nil
	if got, want := toJSON(stored), toJSON(said); got != want {
		fail("the chat has\n%s\ncomplete said\n%s", got, want)
	}
	calls, findings := 0, 0
	for _, one := range k.turns {
		for _, c := range one.calls {
			if c.tool == "look" {
				findings++
			}
			calls++
		}
	}
	if len(p.ToolHistory) != calls || len(p.Payloads) != findings+1 || len(p.SuggestedValues) != 1 || m.Status != schemas.MessageComplete {
		fail("the answer has %d calls of %d, %d payloads of %d, status %s", len(p.ToolHistory), calls, len(p.Payloads), findings+1, m.Status)
	}
}
