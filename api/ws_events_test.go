package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// liveStreams are the unfinished runs of chats and documents, by their names. Nothing happens
// in them. The request that starts one comes from asked.
type liveStreams struct {
	fakeStreams
	live  map[string][]string
	asked chan schemas.ChatRequest
}

func (s liveStreams) Live(_ context.Context, _ schemas.User, chat string) ([]string, error) {
	return s.live[chat], nil
}

func (s liveStreams) LiveIn(_ context.Context, _ schemas.User, document string) ([]string, error) {
	return s.live["in "+document], nil
}

func (s liveStreams) Start(_ context.Context, _ schemas.User, req *schemas.ChatRequest, _ record.StartOptions) (schemas.Run, error) {
	s.asked <- *req
	return schemas.Run{}, schemas.NewError(schemas.CodeBusy, "busy")
}

func (liveStreams) Follow(ctx context.Context, _ schemas.User, _ string, _ int64, _ time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	return func(func([]runlog.Event, error) bool) { <-ctx.Done() }, nil
}

// chatRuns are the runs of the chat before the dash in their ids; those of "queued" wait for
// their turn.
type chatRuns struct{ fakeRuns }

func (chatRuns) Run(_ context.Context, _ schemas.User, id string) (schemas.Run, error) {
	run := schemas.Run{RunID: id, State: schemas.RunRunning}
	if run.ChatID, _, _ = strings.Cut(id, "-"); strings.HasSuffix(id, "queued") {
		run.State = schemas.RunQueued
	}
	return run, nil
}

func newLiveEnv(t *testing.T, live map[string][]string, change func(*api.Options)) (*testEnv, liveStreams, *websocket.Conn) {
	t.Helper()
	streams := liveStreams{live: live, asked: make(chan schemas.ChatRequest, 1)}
	w, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		streams.fakeStreams = fakeStreams{w}
		o.Streams, o.Runs, o.Documents = streams, chatRuns{fakeRuns{w}}, nil
		if change != nil {
			change(o)
		}
	})
	return w, streams, dialSocket(t, ts)
}

// All that a message says of its question is in the request.
func TestQuestionOfAMessage(t *testing.T) {
	const frame = `{"name":"message","message":{"content":"Go"},"chat_id":"c","model":"m","document_id":"d","block_ids":"b1,b2,b1",
		"context":{"report_id":7,"block_ids":"x","mode":"agent"},"edit_message_id":"e","conversation_history":[{"role":"user","content":"before"}],
		"attachments":[{"name":"a.txt","mime":"text/plain","content":"x"}],"client_tools":[{"name":"t","description":"T.","input_schema":{"type":"object"}}]%s}`
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	want := schemas.ChatRequest{
		Message: "Go", ChatID: "c", Model: "m", IfBusy: "queue", EditMessageID: "e",
		Context: schemas.Object{
			"report_id": raw("7"), "document_id": raw(`"d"`), "block_ids": raw(`"b1,b2"`), "mode": raw(`"chat"`), "current_page": raw(`"document"`),
		},
		ConversationHistory: []schemas.HistoryMessage{{Role: "user", Content: "before"}},
		Attachments:         []schemas.Attachment{{Name: "a.txt", MIME: "text/plain", Content: "x"}},
		ClientTools:         []schemas.ClientTool{{Name: "t", Description: "T.", InputSchema: raw(`{"type":"object"}`)}},
	}
	_, streams, conn := newLiveEnv(t, nil, nil)
	// Only the event's own members say which blocks the answer goes into, and how.
	say(t, conn, `{"name":"message","message":{"content":"Go"},"chat_id":"c","context":{"report_id":7,"block_ids":"x","mode":"agent"}}`)
	if d := cmp.Diff(schemas.Object{"report_id": raw("7")}, (<-streams.asked).Context); d != "" {
		t.Errorf("the context of a message without blocks (-want +got):\n%s", d)
	}
	hear(t, conn)
	for more, change := range map[string]func(*schemas.ChatRequest){
		"":                    func(*schemas.ChatRequest) {},
		`,"if_busy":"reject"`: func(r *schemas.ChatRequest) { r.IfBusy = "reject" },
		`,"interaction_type":"action_executed","action_metadata":{"action_identifier":"a","action_data":{"x":1}}`: func(r *schemas.ChatRequest) {
			r.InteractionType, r.ActionMetadata = "action_executed", &schemas.ActionMetadata{ActionIdentifier: "a", ActionData: raw(`{"x":1}`)}
		},
	} {
		req := want
		change(&req)
		say(t, conn, fmt.Sprintf(frame, more))
		if d := cmp.Diff(req, <-streams.asked); d != "" {
			t.Errorf("with %q (-want +got):\n%s", more, d)
		}
		if got := hear(t, conn); got.Code != schemas.CodeBusy {
			t.Errorf("with %q: the refusal is %+v", more, got)
		}
	}
}

