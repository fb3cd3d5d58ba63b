package api_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// endless has runs that go on until their readers leave, or fail when end is closed.
type endless struct {
	fakeStreams

	entered, end chan struct{}
}

func newEndless(w *testEnv) endless {
	return endless{fakeStreams{w}, make(chan struct{}, 1), make(chan struct{})}
}

func (e endless) Follow(ctx context.Context, _ schemas.User, _ string, _ int64, _ time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	e.entered <- struct{}{}
	return func(yield func([]runlog.Event, error) bool) {
		select {
		case <-ctx.Done():
			yield(nil, ctx.Err())
		case <-e.end:
			batch := []runlog.Event{{Seq: 1, Body: &runlog.Failed{Code: schemas.CodeUpstreamError}}}
			yield(batch, nil)
			clear(batch) // as a log uses its batch again
		}
	}, nil
}

const anyChat = `{"message":"hello"}`

// TestChatCountsAsAStream sends one request twice with its key: the second would wait for the
// run of the first, and holds a connection as well.
func TestChatCountsAsAStream(t *testing.T) {
	var runs endless
	w, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		runs = newEndless(w)
		o.Limits.StreamsPerUser, o.Streams = 1, runs
	})
	done := make(chan answer, 1)
	go func() {
		got, _ := send(t, ts.URL, "POST", "/api/chat", anyChat, "Idempotency-Key", "k")
		done <- got
	}()
	<-runs.entered
	got, req := send(t, ts.URL, "POST", "/api/chat", anyChat, "Idempotency-Key", "k")
	w.CheckResponse(t, req, got.status, got.header, got.body)
	if p := got.problem(t); p.Code != schemas.CodeTooManyStreams {
		t.Errorf("a second request gives %d %s, want %s", p.Status, p.Code, schemas.CodeTooManyStreams)
	}
	close(runs.end)
	if first := <-done; first.status != http.StatusBadGateway {
		t.Errorf("the first request gives %d, want 502 of the failed run", first.status)
	}
	if got, _ := send(t, ts.URL, "POST", "/api/chat", anyChat); got.status != http.StatusBadGateway {
		t.Errorf("a request after the first gives %d, want 502 of the failed run", got.status)
	}
}

// A stream counts from its request to its end. Further ones are refused before anything is
// started for them.
func TestStreamsAreCounted(t *testing.T) {
	var runs endless
	var open, opened atomic.Int64
	w, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		runs = newEndless(w)
		o.Limits.StreamsPerUser, o.Streams = 1, runs
		o.OpenStreams = func(change int) {
			opened.Add(int64(max(change, 0)))
			open.Add(int64(change))
		}
	})
	requests := []struct{ method, path string }{{"GET", "/api/chat/runs/" + aRun + "/stream"}, {"POST", "/api/chat/stream"}}
	for _, first := range requests {
		w.calls = nil
		done := make(chan answer, 1)
		go func() {
			got, _ := send(t, ts.URL, first.method, first.path, anyChat)
			done <- got
		}()
		<-runs.entered
		asked := len(w.calls)
		for _, r := range requests {
			if got, _ := send(t, ts.URL, r.method, r.path, anyChat); got.status != http.StatusTooManyRequests || got.problem(t).Code != schemas.CodeTooManyStreams {
				t.Errorf("%s %s beside a stream: got %d %s, want %s", r.method, r.path, got.status, got.body, schemas.CodeTooManyStreams)
			}
		}
		if len(w.calls) != asked {
			t.Errorf("the services were asked %q for streams that are refused, want nothing", w.calls[asked:])
		}
		runs.end <- struct{}{}
		if got := <-done; got.status != http.StatusOK || open.Load() != 0 {
			t.Errorf("%s %s: got %d, and %d open streams after it, want 0", first.method, first.path, got.status, open.Load())
		}
	}
	if n := opened.Load(); n != 2 {
		t.Errorf("%d streams were opened, want 2", n)
	}
}

func TestChatEndsWithTheToken(t *testing.T) {
	w, ts := newTestEnv(t, func(w *testEnv, o *api.Options) { o.Auth, o.Streams = shortLived{}, newEndless(w) })
	got, req := send(t, ts.URL, "POST", "/api/chat", anyChat)
	w.CheckResponse(t, req, got.status, got.header, got.body)
	p := got.problem(t)
	if p.Status != http.StatusUnauthorized || !strings.HasPrefix(p.Detail, "the token has expired") || p.RunID != aRun {
		t.Errorf("got %s", got.body)
	}
	if got.header.Get("X-Run-Id") != aRun || got.header.Get("WWW-Authenticate") != `Bearer error="invalid_token"` {
		t.Errorf("got the header %v", got.header)
	}
}

// A stream, too, ends with the token of its reader: what comes later is not for it.
func TestStreamEndsWithTheToken(t *testing.T) {
	for method, path := range map[string]string{"GET": "/api/chat/runs/" + aRun + "/stream", "POST": "/api/chat/stream"} {
		var runs endless
		_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
			runs = newEndless(w)
			o.Auth, o.Streams = shortLived{}, runs
		})
		late := time.AfterFunc(patience, func() { close(runs.end) })
		if got, _ := send(t, ts.URL, method, path, anyChat); got.status != http.StatusOK || len(got.body) > 0 {
			t.Errorf("%s %s: got %d %q, want a stream that ends without an event", method, path, got.status, got.body)
		}
		late.Stop()
	}
}

// So does the answer of a wire.
func TestAnswerOfAWireEndsWithTheToken(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"chattray","messages":[{"role":"user","content":"hi"}]}`,
		"/v1/responses":        `{"model":"chattray","input":"hi"}`,
	} {
		var runs endless
		_, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
			runs = newEndless(w)
			o.Auth, o.Streams = shortLived{}, runs
		})
		late := time.AfterFunc(patience, func() { close(runs.end) })
		if got, _ := send(t, ts.URL, "POST", path, body); got.status != http.StatusUnauthorized || !strings.Contains(string(got.body), "the token has expired") {
			t.Errorf("%s: got %d %s, want 401 when the token expires", path, got.status, got.body)
		}
		late.Stop()
	}
}
