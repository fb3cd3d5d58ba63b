package wires_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// System messages are instructions up to a limit, unless the context has its own.
func TestInstructions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		texts   []string
		context schemas.Object
		want    string
		refused bool
	}{
		{"none", nil, nil, "", false},
		{"two", []string{"Be brief.", "Be kind."}, nil, "Be brief.\nBe kind.", false},
		{"the context's own", []string{"Be brief."}, schemas.Object{"instructions": []byte(`"Be long."`)}, "Be long.", false},
		{"as long as may be", []string{strings.Repeat("ü", 16_000)}, nil, strings.Repeat("ü", 16_000), false},
		{"longer", []string{strings.Repeat("ü", 16_001)}, nil, "", true},
	} {
		req := &schemas.ChatRequest{Context: tt.context}
		err := wires.Instruct(req, tt.texts, "/messages")
		if got := req.Context.String("instructions"); got != tt.want || (err != nil) != tt.refused {
			t.Errorf("%s: %d characters (%v), want %d", tt.name, len([]rune(got)), err, len([]rune(tt.want)))
		}
		want := schemas.FieldError{Pointer: "/messages", Detail: "must have at most 16000 characters of system messages and instructions together"}
		if tt.refused && !slices.Equal(schemas.Visible(err).Fields, []schemas.FieldError{want}) {
			t.Errorf("%s: %v is refused, want %v", tt.name, schemas.Visible(err).Fields, want)
		}
	}
}

// knownKey is a service in which a key has begun a run; asked are the bodies of its requests.
type knownKey struct {
	wires.Runs

	asked []string
}

func (*knownKey) ByKey(context.Context, schemas.User, string) (schemas.Run, error) {
	return schemas.Run{RunID: "r"}, nil
}

func (k *knownKey) Start(_ context.Context, _ schemas.User, _ *schemas.ChatRequest, o record.StartOptions) (schemas.Run, error) {
	k.asked = append(k.asked, o.BodyHash)
	return schemas.Run{RunID: "r"}, nil
}