// Stop and pause end the runs of the chat, those that wait before the one for which they wait;
// a document names those of all chats that write it.
func TestRunsThatAreInterrupted(t *testing.T) {
	live := map[string][]string{
		"c": {"c-1", "c-2-queued", "c-3-queued"}, "in d": {"x-1", "c-1", "d-1"}, "d": {"d-1"},
	}
	w, _, conn := newLiveEnv(t, live, nil)
	for _, tt := range []struct{ frame, want string }{
		{`{"name":"stop","chat_id":"c"}`, "[c-3-queued c-2-queued c-1]"},
		{`{"name":"pause","chat_id":"c"}`, "[c-1]"},
		{`{"name":"stop","chat_id":"c","document_id":"d"}`, "[c-3-queued c-2-queued c-1]"},
		{`{"name":"stop","chat_id":"other","document_id":"d"}`, "[d-1 c-1 x-1]"},
		{`{"name":"stop","document_id":"d"}`, "[c-1 x-1 d-1]"},
		{`{"name":"stop","chat_id":"other"}`, "[]"},
	} {
		w.mu.Lock()
		w.calls = nil
		w.mu.Unlock()
		say(t, conn, tt.frame)
		hear(t, conn)
		w.mu.Lock()
		if got := strings.Join(w.calls, "; "); got != "CancelAll alice "+tt.want {
			t.Errorf("%s: %s, want %s", tt.frame, got, tt.want)
		}
		w.mu.Unlock()
	}
}

// A run is resumed in its own chat only, and a number belongs to a run.
func TestResumeThatIsRefused(t *testing.T) {
	_, _, conn := newLiveEnv(t, nil, nil)
	for frame, want := range map[string]schemas.Code{
		`{"name":"resume","chat_id":"other","run_id":"c-1"}`: schemas.CodeNotFound,
		`{"name":"resume","chat_id":"c","after":7}`:          schemas.CodeInvalid,
		`{"name":"resume"}`: schemas.CodeInvalid,
	} {
		say(t, conn, frame)
		if got := hear(t, conn); got.Code != want {
			t.Errorf("%s: %+v, want %s", frame, got, want)
		}
	}
}

// A socket watches so many chats, and so many runs of a chat wait to be shown.
func TestWhatASocketWatchesIsBounded(t *testing.T) {
	_, _, conn := newLiveEnv(t, nil, nil)
	for i := range 33 {
		say(t, conn, fmt.Sprintf(`{"name":"resume","chat_id":"c%d"}`, i))
		if got := hear(t, conn); (got.Code == schemas.CodeTooManyStreams) != (i == 32) {
			t.Errorf("chat %d: %+v", i, got)
		}
	}
	say(t, conn, `{"name":"stop","chat_id":"c0"}`)
	hear(t, conn)
	for i := range 65 {
		say(t, conn, fmt.Sprintf(`{"name":"resume","id":"e%d","run_id":"many-%d"}`, i, i))
		if got := hear(t, conn); (got.Code == schemas.CodeTooManyStreams) != (i == 64) {
			t.Errorf("run %d: %+v", i, got)
		}
	}
}

// A socket that has closed watches nothing, counts no longer, and does not delay the end of the
// service.
func TestClosedSocketIsForgotten(t *testing.T) {
	sockets := ws.NewSockets(nil)
	var open, most atomic.Int64
	_, _, conn := newLiveEnv(t, nil, func(o *api.Options) {
		o.Sockets = sockets
		o.OpenStreams = func(change int) { most.Store(max(most.Load(), open.Add(int64(change)))) }
	})
	say(t, conn, `{"name":"resume","chat_id":"c"}`)
	hear(t, conn)
	if !sockets.Watches(alice.ID, "c") || most.Load() != 1 {
		t.Error("the socket watches nothing, or does not count")
	}
	_ = conn.Close(websocket.StatusNormalClosure, "")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sockets.Shutdown(ctx)
	if ctx.Err() != nil || sockets.Watches(alice.ID, "c") || open.Load() != 0 {
		t.Errorf("the end waits: %t, somebody watches: %t, %d sockets count", errors.Is(ctx.Err(), context.DeadlineExceeded), sockets.Watches(alice.ID, "c"), open.Load())
	}
}

