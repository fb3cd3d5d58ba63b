package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func testMessagePages(f *fixture) {
	g := f.turn("0", "1")
	chat := g.Run.ConversationID
	f.turn("2", "3", in(chat))
	dropped := f.turn("x", "y", in(chat))
	f.turn("4", "5", in(chat), func(g *record.Begin) { g.Supersede = dropped.Run.UserMessageID })
	for _, limit := range []int{1, 2, 4, 5, 6, 0, 100_000} {
		var got string
		q := record.MessageQuery{Limit: limit}
		for pages := 0; ; pages++ {
			page, cursor, err := f.store.Messages(f.ctx, f.owner, chat, q)
			must(f, err)
			var text strings.Builder
			for _, m := range page {
				text.WriteString(m.Content)
			}
			got = text.String() + got
			if limit > 0 && len(page) > limit || pages > 6 {
				f.Fatalf("limit %d: a page of %d, %d pages", limit, len(page), pages)
			}
			if q.Cursor = cursor; cursor == "" {
				break
			}
		}
		equal(f, fmt.Sprint("messages at limit ", limit), got, "012345")
	}
	equal(f, "all", strings.Join(f.messages(chat, true), ""), "0123-x-y45")
	var forward strings.Builder
	for q := (record.MessageQuery{Limit: 2, Forward: true}); ; {
		page, cursor, err := f.store.Messages(f.ctx, f.owner, chat, q)
		must(f, err)
		for _, m := range page {
			forward.WriteString(m.Content)
		}
		if q.Cursor = cursor; cursor == "" {
			break
		}
	}
	equal(f, "from the oldest on", forward.String(), "012345")
}

func testMessageWhole(f *fixture) {
	w := f.begin("q", func(g *record.Begin) {
		g.UserMessage.Type = "action"
		g.UserMessage.Action = &schemas.ActionMetadata{ActionIdentifier: "apply_schema", ActionData: json.RawMessage(`{"a":"<&>"}`)}
	})
	f.mustCommit(w)
	id := w.Begin.Run.MessageID
	tool, model := payload("0000000d", "articles", `{ "rows" : [1, "\u0000", "\ud800"] }`), payload("0000000e", "schema_proposal", `"<b>"`)
	model.Source = "llm"
	var payloads []record.Payload
	for _, p := range []schemas.CustomPayload{tool, model} {
		payloads = append(payloads, record.Payload{CustomPayload: p, MessageID: id, CreatedAt: f.now()})
	}
	end := f.finish(w, "answer")
	end.Payloads = payloads[1:]
	m := end.Finish.Message
	m.SuggestedValues = []schemas.SuggestedValue{{Label: "Yes", Value: "Yes, please"}}
	m.SuggestedActions = []schemas.SuggestedAction{{Label: "Apply", Action: "apply_schema", Handler: "server", Data: json.RawMessage(`{"id":1}`), Style: "primary"}}
	m.CustomPayload = &tool
	m.Usage = &schemas.Usage{InputTokens: 1, OutputTokens: 2, TotalTokens: 3}
	m.Warnings = []string{"one was left out"}
	f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, Payloads: payloads[:1]}, end)

	chat := w.Begin.Run.ConversationID
	got, err := f.store.Message(f.ctx, f.owner, chat, id)
	must(f, err)
	want := *m
	want.ConversationID, want.Payloads = chat, []schemas.CustomPayload{tool, model}
	equal(f, "answer", got, want)
	user, err := f.store.Message(f.ctx, f.owner, chat, w.Begin.Run.UserMessageID)
	must(f, err)
	equal(f, "click", user.Action, w.Begin.UserMessage.Action)
	equal(f, "its type", user.Type, "action")

	_, err = f.store.ResolvePayload(f.ctx, f.owner, chat, tool.PayloadID, "rejected")
	must(f, err)
	all, _, err := f.store.Messages(f.ctx, f.owner, chat, record.MessageQuery{})
	must(f, err)
	equal(f, "outcomes", []string{all[1].Payloads[0].Outcome, all[1].Payloads[1].Outcome, all[1].CustomPayload.Outcome}, []string{"rejected", "", "rejected"})
}