// With a key of the client, the same request has the same body. With one that the wire makes, it
// has what the wire says instead.
func TestKeysCoverTheBody(t *testing.T) {
	runs := &knownKey{}
	for _, tt := range []struct{ header, key, body, keyBody string }{
		{"k", "", "a", ""}, {"k", "w", "a", "x"}, {"k", "", "b", ""}, {"", "w", "a", "x"}, {"", "w", "b", "x"}, {"", "w", "b", "y"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
		r.Header.Set("Idempotency-Key", tt.header)
		c := &wires.Call{Request: r, Body: []byte(tt.body), Key: tt.key, KeyBody: tt.keyBody, Service: &wires.Service{Runs: runs}}
		if _, err := c.Once(func() (schemas.Run, error) { return schemas.Run{}, errors.New("begun again") }); err != nil {
			t.Fatal(err)
		}
	}
	h := runs.asked
	if h[0] != h[1] || h[3] != h[4] || h[0] == h[2] || h[0] == h[3] || h[3] == h[5] || h[0] == "" {
		t.Errorf("the bodies are known as %q", h)
	}
}

// pagedChats is a chat whose messages are read in pages, the newest first.
type pagedChats struct {
	wires.Chats

	pages map[string]schemas.Chat
}

func (p pagedChats) Get(_ context.Context, _ schemas.User, _ int64, q record.MessageQuery) (schemas.Chat, error) {
	return p.pages[q.Cursor], nil
}

func TestCurrentKeepsTheOrder(t *testing.T) {
	page := func(next string, ids ...string) (c schemas.Chat) {
		c.NextCursor = next
		for _, id := range ids {
			c.Messages = append(c.Messages, schemas.Message{ID: id})
		}
		return c
	}
	s := &wires.Service{Chats: pagedChats{pages: map[string]schemas.Chat{"": page("b", "5", "6"), "b": page("a", "3", "4"), "a": page("", "1", "2")}}}
	have, err := s.Current(t.Context(), schemas.User{ID: "u"}, schemas.Chat{ConversationID: 1})
	ids := ""
	for i := range have {
		ids += have[i].ID
	}
	if ids != "123456" || err != nil {
		t.Errorf("the messages are %s (%v), want them in order", ids, err)
	}
	again, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Current(again, schemas.User{ID: "u"}, schemas.Chat{ConversationID: 1}); err != nil {
		t.Errorf("a second reading: %v", err)
	}
}

// An answer is one to a call of its kind, of the chat's newest run.
func TestAnswersThatAnswerNothing(t *testing.T) {
	basel := json.RawMessage(`"Basel"`)
	for _, tt := range []struct {
		name   string
		answer []record.CallAnswer
		state  schemas.RunState
		latest string
		want   schemas.Code
	}{
		{"a result for an approval", []record.CallAnswer{{Index: 0, Output: basel}}, schemas.RunWaiting, "r", schemas.CodeNotFound},
		{"an approval for a tool of the page", []record.CallAnswer{{Index: 1, Approved: new(bool)}}, schemas.RunWaiting, "r", schemas.CodeNotFound},
		{"an unknown call", []record.CallAnswer{{Index: 7, Output: basel}}, schemas.RunWaiting, "r", schemas.CodeNotFound},
		{"none", nil, schemas.RunWaiting, "r", schemas.CodeNotFound},
		{"the same answer again", []record.CallAnswer{{Index: 1, Output: basel}}, schemas.RunWaiting, "r", ""},
		{"the same after the chat has gone on", []record.CallAnswer{{Index: 1, Output: basel}}, schemas.RunWaiting, "other", schemas.CodeConflict},
		{"the same in a chat without that run", []record.CallAnswer{{Index: 1, Output: basel}}, schemas.RunCompleted, "", schemas.CodeConflict},
		{"the first one, of a run that has ended", []record.CallAnswer{{Index: 0, Approved: new(bool)}}, schemas.RunCancelled, "r", ""},
		{"the first one, after the chat has gone on", []record.CallAnswer{{Index: 0, Approved: new(bool)}}, schemas.RunCancelled, "other", schemas.CodeConflict},
	} {
		runs := twoWaits()
		runs.list[1].Answer, runs.list[1].AnsweredAt, runs.outputs[1] = schemas.WaitResult, new(time.UnixMilli(5)), string(basel)
		_, err := (&wires.Service{Runs: runs}).Answers(t.Context(), schemas.User{}, schemas.Run{RunID: "r", State: tt.state}, func() (string, error) { return tt.latest, nil }, tt.answer, func(int) string { return "" })
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || schemas.Visible(err).Code != tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// refusing does not take any answer.
type refusing struct {
	*answering
	err error
}

func (r refusing) Answer(_ context.Context, _ schemas.User, _ string, answers []record.CallAnswer) ([]error, error) {
	return slices.Repeat([]error{r.err}, len(answers)), nil
}

// An answer that a call cannot have is refused, unless the call has one already: the client
// may only send it again.
func TestAnswersThatCallsDoNotTake(t *testing.T) {
	invalid := schemas.Invalid("/output", "is too long")
	for _, tt := range []struct {
		name  string
		err   error
		index int
		given wires.Given
		want  string // the pointer of the error
	}{
		{"waits, invalid", invalid, 0, wires.Given{}, "/here/0"},
		{"waits, has another answer by now", schemas.NewError(schemas.CodeConflict, ""), 0, wires.Given{Calls: map[int]bool{0: true}, Differ: map[int]bool{0: true}}, ""},
		{"has an answer, invalid", invalid, 1, wires.Given{Calls: map[int]bool{1: true}, Again: map[int]bool{1: true}, Differ: map[int]bool{1: true}}, ""},
	} {
		runs := twoWaits()
		runs.list[1].Kind, runs.list[1].Answer, runs.list[1].AnsweredAt = schemas.WaitApproval, schemas.WaitApproved, new(time.UnixMilli(5))
		given, err := (&wires.Service{Runs: refusing{runs, tt.err}}).Answers(t.Context(), schemas.User{}, schemas.Run{RunID: "r", State: schemas.RunWaiting},
			func() (string, error) { return "r", nil }, []record.CallAnswer{{Index: tt.index, Approved: new(bool)}}, func(index int) string { return "/here/" + strconv.Itoa(index) })
		pointer := ""
		if err != nil {
			pointer = schemas.Visible(err).Fields[0].Pointer
		}
		if d := cmp.Diff(tt.given, given); pointer != tt.want || d != "" {
			t.Errorf("%s: %v at %q, want %q (-want +got):\n%s", tt.name, err, pointer, tt.want, d)
		}
	}
	// Of several answers only those to calls that wait count, if there are any.
	runs := twoWaits()
	runs.list[1].Answer, runs.list[1].AnsweredAt, runs.outputs[1] = schemas.WaitResult, new(time.UnixMilli(5)), `"Basel"`
	given, err := (&wires.Service{Runs: runs}).Answers(t.Context(), schemas.User{}, schemas.Run{RunID: "r", State: schemas.RunWaiting}, nil,
		[]record.CallAnswer{{Index: 1, Output: json.RawMessage(`"Basel"`)}, {Index: 0, Approved: new(bool)}}, func(int) string { return "" })
	if d := cmp.Diff(wires.Given{Calls: map[int]bool{0: true}}, given); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
