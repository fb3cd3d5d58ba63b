package api_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// foundRuns are runs of one chat that a look finds before the request that has started
// them is told: Start returns when a value comes from told.
type foundRuns struct {
	fakeStreams
	told    chan struct{}
	sockets *ws.Sockets

	mu   sync.Mutex
	list []record.Started
}

func (r *foundRuns) LastPlace(context.Context, string, string) (int64, error) { return 0, nil }

func (r *foundRuns) StartedAfter(_ context.Context, chats []record.ChatPlace) ([]record.Started, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.list), func(s record.Started) bool { return s.Place <= chats[0].Place }), nil
}

func (r *foundRuns) Start(ctx context.Context, user schemas.User, req *schemas.ChatRequest, _ record.StartOptions) (schemas.Run, error) {
	r.mu.Lock()
	place := int64(len(r.list) + 1)
	id := fmt.Sprint("run-", place)
	r.list = append(r.list, record.Started{RunID: id, ChatPlace: record.ChatPlace{Owner: user.ID, Chat: req.ChatID, Place: place}})
	r.mu.Unlock()
	err := r.sockets.LookForStarts(ctx)
	<-r.told
	return schemas.Run{RunID: id, ChatID: req.ChatID, Begun: true}, err
}

func (*foundRuns) Follow(_ context.Context, _ schemas.User, id string, _ int64, _ time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	return func(yield func([]runlog.Event, error) bool) {
		yield([]runlog.Event{
			{Seq: 1, Body: &runlog.Started{Run: runlog.Run{RunID: id, ChatID: "c"}}},
			{Seq: 2, Body: &runlog.Cancelled{}},
		}, nil)
	}, nil
}

// A run that is found among those of all processes, and ends, before its start is told is
// shown once.
func TestRunFoundBeforeItsStartIsToldIsShownOnce(t *testing.T) {
	runs := &foundRuns{told: make(chan struct{})}
	_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		runs.fakeStreams, runs.sockets = fakeStreams{w}, ws.NewSockets(runs)
		o.Streams, o.Sockets = runs, runs.sockets
	})
	watcher, asking := dialSocket(t, ts), dialSocket(t, ts)
	say(t, watcher, `{"name":"resume","chat_id":"c"}`)
	hear(t, watcher)
	var got []string
	for range 3 {
		say(t, asking, `{"name":"message","message":{"content":"Go"},"chat_id":"c"}`)
		c := hear(t, watcher)
		for c.Type != schemas.ChunkRunEnd {
			c = hear(t, watcher)
		}
		got = append(got, c.RunID)
		runs.told <- struct{}{}
	}
	if want := []string{"run-1", "run-2", "run-3"}; !slices.Equal(got, want) {
		t.Errorf("the socket shows %v, want %v", got, want)
	}
}
