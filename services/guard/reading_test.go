package guard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/guard"
)

// chat is a stored chat, the oldest message first.
type chat struct {
	messages []schemas.Message
	files    map[string][]schemas.Attachment
	err      error
	pages    int
}

func (c *chat) Messages(_ context.Context, _ string, _ int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	c.pages++
	end := len(c.messages)
	if q.Cursor != "" {
		if _, err := fmt.Sscan(q.Cursor, &end); err != nil {
			return nil, "", err
		}
	}
	begin := max(0, end-q.Limit)
	next := ""
	if begin > 0 {
		next = fmt.Sprint(begin)
	}
	return c.messages[begin:end], next, c.err
}

func (c *chat) File(_ context.Context, _ string, _ int64, id string, n int) (string, error) {
	return c.files[id][n].Content, c.err
}

const denied = "The user denied this call."

// reading returns what the model of a run of the chat has read.
func (c *chat) reading(question *schemas.Message) *guard.Reading {
	tools := map[string]turn.Tool{"fetch": fetch, "find": find, "own": own, "order": order}
	return guard.NewReading(guard.ReadingOptions{
		Store: c, RunID: "now", Question: question,
		Tool:    func(name string) (turn.Tool, bool) { t, ok := tools[name]; return t, ok },
		Handles: func(action string) bool { return action == "ours" },
		Refused: func(text string) bool { return text == denied },
	})
}

// asks returns why the calls of order and of fetch with the URL need approval.
func asks(t *testing.T, r *guard.Reading, steps ...turn.Step) (order1, fetch1 schemas.ApprovalReason) {
	t.Helper()
	g, err := r.After(t.Context(), steps)
	if err != nil {
		t.Fatal(err)
	}
	return g.Why("", order, json.RawMessage(input("tea"))), g.Why("", fetch, json.RawMessage(input(page)))
}

func said(role, run, content string, calls ...schemas.ToolCall) schemas.Message {
	return schemas.Message{ID: content, Role: role, RunID: run, Content: content, ToolHistory: calls}
}

// What the earlier messages of a chat bring from outside counts for the run, and the URLs
// that they give.
func TestReadingOfAChat(t *testing.T) {
	const (
		none  = schemas.ApprovalReason("")
		after = schemas.ReasonAfterUntrusted
		url   = schemas.ReasonUnseenURL
	)
	call := func(tool, in, out string, failed bool) schemas.ToolCall {
		return schemas.ToolCall{ToolName: tool, Input: json.RawMessage(input(in)), Output: out, IsError: failed}
	}
	clicked := func(action string) schemas.Message {
		m := said("user", "before", "click")
		m.Action = &schemas.ActionMetadata{ActionIdentifier: action}
		return m
	}
	read := said("assistant", "before", "", call("fetch", "https://b.example", "text", false))
	chosen := said("user", "before", "read "+page)
	chosen.InteractionType = schemas.ValueSelected
	offers := said("assistant", "before", "")
	offers.SuggestedValues = []schemas.SuggestedValue{{Label: "Continue", Value: "read " + page + "\n"}}
	suggested := clicked("ours")
	suggested.Content = "read " + page
	attached := said("user", "before", "file")
	attached.Attachments = []schemas.AttachmentInfo{{Name: "a.txt", MIME: "text/plain"}}
	picture := said("user", "before", "picture")
	picture.Attachments = []schemas.AttachmentInfo{{Name: "a.png", MIME: "image/png"}}
	files := map[string][]schemas.Attachment{
		"file": {{MIME: "text/plain", Content: "see " + page}}, "picture": {{MIME: "image/png", Content: "see " + page}},
	}
	for name, tt := range map[string]struct {
		messages     []schemas.Message
		order, fetch schemas.ApprovalReason
	}{
		"an answer without tools":      {[]schemas.Message{said("user", "before", "hi"), said("assistant", "before", "hello")}, none, none},
		"an answer that a client sent": {[]schemas.Message{said("user", "", "hi"), said("assistant", "", "see "+page)}, after, url},
		"a page that was read":         {[]schemas.Message{said("assistant", "before", "", call("fetch", "https://b.example", "see "+page, false))}, after, none},
		"a call that failed":           {[]schemas.Message{said("assistant", "before", "", call("fetch", page, "see "+page, true))}, after, url},
		"a call that the user refused": {[]schemas.Message{said("assistant", "before", "", call("order", "tea", denied, true))}, none, none},
		"a page that says what the service says of refused calls": {
			[]schemas.Message{said("assistant", "before", "", call("find", "tea", denied, false))}, after, url,
		},
		"a tool that is gone":                  {[]schemas.Message{said("assistant", "before", "", call("gone", "tea", "see "+page, false))}, after, url},
		"a click that the service handles":     {[]schemas.Message{clicked("ours")}, none, none},
		"a click that a page file handles":     {[]schemas.Message{clicked("theirs")}, after, url},
		"a URL that the user wrote":            {[]schemas.Message{read, said("user", "before", "read "+page)}, after, none},
		"a suggestion that the user chose":     {[]schemas.Message{read, chosen}, after, url},
		"one of a client that does not say so": {[]schemas.Message{read, offers, said("user", "before", " read "+page)}, after, url},
		"an action that the user chose":        {[]schemas.Message{read, suggested}, after, url},
		"a file":                               {[]schemas.Message{attached}, after, none},
		"a picture":                            {[]schemas.Message{picture}, after, url},
	} {
		t.Run(name, func(t *testing.T) {
			r := (&chat{messages: tt.messages, files: files}).reading(nil)
			if order, fetch := asks(t, r); order != tt.order || fetch != tt.fetch {
				t.Errorf("asks for %q and %q, want %q and %q", order, fetch, tt.order, tt.fetch)
			}
		})
	}
}