// The messages of a socket count as requests that start runs, and nothing else does.
func TestMessagesOfASocketHaveARate(t *testing.T) {
	_, streams, conn := newLiveEnv(t, nil, func(o *api.Options) { o.Limits.RequestsPerMinute = 1 })
	const message = `{"name":"message","message":{"content":"Go"},"chat_id":"c"}`
	say(t, conn, message)
	<-streams.asked
	if got := hear(t, conn); got.Code != schemas.CodeBusy {
		t.Errorf("the first message gives %+v", got)
	}
	say(t, conn, message)
	if got := hear(t, conn); got.Code != schemas.CodeTooManyRequests {
		t.Errorf("a message beyond the rate gives %+v", got)
	}
	say(t, conn, pause)
	if got := hear(t, conn); got.Type != schemas.ChunkStatus {
		t.Errorf("an event that starts nothing gives %+v", got)
	}
}

// keyedStreams are liveStreams that pass on how a run is to be started.
type keyedStreams struct {
	liveStreams
	keys chan record.StartOptions
}

func (s keyedStreams) Start(_ context.Context, _ schemas.User, _ *schemas.ChatRequest, o record.StartOptions) (schemas.Run, error) {
	s.keys <- o
	return schemas.Run{}, schemas.NewError(schemas.CodeBusy, "busy")
}

// movingBlocks are blocks of a document that is another one each time.
type movingBlocks struct {
	fakeDocuments
	asked *atomic.Int64
}

func (b movingBlocks) Place(context.Context, schemas.User, string) (document, chat string, err error) {
	return fmt.Sprint("d", b.asked.Add(1)), "", nil
}

// A message with an id is the same one as long as all that the client says is the same,
// wherever its blocks have moved since. Without an id each is another one.
func TestMessageThatIsSentAgain(t *testing.T) {
	keys := make(chan record.StartOptions, 1)
	_, _, conn := newLiveEnv(t, nil, func(o *api.Options) {
		o.Streams = keyedStreams{o.Streams.(liveStreams), keys}
		o.Documents = movingBlocks{fakeDocuments{}, new(atomic.Int64)}
	})
	key := func(frame string) record.StartOptions {
		t.Helper()
		say(t, conn, frame)
		o := <-keys
		hear(t, conn)
		return o
	}
	first := key(`{"name":"message","id":"m","message":{"content":"Go"},"chat_id":"c","block_ids":"b"}`)
	if first.IdempotencyKey != "m" || first.BodyHash == "" {
		t.Errorf("the message has the key %q and the digest %q", first.IdempotencyKey, first.BodyHash)
	}
	if again := key(`{"id":"m","name":"message","block_ids":"b","chat_id":"c","message":{"content":"Go"}}`); again.BodyHash != first.BodyHash {
		t.Error("the same message has another digest")
	}
	for _, other := range []string{
		`{"name":"message","id":"m","message":{"content":"Stop"},"chat_id":"c","block_ids":"b"}`,
		`{"name":"message","id":"m","message":{"content":"Go"},"chat_id":"other","block_ids":"b"}`,
		`{"name":"message","id":"m","message":{"content":"Go"},"chat_id":"c","block_ids":"b","context":{"report_id":7}}`,
	} {
		if key(other).BodyHash == first.BodyHash {
			t.Errorf("%s has the digest of another message", other)
		}
	}
	if none := key(`{"name":"message","message":{"content":"Go"},"chat_id":"c"}`); none.IdempotencyKey != "" || none.BodyHash != "" {
		t.Errorf("a message without an id has the key %+v", none)
	}
}

// knownBlocks are blocks in the documents and chats that their ids name.
type knownBlocks struct{ fakeDocuments }

func (knownBlocks) Place(_ context.Context, _ schemas.User, id string) (document, chat string, err error) {
	switch {
	case strings.HasPrefix(id, "doc"):
		return id + "-document", "", nil
	case strings.HasPrefix(id, "chat"):
		return "", id + "-chat", nil
	}
	return "", "", nil
}

