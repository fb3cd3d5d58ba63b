package api_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// endedRuns are runs that have ended, each in a chat of its own. A reader is
// recorded in opened, and gets the only event after a value from next.
type endedRuns struct {
	fakeStreams
	opened chan string
	next   chan struct{}
}

func (endedRuns) LiveIn(context.Context, schemas.User, string) ([]string, error) { return nil, nil }

func (endedRuns) Live(context.Context, schemas.User, string) ([]string, error) { return nil, nil }

func (r endedRuns) Follow(ctx context.Context, _ schemas.User, id string, after int64, _ time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	if after > 0 {
		return nil, runlog.ErrEnded
	}
	return func(yield func([]runlog.Event, error) bool) {
		r.opened <- id
		select {
		case <-r.next:
			yield([]runlog.Event{{Seq: 1, Body: &runlog.Cancelled{}}}, nil)
		case <-ctx.Done():
		}
	}, nil
}

// runsOfChats has every run in the chat of the same name.
type runsOfChats struct{ fakeRuns }

func (runsOfChats) Run(_ context.Context, _ schemas.User, id string) (schemas.Run, error) {
	return schemas.Run{RunID: id, ChatID: id, State: schemas.RunCancelled}, nil
}

// A socket shows one past run at a time, however many chats it watches: so a
// client that does not read holds only one replay per socket.
func TestSocketShowsOnePastRunAtATime(t *testing.T) {
	streams := endedRuns{opened: make(chan string, 8), next: make(chan struct{})}
	_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		streams.fakeStreams = fakeStreams{w}
		o.Streams, o.Runs = streams, runsOfChats{fakeRuns{w}}
	})
	chats := []string{"c1", "c2", "c3"}
	first := dialSocket(t, ts)
	for _, chat := range chats {
		say(t, first, `{"name":"resume","run_id":"`+chat+`"}`)
	}
	var shown []string
	for range chats {
		shown = append(shown, <-streams.opened)
		// The socket works meanwhile, and shows no other run.
		say(t, first, pause)
		for hear(t, first).Type != schemas.ChunkStatus { // the end of the run before
		}
		if n := len(streams.opened); n > 0 {
			t.Fatalf("%d more runs are shown beside %v", n, shown)
		}
		streams.next <- struct{}{}
	}
	slices.Sort(shown)
	if !slices.Equal(shown, chats) {
		t.Errorf("shown are %v, want %v", shown, chats)
	}
	// Another socket does not wait for them.
	say(t, first, `{"name":"resume","run_id":"c4"}`)
	<-streams.opened
	second := dialSocket(t, ts)
	say(t, second, `{"name":"resume","run_id":"c5"}`)
	if got := <-streams.opened; got != "c5" {
		t.Errorf("the other socket shows %s", got)
	}
}

func say(t *testing.T, conn *websocket.Conn, frame string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := conn.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
		t.Fatal(err)
	}
}

func hear(t *testing.T, conn *websocket.Conn) (c schemas.Chunk) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, raw, err := conn.Read(ctx)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fullRuns are runs of which none can be read at first.
type fullRuns struct {
	endedRuns
	asked chan time.Time
}

func (r fullRuns) Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	r.asked <- time.Now()
	if len(r.asked) < cap(r.asked) {
		return nil, schemas.NewError(schemas.CodeTooManyStreams, "too many answers are being followed here")
	}
	return r.endedRuns.Follow(ctx, user, id, after, idle)
}

// While runs are refused at once, a socket does not ask for its run without a pause: each
// time costs a query.
func TestSocketPausesBeforeItReadsARefusedRunAgain(t *testing.T) {
	streams := fullRuns{endedRuns{opened: make(chan string, 1), next: make(chan struct{}, 1)}, make(chan time.Time, 2)}
	_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		streams.fakeStreams = fakeStreams{w}
		o.Streams, o.Runs = streams, runsOfChats{fakeRuns{w}}
	})
	conn := dialSocket(t, ts)
	streams.next <- struct{}{}
	say(t, conn, `{"name":"resume","run_id":"c1"}`)
	for hear(t, conn).Type != schemas.ChunkRunEnd {
	}
	if first, second := <-streams.asked, <-streams.asked; second.Sub(first) < time.Second {
		t.Errorf("the run was asked for again after %v, want a second", second.Sub(first))
	}
}
