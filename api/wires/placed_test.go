package wires_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// overtaken is a service in which other requests change a message before the first runs
// that edit it start.
type overtaken struct {
	wires.Runs

	times int
	edits []string
	last  *schemas.ChatRequest
}

func (o *overtaken) Start(_ context.Context, _ schemas.User, req *schemas.ChatRequest, _ record.StartOptions) (schemas.Run, error) {
	o.edits, o.last = append(o.edits, req.EditMessageID+req.RegenerateMessageID), req
	if len(o.edits) <= o.times {
		return schemas.Run{}, schemas.ErrNotFound
	}
	return schemas.Run{RunID: "r"}, nil
}

func TestAPlaceThatOthersChange(t *testing.T) {
	versions := []string{"v1", "v2", "v3", "v4", "v5", "v6", "v7"}
	for _, tt := range []struct {
		name   string
		times  int
		edit   bool
		starts int
		want   error
	}{
		{"nobody", 0, true, 1, nil},
		{"two others", 2, true, 3, nil},
		{"others all the time", 99, true, 5, schemas.NewError(schemas.CodeConflict, "")},
		{"a new message", 1, false, 1, schemas.ErrNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs := &overtaken{times: tt.times}
			c := &wires.Call{
				Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody),
				Service: &wires.Service{Runs: runs, Check: func(*schemas.ChatRequest) error { return nil }},
			}
			found := 0
			_, err := c.StartPlaced(&schemas.ChatRequest{Message: "hi"}, "chat", func() (schemas.Chat, wires.Place, error) {
				found++
				if !tt.edit {
					return schemas.Chat{}, wires.Place{}, nil
				}
				return schemas.Chat{}, wires.Place{Edit: versions[found-1]}, nil
			})
			got, _ := errors.AsType[*schemas.Error](err)
			want, _ := errors.AsType[*schemas.Error](tt.want)
			if found != tt.starts || len(runs.edits) != tt.starts || (got == nil) != (want == nil) || got != nil && got.Code != want.Code {
				t.Errorf("looked %d times, started %v, %v; want %d times and %v", found, runs.edits, err, tt.starts, tt.want)
			}
			for i, id := range runs.edits {
				if tt.edit && id != versions[i] {
					t.Errorf("the message %q was edited, want the current version %q", id, versions[i])
				}
			}
		})
	}
}

// A client's edit has the files that the client sends. The same question, asked again by a
// client that may not have them, keeps those that it has.
func TestFilesOfAnEdit(t *testing.T) {
	sent := []schemas.Attachment{{Name: "a.txt", MIME: "text/plain", Content: "a"}}
	for _, tt := range []struct {
		name  string
		place wires.Place
		sent  []schemas.Attachment
		keeps bool
		want  int
	}{
		{"an edit", wires.Place{Edit: "q"}, nil, false, 0},
		{"an edit with a file", wires.Place{Edit: "q"}, sent, false, 1},
		{"the same question", wires.Place{Edit: "q", KeepsFiles: true}, nil, true, 0},
		{"the same question with a file", wires.Place{Edit: "q", KeepsFiles: true}, sent, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs := &overtaken{}
			c := &wires.Call{
				Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody),
				Service: &wires.Service{Runs: runs, Check: func(*schemas.ChatRequest) error { return nil }},
			}
			if _, err := c.StartAt(schemas.Chat{}, &schemas.ChatRequest{Message: "hi", Attachments: tt.sent}, tt.place); err != nil {
				t.Fatal(err)
			}
			if got := runs.last.Attachments; (got == nil) != tt.keeps || len(got) != tt.want {
				t.Errorf("the request has the files %v, want %d of them and nil only if the earlier ones are kept (%t)", got, tt.want, tt.keeps)
			}
		})
	}
}

// busyOnce is a service in which another process begins a run of the chat before the first
// request starts its own.
type busyOnce struct {
	wires.Runs

	asked []string
}