func testCustomPayloadHistory(f *fixture) {
	w := f.begin("q")
	end := f.finish(w, "a")
	end.Finish.Message.CustomPayload = &schemas.CustomPayload{Type: "tool_history", Data: json.RawMessage(`[{"tool_name":"t"}]`)}
	f.mustCommit(w, &record.Write{RunID: w.RunID, Attempt: 1, ToolCall: &record.ToolCall{
		Name: "t", Input: json.RawMessage(`{}`), Output: "o", State: record.ToolFinished,
	}}, end)
	m, err := f.store.Message(f.ctx, f.owner, w.Begin.Run.ConversationID, w.Begin.Run.MessageID)
	must(f, err)
	equal(f, "custom payload", m.CustomPayload, &schemas.CustomPayload{
		Type: "tool_history", Data: json.RawMessage(`[{"tool_name":"t","input":{},"output":"o","is_error":false,"duration_ms":0}]`),
	})
}

func testFeedback(f *fixture) {
	g := f.turn("q", "a")
	chat := g.Run.ConversationID
	m, err := f.store.SetFeedback(f.ctx, f.owner, chat, g.Run.MessageID, schemas.Feedback{Rating: "down", Reasons: []string{"sources", "other"}, Comment: "wrong\x00 <b>"})
	must(f, err)
	equal(f, "feedback", m.Feedback, &schemas.Feedback{Rating: "down", Reasons: []string{"sources", "other"}, Comment: "wrong <b>"})
	_, err = f.store.SetFeedback(f.ctx, f.owner, chat, g.Run.MessageID, schemas.Feedback{Rating: "up"})
	must(f, err)
	_, err = f.store.SetFeedback(f.ctx, f.owner, chat, g.Run.UserMessageID, schemas.Feedback{Rating: "up"})
	fails(f, "feedback on the user's own message", err, schemas.ErrNotFound)
	all, _, err := f.store.Messages(f.ctx, f.owner, chat, record.MessageQuery{})
	must(f, err)
	equal(f, "feedback in the chat", []*schemas.Feedback{all[0].Feedback, all[1].Feedback}, []*schemas.Feedback{nil, {Rating: "up"}})
	m, err = f.store.SetFeedback(f.ctx, f.owner, chat, g.Run.MessageID, schemas.Feedback{})
	must(f, err)
	equal(f, "feedback that was taken back", m.Feedback, (*schemas.Feedback)(nil))
	_, err = f.store.SetFeedback(f.ctx, f.anotherUser().owner, chat, g.Run.MessageID, schemas.Feedback{})
	fails(f, "another user's feedback", err, schemas.ErrNotFound)
}

func testPayloads(f *fixture) {
	var want []schemas.CustomPayload
	var begun []*record.Begin
	chat := int64(0)
	for i := range 3 {
		w := f.begin("q", in(chat))
		p := payload(fmt.Sprintf("000000%02x", 16+i), "p", fmt.Sprintf(`{ "n": %d }`, i))
		end := f.finish(w, "a")
		end.Payloads = []record.Payload{{CustomPayload: p, MessageID: w.Begin.Run.MessageID, CreatedAt: f.now()}}
		f.mustCommit(w)
		f.mustCommit(end)
		begun, chat, want = append(begun, w.Begin), w.Begin.Run.ConversationID, append(want, p)
	}
	whole, err := f.store.Payload(f.ctx, f.owner, chat, want[1].PayloadID)
	must(f, err)
	equal(f, "payload", whole, want[1])
	listed := func() []schemas.CustomPayload {
		all, err := f.store.Payloads(f.ctx, f.owner, chat, "")
		must(f, err)
		return all
	}
	for i := range want {
		want[i].Data = nil
	}
	equal(f, "payloads", listed(), want)
	accepted, err := f.store.ResolvePayload(f.ctx, f.owner, chat, want[0].PayloadID, "accepted")
	must(f, err)
	equal(f, "resolved", []string{accepted.Outcome, string(accepted.Data)}, []string{"accepted", `{ "n": 0 }`})
	want[0].Outcome = "accepted"
	equal(f, "payloads after a decision", listed(), want)
	again, err := f.store.ResolvePayload(f.ctx, f.owner, chat, want[0].PayloadID, "accepted")
	must(f, err)
	equal(f, "resolved again", again.Outcome, "accepted")
	_, err = f.store.ResolvePayload(f.ctx, f.owner, chat, want[0].PayloadID, "rejected")
	equal(f, "resolved otherwise", schemas.Visible(err).Code, schemas.CodeConflict)
	once := func(id, run string) schemas.Code {
		err := f.store.AcceptPayload(f.ctx, f.owner, chat, id, "accepted", run)
		if err == nil {
			return ""
		}
		return schemas.Visible(err).Code
	}
	taken := []schemas.Code{once(want[0].PayloadID, "one"), once(want[1].PayloadID, "one"), once(want[1].PayloadID, "two"), once("ffffffff", "one")}
	equal(f, "resolved once", taken, []schemas.Code{schemas.CodeConflict, "", schemas.CodeConflict, schemas.CodeNotFound})
	must(f, f.store.ReopenPayload(f.ctx, f.owner, chat, want[1].PayloadID, "one"))
	equal(f, "payloads after being reopened", listed(), want)
	f.turn("q", "a", in(chat), func(g *record.Begin) { g.Supersede = begun[1].Run.MessageID })
	equal(f, "payloads of current messages", listed(), want[:1])
	f.mustCommit()
}

