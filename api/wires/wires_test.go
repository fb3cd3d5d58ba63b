package wires_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func TestIDsOfCalls(t *testing.T) {
	const run = "019ac0de-0000-7000-8000-000000000001"
	for _, index := range []int{0, 7, 999} {
		id := wires.CallID(run, index)
		if got, n, ok := wires.ParseCall(id); got != run || n != index || !ok || len(id) > 40 {
			t.Errorf("%q is call %d of %q (%v), want %d of %q in 40 characters", id, n, got, ok, index, run)
		}
	}
	for _, id := range []string{"", "toolu_1", run, run + "-", run + "-01", run + "-x", "a b-1", "-1"} {
		if got, n, ok := wires.ParseCall(id); ok {
			t.Errorf("%q is call %d of %q, want none", id, n, got)
		}
	}
}

func TestChatKeys(t *testing.T) {
	if got := wires.ChatKey("my-own_key"); got != "my-own_key" {
		t.Errorf("a valid chat_id becomes %q, want it unchanged", got)
	}
	for _, thread := range []string{"a/b", "", "ü", strings.Repeat("a", 65)} {
		if got := wires.ChatKey(thread); len(got) != 42 || !strings.HasPrefix(got, "w-") || got == wires.ChatKey(thread+"x") {
			t.Errorf("%q becomes %q, want w- and 40 digits that no other thread has", thread, got)
		}
	}
}

// taken is a service in which ids are in use.
type taken struct {
	wires.Runs

	ids  []string
	asks []string
}

func (s *taken) Start(_ context.Context, _ schemas.User, req *schemas.ChatRequest, _ record.StartOptions) (schemas.Run, error) {
	s.asks = append(s.asks, req.MessageID)
	if slices.Contains(s.ids, req.MessageID) {
		return schemas.Run{}, schemas.ErrTaken
	}
	return schemas.Run{UserMessageID: req.MessageID}, nil
}

// A message has its client's id, or one that is made from it and the chat's.
func TestIDsOfMessages(t *testing.T) {
	key := func(id string) string { return wires.MessageKey("k", id) }
	if a, b, c := key("1"), key("2"), wires.MessageKey("l", "1"); len(a) != 42 || a == b || a == c {
		t.Errorf("the messages 1 and 2, and 1 of another chat, have the ids %s, %s and %s; want three of 42 characters", a, b, c)
	}
	for _, tt := range []struct {
		name, id string
		taken    []string
		want     []string
		err      error
	}{
		{"free", "1", nil, []string{"1"}, nil},
		{"of another chat", "1", []string{"1"}, []string{"1", key("1")}, nil},
		{"of this chat too", "1", []string{"1", key("1")}, []string{"1", key("1")}, schemas.ErrTaken},
		{"not valid", "a.b", nil, []string{key("a.b")}, nil},
		{"none", "", nil, []string{""}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs := &taken{ids: tt.taken}
			c := &wires.Call{
				Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody),
				Service: &wires.Service{Runs: runs, Check: func(*schemas.ChatRequest) error { return nil }},
			}
			_, err := c.Start(schemas.Chat{ChatID: "k"}, &schemas.ChatRequest{Message: "hi", MessageID: tt.id})
			if !errors.Is(err, tt.err) || !slices.Equal(runs.asks, tt.want) {
				t.Errorf("got the ids %q and %v, want %q and %v", runs.asks, err, tt.want, tt.err)
			}
		})
	}
}

// chat has two questions with answers, a third one whose run is live, and a message that
// waits in the queue.
var chat = []schemas.Message{
	{ID: "u1", Role: "user", Content: "one", RunID: "r1"},
	{ID: "a1", Role: "assistant", Content: "eins", RunID: "r1"},
	{ID: "u2", Role: "user", Content: "two", RunID: "r2"},
	{ID: "a2", Role: "assistant", Content: "zwei", RunID: "r2"},
	{ID: "u3", Role: "user", Content: "three", RunID: "r3"},
}

func messages(list string) []wires.Message {
	var found []wires.Message
	for m := range strings.SplitSeq(list, " ") {
		id, text, _ := strings.Cut(m, ":")
		role := "user"
		if id[0] != 'u' {
			role = "assistant"
		}
		found = append(found, wires.Message{ID: id, Role: role, Text: text})
	}
	return found
}