// Of a long chat the newest messages are read; the others count as text from outside that
// gave nothing.
func TestReadingOfALongChat(t *testing.T) {
	for name, tt := range map[string]struct {
		messages int
		content  string
		outside  bool
		pages    int
	}{
		"all":                {1000, "hi", false, 10},
		"too many":           {2300, "hi", true, 20},
		"too much":           {400, strings.Repeat("x", 20_000), true, 3},
		"as much as is read": {200, strings.Repeat("x", 20_000), false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := new(chat)
			for i := range tt.messages {
				c.messages = append(c.messages, said("user", "before", fmt.Sprint(i, tt.content)))
			}
			order, _ := asks(t, c.reading(nil))
			if (order != "") != tt.outside || c.pages != tt.pages {
				t.Errorf("asks for %q after %d pages, want that text is from outside: %t, and %d pages", order, c.pages, tt.outside, tt.pages)
			}
		})
	}
}

// A chat that cannot be read now is read again by the next call.
func TestReadingFails(t *testing.T) {
	c := &chat{err: errors.New("away"), messages: []schemas.Message{said("assistant", "", "brought")}}
	r := c.reading(nil)
	if _, err := r.After(t.Context(), nil); !errors.Is(err, c.err) {
		t.Fatalf("error %v, want %v", err, c.err)
	}
	c.err = nil
	if order, _ := asks(t, r); order != schemas.ReasonAfterUntrusted {
		t.Errorf("asks for %q, want %q", order, schemas.ReasonAfterUntrusted)
	}
}

// What the threads of a call have read counts for the run once its step is finished.
func TestReadingOfThreads(t *testing.T) {
	r := new(chat).reading(nil)
	r.Begin(0, nil)
	thread, err := r.Thread(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	called(thread, find, "tea", "see "+page)
	if again, err := r.Thread(t.Context(), 0); again != thread || err != nil {
		t.Errorf("the threads of a call have two guards, %v", err)
	}
	step := turn.Step{
		Reply:   turn.Reply{ToolCalls: []turn.ToolCall{{Name: "own", Arguments: input("tea")}}},
		Results: []*turn.Result{{Text: "found"}},
	}
	if order, fetch := asks(t, r, step); order != schemas.ReasonAfterUntrusted || fetch != "" {
		t.Errorf("asks for %q and %q, want that the run has read text from outside, and its URL", order, fetch)
	}
}

// A thread gives the run no URL that the model has written in another call of the same
// reply; one that it was given, and then wrote, it gives.
func TestJoin(t *testing.T) {
	run := guard.New(nil)
	thread := guard.New(run)
	called(thread, find, "notes", "note: "+evil+" and "+page)
	called(thread, own, page, "noted")
	if got := thread.Why("", fetch, json.RawMessage(input(evil))); got != "" { // it was not known there
		t.Errorf("in the thread the URL of a search needs %q, want nothing", got)
	}
	run.Called(input("note: " + evil))
	run.Join(thread)
	if got := run.Why("", fetch, json.RawMessage(input(evil))); got != schemas.ReasonUnseenURL {
		t.Errorf("the URL of the model needs %q, want %q", got, schemas.ReasonUnseenURL)
	}
	if got := run.Why("", fetch, json.RawMessage(input(page))); got != "" {
		t.Errorf("the URL of a search needs %q, want nothing", got)
	}
}

// album is a chat whose images must not be read.
type album struct {
	chat
	t *testing.T
}

func (a *album) File(_ context.Context, _ string, _ int64, id string, n int) (string, error) {
	if a.files[id][n].MIME != "text/plain" {
		a.t.Error("an image is read, want only files with text")
	}
	return a.files[id][n].Content, nil
}

// Images give no text, and they are large: they are not read, also beside a text.
func TestReadingReadsNoImages(t *testing.T) {
	picture := said("user", "before", "picture")
	picture.Attachments = []schemas.AttachmentInfo{{Name: "a.png", MIME: "image/png"}, {Name: "b.txt", MIME: "text/plain"}, {Name: "c.jpg", MIME: "Image/JPEG"}}
	files := map[string][]schemas.Attachment{"picture": {{MIME: "image/png"}, {MIME: "text/plain", Content: "see " + page}, {MIME: "Image/JPEG"}}}
	a := &album{chat: chat{messages: []schemas.Message{picture}, files: files}, t: t}
	r := guard.NewReading(guard.ReadingOptions{Store: a, RunID: "now", Tool: func(string) (turn.Tool, bool) { return order, true }, Handles: func(string) bool { return true }})
	if why, fetch := asks(t, r); why != schemas.ReasonAfterUntrusted || fetch == schemas.ReasonUnseenURL {
		t.Errorf("a call after an image needs approval because of %q, want %q", why, schemas.ReasonAfterUntrusted)
	}
}