// testPayloadOrder has payloads that are stored in another order than their message
// has, and a run that is under way.
func testPayloadOrder(f *fixture) {
	first := f.begin("q")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	a, b := payload("0000000a", "p", `1`), payload("0000000b", "p", `2`)
	of := func(w *record.Write, p schemas.CustomPayload) record.Payload {
		return record.Payload{CustomPayload: p, MessageID: w.Begin.Run.MessageID, CreatedAt: f.now()}
	}
	f.mustCommit(&record.Write{RunID: first.RunID, Attempt: 1, Payloads: []record.Payload{of(first, b)}})
	end := f.finish(first, "a")
	end.Payloads, end.Finish.Message.Payloads = []record.Payload{of(first, a)}, []schemas.CustomPayload{a, b}
	f.mustCommit(end)
	second := f.begin("q", in(chat))
	f.mustCommit(second)
	f.mustCommit(&record.Write{RunID: second.RunID, Attempt: 1, Payloads: []record.Payload{of(second, payload("0000000c", "p", `3`))}})
	for except, want := range map[string][]string{"": {"0000000a", "0000000b", "0000000c"}, second.RunID: {"0000000a", "0000000b"}} {
		list, err := f.store.Payloads(f.ctx, f.owner, chat, except)
		must(f, err)
		var ids []string
		for _, p := range list {
			ids = append(ids, p.PayloadID)
		}
		equal(f, "payloads except those of "+except, ids, want)
	}
}

func testPayloadCollision(f *fixture) {
	first, second := f.begin("q"), f.begin("q", key("k"))
	p := record.Payload{CustomPayload: payload("00000020", "p", `1`)}
	f.mustCommit(first)
	id := first.Begin.Run.ConversationID
	write := &record.Write{RunID: first.RunID, Attempt: 1, Payloads: []record.Payload{p}}
	f.mustCommit(write)
	f.mustCommit(write) // again, as after a lost result
	f.mustCommit(f.finish(first, "a"))

	f.mustCommit(second)
	f.mustCommit(&record.Write{RunID: second.RunID, Attempt: 1, Payloads: []record.Payload{p}}) // another chat
	third := f.begin("q", in(id))
	f.mustCommit(third)
	taken := &record.Write{RunID: third.RunID, Attempt: 1, Payloads: []record.Payload{p}, Segment: &record.Segment{First: 1, Last: 1}}
	f.commit(taken)
	if taken.Err == nil || errors.Is(taken.Err, record.ErrUnavailable) {
		f.Errorf("a payload id of another run: got error %v", taken.Err)
	}
	segments, err := f.store.Segments(f.ctx, third.RunID, 0)
	must(f, err)
	equal(f, "what was written beside it", len(segments), 0)
}