func (b *busyOnce) Start(_ context.Context, _ schemas.User, req *schemas.ChatRequest, _ record.StartOptions) (schemas.Run, error) {
	b.asked = append(b.asked, req.IfBusy)
	if req.IfBusy == "reject" {
		return schemas.Run{}, schemas.NewError(schemas.CodeBusy, "busy")
	}
	return schemas.Run{RunID: "mine"}, nil
}

func (b *busyOnce) Run(_ context.Context, _ schemas.User, id string) (schemas.Run, error) {
	return schemas.Run{RunID: id}, nil
}

// A chat without a live run may get one from another process before a request starts its
// run: the request follows it if it asks the same, and else does what it says.
func TestAChatThatBecomesBusy(t *testing.T) {
	for _, tt := range []struct {
		name, ifBusy string
		behind       bool
		then         wires.Place
		want         string
		asked        []string
	}{
		{"the same question", "cancel", false, wires.Place{Follow: "theirs"}, "theirs", []string{"reject"}},
		{"another question", "cancel", false, wires.Place{}, "mine", []string{"reject", "cancel"}},
		{"it waits its turn", "queue", false, wires.Place{}, "mine", []string{"reject", "queue"}},
		{"it comes after the run", "queue", true, wires.Place{}, "mine", []string{"queue"}},
		{"it is refused", "reject", false, wires.Place{}, "", []string{"reject", "reject"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runs := &busyOnce{}
			c := &wires.Call{
				Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Behind: tt.behind,
				Service: &wires.Service{Runs: runs, Check: func(*schemas.ChatRequest) error { return nil }},
			}
			found := 0
			run, err := c.StartPlaced(&schemas.ChatRequest{Message: "hi", IfBusy: tt.ifBusy}, "chat", func() (schemas.Chat, wires.Place, error) {
				if found++; found == 1 {
					return schemas.Chat{}, wires.Place{}, nil
				}
				return schemas.Chat{ActiveRunID: "theirs"}, tt.then, nil
			})
			if run.RunID != tt.want || (err == nil) != (tt.want != "") || !slices.Equal(runs.asked, tt.asked) {
				t.Errorf("the run is %q (%v), after starts with %q; want %q after %q", run.RunID, err, runs.asked, tt.want, tt.asked)
			}
		})
	}
}

// storedMeanwhile are the messages of a chat which another process gives one more after they
// were read.
type storedMeanwhile struct {
	wires.Chats

	reads int
}

func (*storedMeanwhile) ByKey(context.Context, schemas.User, string) (schemas.Chat, error) {
	return schemas.Chat{ConversationID: 1, ChatID: "chat"}, nil
}

func (s *storedMeanwhile) Get(context.Context, schemas.User, int64, record.MessageQuery) (chat schemas.Chat, _ error) {
	if s.reads++; s.reads > 1 {
		chat.Messages = []schemas.Message{{ID: "m", Role: "user", Content: "hi", RunID: "theirs"}}
	}
	return chat, nil
}

func (*storedMeanwhile) Versions(context.Context, schemas.User, int64, string) (schemas.VersionList, error) {
	return schemas.VersionList{Items: []schemas.VersionItem{{MessageID: "m", Current: true}}}, nil
}

// The same message may come to another process, which stores it while this one looks for its
// place: the request follows the run of the message.
func TestAMessageThatIsStoredMeanwhile(t *testing.T) {
	runs, chats := &answersQ1{}, new(storedMeanwhile)
	c := &wires.Call{
		Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody),
		Service: &wires.Service{Runs: runs, Chats: chats, Check: func(*schemas.ChatRequest) error { return nil }},
	}
	chat, _ := chats.ByKey(t.Context(), schemas.User{}, "chat")
	run, err := c.StartLast("chat", chat, &schemas.ChatRequest{Message: "hi", MessageID: "m"}, []wires.Message{{ID: "m", Role: "user", Text: "hi"}},
		func(chat schemas.Chat, have []schemas.Message, list []wires.Message) (wires.Place, error) {
			return wires.Find(have, list, chat.ActiveRunID), nil
		})
	if run.RunID != "theirs" || runs.started != nil || err != nil {
		t.Errorf("the message is run %q (%v), started with %+v; want the run of the message", run.RunID, err, runs.started)
	}
}