// An event without a place happens where its blocks are. A message stays in the chat that it
// names, and goes into the document of its blocks.
func TestEventsHappenWhereTheirBlocksAre(t *testing.T) {
	_, streams, conn := newLiveEnv(t, nil, func(o *api.Options) { o.Documents = knownBlocks{} })
	for frame, want := range map[string]string{
		`"block_ids":"doc1"`:                      "doc1-document doc1-document",
		`"block_ids":"chat1"`:                     "chat1-chat ",
		`"block_ids":"chat1,chat2"`:               "chat1-chat ",
		`"block_ids":"chat1,doc1"`:                "chat1-chat doc1-document",
		`"block_ids":"doc1","chat_id":"c"`:        "c doc1-document",
		`"block_ids":"chat1","chat_id":"c"`:       "c ",
		`"block_ids":"doc1","document_id":"d"`:    "d d",
		`"block_ids":"unknown","document_id":"d"`: "d d",
	} {
		say(t, conn, `{"name":"message","message":{"content":"Go"},`+frame+`}`)
		req := <-streams.asked
		hear(t, conn)
		if got := req.ChatID + " " + req.Context.String("document_id"); got != want {
			t.Errorf("%s: the message is in %q, want %q", frame, got, want)
		}
	}
	for frame, want := range map[string]schemas.Chunk{
		`"block_ids":"chat1"`:                   {Type: schemas.ChunkStatus, ChatID: "chat1-chat"},
		`"block_ids":"doc1"`:                    {Type: schemas.ChunkStatus, ChatID: "doc1-document"},
		`"block_ids":"doc1","chat_id":"c"`:      {Type: schemas.ChunkStatus, ChatID: "c"},
		`"block_ids":"unknown"`:                 {Type: schemas.ChunkError, Code: schemas.CodeNotFound, BlockIDs: "unknown", End: true},
		`"block_ids":"unknown","run_id":"c-1"`:  {Type: schemas.ChunkError, Code: schemas.CodeInvalid, BlockIDs: "unknown", End: true},
		`"block_ids":"unknown","chat_id":"c"`:   {Type: schemas.ChunkStatus, ChatID: "c"},
		`"block_ids":"b 1"`:                     {Type: schemas.ChunkError, Code: schemas.CodeInvalid, End: true},
		`"block_ids":"chat1","document_id":"d"`: {Type: schemas.ChunkStatus, ChatID: "d"},
	} {
		say(t, conn, `{"name":"stop",`+frame+`}`)
		got := hear(t, conn)
		got.Content = nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("stop with %s (-want +got):\n%s", frame, d)
		}
	}
}