// texts are strings that the databases treat differently, with their stored
// form.
var texts = map[string]struct{ text, want string }{
	"plain":            {"hello", "hello"},
	"empty":            {"", ""},
	"unicode":          {"Grüße, 世界 🧬👩🏽‍🔬 \u200f\u2028 é e\u0301", "Grüße, 世界 🧬👩🏽‍🔬 \u200f\u2028 é e\u0301"},
	"white space":      {" \t\r\n a \n", " \t\r\n a \n"},
	"NUL":              {"a\x00b\x00", "ab"},
	"only NUL":         {"\x00", ""},
	"controls":         {"\x01\x1b[31m\x7f", "\x01\x1b[31m\x7f"},
	"not UTF-8":        {"a\xffb\xc3", "a\ufffdb\ufffd"},
	"a lone surrogate": {"a\xed\xa0\x80b", "a\ufffdb"},
	"SQL":              {`'; DROP TABLE blocks; -- $1 ? {lock}`, `'; DROP TABLE blocks; -- $1 ? {lock}`},
	"escapes":          {`\u0000 \x00 %00`, `\u0000 \x00 %00`},
}

func testText(f *fixture) {
	for name, tt := range texts {
		w := f.begin(tt.text)
		p := record.Payload{CustomPayload: schemas.CustomPayload{PayloadID: "00000030", Type: "p", Data: json.RawMessage(`"` + `\u0000\ud800` + `"`), Summary: tt.text}}
		end := f.finish(w, tt.text)
		end.Payloads, end.Finish.Message.Warnings = []record.Payload{p}, []string{"w"}
		f.commit(w, end)
		fails(f, name, errors.Join(w.Err, end.Err), nil)
		equal(f, name, f.messages(w.Begin.Run.ConversationID, false), []string{tt.want, tt.want})
		got, err := f.store.Payload(f.ctx, f.owner, w.Begin.Run.ConversationID, "00000030")
		must(f, err)
		equal(f, name+" in a payload", []string{got.Summary, string(got.Data)}, []string{tt.want, `"\u0000\ud800"`})
	}
}

func testLargeContent(f *fixture) {
	const size = 5 << 20
	text := long("Sickle cell disease. ", size)
	data := `"` + long("0123456789abcdef", size) + `"`
	w := f.begin(text, func(g *record.Begin) {
		g.Run.Request = json.RawMessage(data)
		g.UserMessage.Files = []schemas.Attachment{{Name: "n", MIME: "text/plain", Content: text}}
	})
	end := f.finish(w, text)
	end.Payloads = []record.Payload{{CustomPayload: payload("00000040", "p", data), MessageID: w.Begin.Run.MessageID}}
	end.Finish.Trace, end.Finish.Log = json.RawMessage(data), log(segment(1, 9, data))
	call := &record.Write{RunID: w.RunID, Attempt: 1, ToolCall: &record.ToolCall{Name: "t", Output: text, State: record.ToolFinished}}
	f.mustCommit(w)
	f.mustCommit(call, end)

	chat := w.Begin.Run.ConversationID
	m, err := f.store.Message(f.ctx, f.owner, chat, w.Begin.Run.MessageID)
	must(f, err)
	files, err := f.store.Files(f.ctx, f.owner, chat, w.Begin.Run.UserMessageID)
	must(f, err)
	calls, err := f.store.ToolCalls(f.ctx, w.RunID)
	must(f, err)
	trace, err := f.store.Trace(f.ctx, w.RunID)
	must(f, err)
	log, err := f.store.Segments(f.ctx, w.RunID, 0)
	must(f, err)
	run, err := f.store.Run(f.ctx, w.RunID)
	must(f, err)
	same := map[string]bool{
		"message": m.Content == text, "payload": string(m.Payloads[0].Data) == data, "file": files[0].Content == text,
		"tool output": calls[0].Output == text, "trace": string(trace) == data, "log": string(log[0].Data) == data, "request": string(run.Request) == data,
	}
	for what, ok := range same {
		if !ok {
			f.Errorf("the %s was changed by the store", what)
		}
	}
}