// A question is the same one if it has the same text and files of the same names and sizes.
// The padding of base64 is no part of a file.
func TestSameQuestion(t *testing.T) {
	have := schemas.Message{Content: "hi", Attachments: []schemas.AttachmentInfo{{Name: "a.txt", Size: 3}, {Name: "b.png", Size: 1}}}
	note := schemas.Attachment{Name: "a.txt", MIME: "text/plain; charset=utf-8", Content: "abc"}
	image := schemas.Attachment{Name: "b.png", MIME: "image/png", Content: "AA=="}
	larger, other := image, note
	larger.Content, other.Name = "AAA=", "c.txt"
	for _, tt := range []struct {
		name  string
		asked schemas.ChatRequest
		want  bool
	}{
		{"the same", schemas.ChatRequest{Message: "hi", Attachments: []schemas.Attachment{note, image}}, true},
		{"another text", schemas.ChatRequest{Message: "ho", Attachments: []schemas.Attachment{note, image}}, false},
		{"a file of another size", schemas.ChatRequest{Message: "hi", Attachments: []schemas.Attachment{note, larger}}, false},
		{"a file of another name", schemas.ChatRequest{Message: "hi", Attachments: []schemas.Attachment{other, image}}, false},
		{"a file less", schemas.ChatRequest{Message: "hi", Attachments: []schemas.Attachment{note}}, false},
		{"no files", schemas.ChatRequest{Message: "hi"}, false},
	} {
		if got := wires.Same(have, &tt.asked); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

// Messages that are from no run have their place too: those with which a client began the
// chat.
func TestPlaceAmongMessagesWithoutARun(t *testing.T) {
	have := []schemas.Message{
		{ID: "q1", Role: "user", Content: "one"}, {ID: "a1", Role: "assistant", Content: "1"}, {ID: "q2", Role: "user", Content: "two"},
	}
	for name, tt := range map[string]struct {
		list []wires.Message
		want wires.Place
	}{
		"a question without an answer": {
			[]wires.Message{{ID: "q2", Role: "user", Text: "two"}}, wires.Place{Edit: "q2", KeepsFiles: true},
		},
		"an answer that the chat does not have": {
			[]wires.Message{{ID: "other", Role: "assistant", Text: "?"}, {ID: "new", Role: "user", Text: "three"}}, wires.Place{},
		},
		"after the answer that the chat has": {
			[]wires.Message{{ID: "a1", Role: "assistant", Text: "1"}, {ID: "new", Role: "user", Text: "three"}}, wires.Place{Edit: "q2"},
		},
		"a question with the id of an answer": {
			[]wires.Message{{ID: "a1", Role: "user", Text: "1"}}, wires.Place{},
		},
	} {
		if got := wires.Find(have, tt.list, ""); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// A new message replaces an answer that waits, whatever the client says of busy chats. What it
// cannot say is still refused.
func TestMessageToAChatThatWaits(t *testing.T) {
	for _, tt := range []struct {
		state        schemas.RunState
		ifBusy, want string
	}{
		{schemas.RunWaiting, "", "cancel"},
		{schemas.RunWaiting, "reject", "cancel"},
		{schemas.RunWaiting, "queue", "cancel"},
		{schemas.RunWaiting, "never", "never"},
		{schemas.RunRunning, "reject", "reject"},
		{schemas.RunRunning, "", ""},
	} {
		checked, refused := "", errors.New("refused")
		c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Service: &wires.Service{
			Runs:  live{run: schemas.Run{RunID: "r", State: tt.state}},
			Check: func(req *schemas.ChatRequest) error { checked = req.IfBusy; return refused },
		}}
		_, err := c.Start(schemas.Chat{ChatID: "k", ActiveRunID: "r"}, &schemas.ChatRequest{Message: "hi", IfBusy: tt.ifBusy})
		if checked != tt.want || !errors.Is(err, refused) {
			t.Errorf("%q, while the run is %s, is checked as %q, want %q", tt.ifBusy, tt.state, checked, tt.want)
		}
	}
}