// The answer to an event names what the event has named; stop and pause name no run. What is
// no id is not repeated.
func TestAnswersToEventsNameThem(t *testing.T) {
	_, _, conn := newLiveEnv(t, nil, nil)
	say(t, conn, `{"name":"stop","id":"e","chat_id":"c","run_id":"c-1"}`)
	hear(t, conn) // that nothing is under way
	if d := cmp.Diff(schemas.Chunk{Type: schemas.ChunkAck, EventID: "e", ChatID: "c"}, hear(t, conn)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	for frame, want := range map[string]string{`{"name":"other","id":"e"}`: "e", `{"name":"stop","id":"a b"}`: "", `{"name":"stop","id":7}`: ""} {
		say(t, conn, frame)
		if got := hear(t, conn); got.Type != schemas.ChunkError || got.EventID != want {
			t.Errorf("%s: %+v, want the event %q", frame, got, want)
		}
	}
}

// shortStreams are liveStreams whose runs end at once.
type shortStreams struct{ liveStreams }

func (shortStreams) Follow(_ context.Context, _ schemas.User, id string, _ int64, _ time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	return func(yield func([]runlog.Event, error) bool) {
		yield([]runlog.Event{{Seq: 1, Body: &runlog.Started{Run: runlog.Run{RunID: id}}}, {Seq: 2, Body: &runlog.Cancelled{}}}, nil)
	}, nil
}

func (shortStreams) Later(context.Context, schemas.User, string) ([]string, error) {
	return []string{"c-ended"}, nil
}

// Resume shows a run and then those after it that are under way.
func TestResumeShowsTheRunsAfter(t *testing.T) {
	for run, want := range map[string][]string{
		"c-1": {"c-1", "c-2", "c-3"}, "c-2": {"c-2", "c-3"}, "c-0": {"c-0", "c-1", "c-2", "c-3"},
	} {
		_, _, conn := newLiveEnv(t, map[string][]string{"c": {"c-1", "c-2", "c-3"}}, func(o *api.Options) {
			o.Streams = shortStreams{o.Streams.(liveStreams)}
		})
		say(t, conn, `{"name":"resume","run_id":"`+run+`"}`)
		var got []string
		for len(got) < len(want) {
			if c := hear(t, conn); c.Type == schemas.ChunkRunEnd {
				got = append(got, c.RunID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("resume of %s shows %v, want %v", run, got, want)
		}
	}
}

// A document names the runs that write it, whatever their chats are: resume watches those
// chats, and stop no longer does.
func TestRunsOfADocumentAreResumed(t *testing.T) {
	for frame, want := range map[string][]string{
		`{"name":"resume","document_id":"d"}`:                   {"c-1", "d-1", "x-1"},
		`{"name":"resume","chat_id":"other","document_id":"d"}`: {"c-1", "d-1", "x-1"},
		`{"name":"resume","chat_id":"c","document_id":"d"}`:     {"c-1", "c-2"},
		`{"name":"resume","run_id":"c-1","document_id":"d"}`:    {"c-1", "c-2"},
	} {
		live := map[string][]string{"c": {"c-1", "c-2"}, "in d": {"x-1", "c-1", "d-1"}, "d": {"d-1"}}
		sockets := ws.NewSockets(nil)
		_, _, conn := newLiveEnv(t, live, func(o *api.Options) {
			o.Sockets, o.Streams = sockets, shortStreams{o.Streams.(liveStreams)}
		})
		say(t, conn, frame)
		var got []string
		for len(got) < len(want) {
			switch c := hear(t, conn); c.Type {
			case schemas.ChunkRunEnd:
				got = append(got, c.RunID)
			case schemas.ChunkError:
				t.Fatalf("%s: %+v", frame, c)
			case schemas.ChunkStatus:
				if c.RunID == "" {
					t.Fatalf("%s: %s", frame, *c.Content)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s shows %v, want %v", frame, got, want)
		}
		if slices.Contains(want, "x-1") {
			if !sockets.Watches(alice.ID, "x") {
				t.Errorf("after %s the socket does not watch the chat x", frame)
			}
			say(t, conn, `{"name":"stop","document_id":"d","id":"e"}`)
			for c := hear(t, conn); c.Type != schemas.ChunkAck; c = hear(t, conn) {
			}
			for _, chat := range []string{"c", "d", "x"} {
				if sockets.Watches(alice.ID, chat) {
					t.Errorf("after %s and stop the socket watches the chat %s", frame, chat)
				}
			}
		}
	}
}

// failingStreams start no run: the store fails once during has returned.
type failingStreams struct {
	fakeStreams
	during func(ctx context.Context)
}

func (s failingStreams) Start(ctx context.Context, _ schemas.User, _ *schemas.ChatRequest, _ record.StartOptions) (schemas.Run, error) {
	s.during(ctx)
	return schemas.Run{}, errors.New("store: run: the statement was broken off")
}

// An event that fails is an error in the log, but not when its socket has ended: then its
// work was broken off.
func TestFailedEventsInTheLog(t *testing.T) {
	for _, ended := range []bool{false, true} {
		t.Run(fmt.Sprintf("ended %t", ended), func(t *testing.T) {
			var log bytes.Buffer
			socket, end := context.WithCancel(t.Context())
			defer end()
			during := func(ctx context.Context) {
				if ended {
					end()
					<-ctx.Done()
				}
			}
			_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
				o.Streams, o.Log = failingStreams{fakeStreams{w}, during}, slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelError}))
			})
			over := make(chan struct{})
			served := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				defer close(over)
				ts.Config.Handler.ServeHTTP(rw, r.WithContext(socket))
			}))
			defer served.Close()
			conn := dialSocket(t, served)
			if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"name":"message","id":"e","message":{"content":"Go"},"chat_id":"c"}`)); err != nil {
				t.Fatal(err)
			}
			if !ended {
				if _, _, err := conn.Read(t.Context()); err != nil {
					t.Fatal(err)
				}
				end()
			}
			<-over
			if logged := strings.Contains(log.String(), "the statement was broken off"); logged == ended {
				t.Errorf("logged: %t, want %t: %s", logged, !ended, log.String())
			}
		})
	}
}
