package api_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// startedAs starts every question as this run of alice.
type startedAs struct {
	fakeStreams

	run schemas.Run
}

func (s startedAs) Start(context.Context, schemas.User, *schemas.ChatRequest, record.StartOptions) (schemas.Run, error) {
	s.call("Start")
	return s.run, nil
}

// A cursor counts for a run that its key has found. One that begins now, or has not begun, has
// no event that a reader can have seen.
func TestCursorOfAQuestion(t *testing.T) {
	running := schemas.Run{RunID: aRun, State: schemas.RunRunning}
	for name, tt := range map[string]struct {
		run           schemas.Run
		header, query string
		want          string
	}{
		"a run that is found":    {running, "3", "", "3"},
		"from the query":         {running, "-", "?after=3", "3"},
		"the header is stronger": {running, "3", "?after=1", "3"},
		"not a number":           {running, "three", "", "0"},
		"less than nothing":      {running, "-3", "", "0"},
		"a run that begins":      {schemas.Run{RunID: aRun, State: schemas.RunRunning, Begun: true}, "3", "", "0"},
		"a run that waits":       {schemas.Run{RunID: aRun, State: schemas.RunQueued}, "3", "", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			w, ts := newTestEnv(t, func(w *testEnv, o *api.Options) { o.Streams = startedAs{fakeStreams{w}, tt.run} })
			got, _ := send(t, ts.URL, "POST", "/api/chat/stream"+tt.query, anyChat, "Idempotency-Key", aKey, "Last-Event-ID", tt.header)
			if want := []string{"Start", "Follow alice " + aRun + " " + tt.want}; got.status != http.StatusOK || !slices.Equal(w.calls, want) {
				t.Errorf("got %d and asked %q, want %q", got.status, w.calls, want)
			}
		})
	}
}

// A client that reconnects would ask its question again: without a key nothing is started. One
// that reads only event streams gets the refusal as one.
func TestCursorWithoutAKey(t *testing.T) {
	for name, tt := range map[string]struct {
		path, header, accept, media string
		id                          int64
	}{
		"header":                   {"/api/chat/stream", "3", "*/*", "application/problem+json", 0},
		"query":                    {"/api/chat/stream?after=3", "-", "*/*", "application/problem+json", 0},
		"no stream":                {"/api/chat", "3", "text/event-stream", "application/problem+json", 0},
		"EventSource":              {"/api/chat/stream", "3", "text/event-stream", "text/event-stream", 3},
		"EventSource, no number":   {"/api/chat/stream", "x", "text/event-stream", "text/event-stream", 1},
		"EventSource, from nought": {"/api/chat/stream", "0", "text/event-stream", "text/event-stream", 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, ts := newTestEnv(t, nil)
			got, _ := send(t, ts.URL, "POST", tt.path, anyChat, "Last-Event-ID", tt.header, "Accept", tt.accept)
			if got.status != http.StatusPreconditionRequired || got.header.Get("Content-Type") != tt.media || len(w.calls) > 0 {
				t.Errorf("got %d %s and asked %q, want 428 as %s and nothing asked", got.status, got.header.Get("Content-Type"), w.calls, tt.media)
			}
			if tt.media == "text/event-stream" {
				frames := w.CheckFrames(t, got.body)
				if len(frames) != 1 || frames[0].Type != "error" || frames[0].ID != tt.id || !strings.Contains(string(frames[0].Data), string(schemas.CodeKeyRequired)) {
					t.Errorf("got %q, want one error after the cursor", got.body)
				}
			} else if p := got.problem(t); p.Code != schemas.CodeKeyRequired {
				t.Errorf("got the code %s, want %s", p.Code, schemas.CodeKeyRequired)
			}
		})
	}
}

// A key has at most 255 bytes, which are text, and the error says so on each wire.
func TestKeysOfQuestions(t *testing.T) {
	for _, tt := range []struct{ path, key, refused string }{
		{"/api/chat/stream", strings.Repeat("k", 255), ""},
		{"/api/chat/stream", "schlüssel", ""},
		{"/api/chat/stream", strings.Repeat("k", 256), "the Idempotency-Key is longer than 255 bytes"},
		{"/api/chat", "schl\xfcssel", "the Idempotency-Key is not text in UTF-8"}, // as a browser sends it
		{"/api/ui", strings.Repeat("k", 256), "the Idempotency-Key is longer than 255 bytes"},
		{"/v1/responses", "schl\xfcssel", "the Idempotency-Key is not text in UTF-8"},
	} {
		_, ts := newTestEnv(t, nil)
		want := http.StatusOK
		if tt.refused != "" {
			want = http.StatusBadRequest
		}
		if got, _ := send(t, ts.URL, "POST", tt.path, anyChat, "Idempotency-Key", tt.key); got.status != want || !strings.Contains(string(got.body), tt.refused) {
			t.Errorf("%s with the key %.20q: %d %s, want %d %q", tt.path, tt.key, got.status, got.body, want, tt.refused)
		}
	}
}