func TestPlaceOfAMessage(t *testing.T) {
	for _, tt := range []struct {
		name, list string
		want       wires.Place
	}{
		{"after the last one", "u1 a1 u2 a2 u3 u4:four", wires.Place{}},
		{"alone", "u4:four", wires.Place{}},
		{"after an answer that is not the last", "u1 a1 u4:four", wires.Place{Edit: "u2"}},
		{"after an answer under an id of its run", "r1-part u4:four", wires.Place{Edit: "u2"}},
		{"an unknown answer between", "u1 a1 u2 a9 u4:four", wires.Place{Edit: "u3"}},
		{"known, unchanged, answered", "u1 a1 u2:two", wires.Place{Regenerate: "a2"}},
		{"known, unchanged, under way", "u3:three", wires.Place{Follow: "r3"}},
		{"known, changed", "u1:other", wires.Place{Edit: "u1"}},
		{"an answer's id is no question's", "u1 a1 u2 a2 ua1:x", wires.Place{Edit: "u3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := wires.Find(chat, messages(tt.list), "r3"); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	if got := wires.Find(chat, messages("u3:three"), "r9"); got != (wires.Place{Edit: "u3", KeepsFiles: true}) {
		t.Errorf("a question without an answer gives %+v, want it asked again", got)
	}
}

func TestPlaceOfAnEdit(t *testing.T) {
	have := slices.Clone(chat)
	have[3].Status = schemas.MessageComplete
	have[2].Attachments = []schemas.AttachmentInfo{{Name: "a.txt"}}
	key := wires.MessageKey("k", "1")
	have = append(have, schemas.Message{ID: key, Role: "user", Content: "four"}, schemas.Message{ID: "a4", Role: "assistant", RunID: "r4", Status: schemas.MessageComplete})
	ask := func(text string, files ...string) *schemas.ChatRequest {
		req := &schemas.ChatRequest{Message: text}
		for _, name := range files {
			req.Attachments = append(req.Attachments, schemas.Attachment{Name: name})
		}
		return req
	}
	for _, tt := range []struct {
		name, id, current string
		req               *schemas.ChatRequest
		want              wires.Place
	}{
		{"of a current message", "u2", "u2", ask("two", "a.txt"), wires.Place{Edit: "u2"}},
		{"of a current message whose id is made from the client's", "1", key, ask("four"), wires.Place{Edit: key}},
		{"the same again", "old", "u2", ask("two", "a.txt"), wires.Place{Follow: "r2"}},
		{"the same again while its run is live", "old", "u3", ask("three"), wires.Place{Follow: "r3"}},
		{"another text", "old", "u2", ask("zwei", "a.txt"), wires.Place{Edit: "u2"}},
		{"other files", "old", "u2", ask("two", "b.txt"), wires.Place{Edit: "u2"}},
		{"the same again after it failed", "old", "u1", ask("one"), wires.Place{Edit: "u1"}},
		{"of a message that is too old to be loaded", "old", "u0", ask("zero"), wires.Place{Edit: "u0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := wires.Edited(schemas.Chat{ChatID: "k", ActiveRunID: "r3"}, have, tt.id, tt.current, tt.req); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	if got := wires.Edited(schemas.Chat{ChatID: "k", ActiveRunID: "r9"}, have, "old", "u3", ask("three")); got != (wires.Place{Edit: "u3", KeepsFiles: true}) {
		t.Errorf("the same again before its run has its turn gives %+v, want the question without an answer", got)
	}
}

func TestPointersOfTheClientsBody(t *testing.T) {
	for from, want := range map[string]string{
		"/message": "/list/7/text", "/message_id": "/list/7/text", "/attachments": "/list/7/text", "/conversation_history/0/content": "/list", "/attachments/1/mime": "/f1", "/attachments/7/mime": "/attachments/7/mime", "/model": "/model",
	} {
		got := schemas.Visible(wires.Pointed(schemas.Invalid(from, "is wrong"), "/list/7/text", []string{"/f0", "/f1"}))
		if len(got.Fields) != 1 || got.Fields[0].Pointer != want {
			t.Errorf("an error at %s is at %+v, want %s", from, got.Fields, want)
		}
	}
}

func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		name, address, media string
		want                 schemas.Attachment
	}{
		{"text in base64", "data:text/plain;base64,SGVsbG8=", "", schemas.Attachment{Name: "file-3", MIME: "text/plain", Content: "Hello"}},
		{"text", "data:text/csv,a%2Cb", "", schemas.Attachment{Name: "file-3", MIME: "text/csv", Content: "a,b"}},
		{"base64 without padding", "data:text/plain;base64,SGVsbG8", "", schemas.Attachment{Name: "file-3", MIME: "text/plain", Content: "Hello"}},
		{"in capitals", "DATA:text/plain;BASE64,SGVsbG8=", "", schemas.Attachment{Name: "file-3", MIME: "text/plain", Content: "Hello"}},
		{"without a type", "data:,a", "", schemas.Attachment{Name: "file-3", MIME: "text/plain", Content: "a"}},
		{"the part's type counts", "data:;base64,AQI=", "image/png", schemas.Attachment{Name: "file-3", MIME: "image/png", Content: "AQI="}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wires.File(tt.address, tt.media, "", 3, "/x")
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	for _, address := range []string{"https://example.org/a.png", "", "data:", "data:text/plain;base64,?", "data:text/plain,%ff", "data:text/plain,%zz"} {
		if got, err := wires.File(address, "", "", 1, "/x"); err == nil {
			t.Errorf("%q gives %+v, want an error", address, got)
		}
	}
}

func TestTheBodyOverridesDefaults(t *testing.T) {
	req := &schemas.ChatRequest{Context: schemas.Object{"active_tab": schemas.Encode("mine")}, Model: "m"}
	wires.Defaults(req, url.Values{"page": {"reports"}, "tab": {"other"}, "model": {"n"}, "if_busy": {"queue"}})
	want := &schemas.ChatRequest{
		Context: schemas.Object{"active_tab": schemas.Encode("mine"), "current_page": schemas.Encode("reports")}, Model: "m", IfBusy: "queue",
	}
	if diff := cmp.Diff(want, req); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBodiesThatAreRefused(t *testing.T) {
	for body, want := range map[string]string{
		"": "the body is empty", "no JSON": "not valid JSON: byte 2 is not expected", `{"id":"a"`: "ends within its JSON value", `{} {}`: "something after the end", `{"id":1.5}`: "does not have the shape", `[]`: "must not be an array",
		"{\"id\":\"\xff\"}": "UTF-8", `{"id":"\u0000"}`: "NUL",
	} {
		c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Body: []byte(body)}
		var v struct {
			ID string `json:"id"`
		}
		if err := c.Decode(&v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want an error with %q", body, err, want)
		}
	}
}

func TestHistoryKeepsTheNewest(t *testing.T) {
	list := make([]wires.Message, 300)
	for i := range list {
		list[i] = wires.Message{Role: "user", Text: "x"}
	}
	list[299] = wires.Message{Role: "assistant", Text: "last"}
	list[298] = wires.Message{Role: "assistant", Text: "  "}
	got := wires.History(list)
	if len(got) != 200 || got[199].Content != "last" || got[198].Role != "user" {
		t.Errorf("got %d messages that end with %+v, want the newest 200 with text", len(got), got[len(got)-1])
	}
}

func TestItemsOfABodyAreBounded(t *testing.T) {
	many := func(unit, before, after string) string {
		return before + strings.Repeat(unit+",", 100_000) + unit + after
	}
	for _, tt := range []struct {
		name, body string
		want       schemas.Code
	}{
		{"the character NUL", `{"text":"a\u0000b"}`, schemas.CodeBadRequest},
		{"NUL after a backslash", `{"text":"a\\\u0000b"}`, schemas.CodeBadRequest},
		{"a text about NUL", `{"text":"a\\u0000b"}`, ""},
		{"many messages", many(`{}`, `{"messages":[`, `]}`), schemas.CodeInvalid},
		{"many parts", many(`1`, `{"messages":[{"parts":[`, `]}]}`), schemas.CodeInvalid},
		{"many parts of many messages", many(`{"parts":[1,2]}`, `{"messages":[`, `]}`), schemas.CodeInvalid},
		{"many brackets in a text", `{"text":"` + many(`[\",\"]`, "[", `"}`), ""},
		{"many numbers in the output of a tool", many(`1`, `{"messages":[{"parts":[{"output":[`, `]}]}]}`), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var v struct{ Messages []struct{ Parts []any } }
			err := (&wires.Call{Body: []byte(tt.body)}).Decode(&v)
			got := schemas.Code("")
			if seen, ok := errors.AsType[*schemas.Error](err); ok {
				got = seen.Code
			}
			if got != tt.want {
				t.Errorf("the body gives %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func TestTheContextIsBounded(t *testing.T) {
	checked := errors.New("checked")
	c := &wires.Call{Service: &wires.Service{Check: func(*schemas.ChatRequest) error { return checked }}}
	start := func(size int) error {
		_, err := c.Start(schemas.Chat{}, &schemas.ChatRequest{Context: schemas.Object{"a": schemas.Encode(strings.Repeat("x", size))}})
		return err
	}
	if err := start(1<<20 - 100); !errors.Is(err, checked) {
		t.Errorf("a context of less than 1 MiB gives %v, want it to be checked", err)
	}
	e, ok := errors.AsType[*schemas.Error](start(1 << 20))
	if !ok || e.Code != schemas.CodeInvalid || len(e.Fields) != 1 || e.Fields[0].Pointer != "/context" {
		t.Errorf("a context of more than 1 MiB gives %v, want an error at /context", e)
	}
}
