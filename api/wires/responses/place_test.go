package responses_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/responses"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// waiting is a chat whose run "first" is live, and in which "second" was asked.
type waiting struct {
	wires.Runs

	second schemas.RunState
}

func (w waiting) Run(_ context.Context, _ schemas.User, id string) (schemas.Run, error) {
	return schemas.Run{RunID: id, ConversationID: 7, State: map[string]schemas.RunState{"first": schemas.RunRunning, "second": w.second}[id]}, nil
}

// chats has the chat.
type chats struct{ wires.Chats }

func (chats) ByKey(context.Context, schemas.User, string) (schemas.Chat, error) {
	return schemas.Chat{ConversationID: 7, ActiveRunID: "first"}, nil
}

func (chats) Get(context.Context, schemas.User, int64, record.MessageQuery) (schemas.Chat, error) {
	return schemas.Chat{ConversationID: 7, ActiveRunID: "first", Messages: []schemas.Message{
		{ID: "q1", Role: "user", Content: "one", RunID: "first"}, {ID: "q2", Role: "user", Content: "two", RunID: "second"},
	}}, nil
}

// TestPlaceBehindAnAnswer sends answers to calls with a message again, while the answer
// that goes on with them is written: the message is asked once, and edits no other.
func TestPlaceBehindAnAnswer(t *testing.T) {
	for _, tt := range []struct {
		name, previous, conversation, message string
		second                                schemas.RunState
		want                                  wires.Place
	}{
		{"the same message after an answer", "first", "", "two", schemas.RunQueued, wires.Place{Follow: "second"}},
		{"the same message in a conversation", "", "c", "two", schemas.RunQueued, wires.Place{Follow: "second"}},
		{"another message after an answer", "first", "", "three", schemas.RunQueued, wires.Place{Edit: "q2"}},
		{"another message in a conversation", "", "c", "three", schemas.RunQueued, wires.Place{}},
		{"a message that was answered", "", "c", "two", schemas.RunCompleted, wires.Place{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Behind: true, Service: &wires.Service{Runs: waiting{second: tt.second}, Chats: chats{}}}
			got, err := responses.Place(c, tt.previous, tt.conversation, &schemas.ChatRequest{Message: tt.message})
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
		})
	}
}

func TestDeleteNamesWhatIsAllowed(t *testing.T) {
	routes := responses.Wire().Routes
	at := slices.IndexFunc(routes, func(r wires.Route) bool { return r.Method == http.MethodDelete })
	w := httptest.NewRecorder()
	id := func(string) string { return "resp_" + strings.Repeat("0", 32) + "_0" }
	err := routes[at].Handle(&wires.Call{Request: httptest.NewRequest(http.MethodDelete, "/", http.NoBody), Response: w, Param: id, Service: &wires.Service{Runs: waiting{}}})
	if seen, ok := errors.AsType[*schemas.Error](err); !ok || seen.Code != schemas.CodeMethodNotAllowed || w.Header().Get("Allow") != "OPTIONS, GET" {
		t.Errorf("got %v, Allow %q", err, w.Header().Get("Allow"))
	}
}
