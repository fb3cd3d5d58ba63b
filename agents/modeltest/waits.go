package modeltest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/schemas"
)

// stuck is a transport that never gets a connection.
type stuck struct{}

func (stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func (p protocol) timers(t *testing.T) {
	const s = time.Second
	comment := upstream.Bytes(": wait\n\n")
	var comments []upstream.Part
	for range 20 {
		comments = append(comments, upstream.Delay(4*s), comment)
	}
	role := upstream.Data(upstream.Chunk(`{"role":"assistant","content":""}`, "null"))
	so := upstream.Say("So")
	each := func(text string) upstream.Part {
		return upstream.Data(upstream.Chunk(`{"content":"`+text+`"}`, `"stop"`))
	}
	for _, tt := range []struct {
		name  string
		reply upstream.Reply
		want  Result
		took  time.Duration
	}{
		{"no answer", upstream.Reply{upstream.Hang()}, Result{Code: schemas.CodeUpstreamTimeout}, 20 * s},
		{"no token", upstream.Open(upstream.Hang()), Result{Code: schemas.CodeUpstreamTimeout}, 20 * s},
		{"comments are not tokens", upstream.Open(comments...), Result{Code: schemas.CodeUpstreamTimeout}, 20 * s},
		{"an empty chunk is not a token", upstream.Open(role, upstream.Hang()), Result{Code: schemas.CodeUpstreamTimeout}, 20 * s},
		{"late token", upstream.Open(upstream.Delay(19*s), so, upstream.Finish("stop")), Result{Text: "So", Stop: schemas.EndTurn}, 19 * s},
		{"silence", upstream.Open(upstream.Delay(2*s), so, upstream.Hang()), Result{Text: "So", Code: schemas.CodeUpstreamTimeout}, 7 * s},
		{"comments count as activity", upstream.Open(so).Then(comments...).Then(upstream.Finish("stop")), Result{Text: "So", Stop: schemas.EndTurn}, 80 * s},
		{"reasoning is a token", upstream.Open(upstream.Think("hm"), upstream.Hang()), Result{Thinking: "hm", Code: schemas.CodeUpstreamTimeout}, 5 * s},
		{
			"finish_reason in every chunk", upstream.Open(each("He"), upstream.Delay(s), each("l"), upstream.Delay(4*s), each("l"), upstream.Delay(4*s), each("o")),
			Result{Text: "Hello", Stop: schemas.EndTurn},
			9 * s,
		},
		{
			"finish_reason before the end", upstream.Open(each("He"), upstream.Delay(s), upstream.Say("l"), upstream.Delay(4*s), upstream.Say("lo"), upstream.Delay(4*s), upstream.Finish("length"), upstream.Done()),
			Result{Text: "Hello", Stop: schemas.MaxTokens},
			9 * s,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := upstream.NewMemory()
				up.Push(tt.reply)
				m := p.dial(t, Dial{BaseURL: up.URL(), APIKey: key, Transport: up.Transport(), Connect: 3 * s, FirstToken: 20 * s, Idle: 5 * s})
				begun := time.Now()
				check(t, tt.name, Read(t.Context(), m, ask), tt.want)
				if took := time.Since(begun); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if up.Calls() != 1 {
					t.Errorf("%d calls, want 1", up.Calls())
				}
			})
		})
	}
	t.Run("a slow reader does not count as silence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := upstream.NewMemory()
			up.Push(upstream.Text("Hel", "lo"))
			m := p.dial(t, Dial{BaseURL: up.URL(), APIKey: key, Transport: up.Transport(), Idle: 5 * s})
			var text strings.Builder
			for d, err := range m.Stream(t.Context(), ask) {
				if err != nil {
					t.Fatal(err)
				}
				text.WriteString(d.Text)
				if d.Stop == "" {
					<-time.After(12 * s)
				}
			}
			if text.String() != "Hello" {
				t.Errorf("text is %q, want Hello", text.String())
			}
		})
	})
	t.Run("a whole reply does not wait for the stream's end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := upstream.NewMemory()
			up.Push(upstream.Open(so, upstream.Finish("stop"), upstream.Hang()))
			begun := time.Now()
			check(t, "open", Read(t.Context(), p.model(t, up), ask), Result{Text: "So", Stop: schemas.EndTurn})
			if took := time.Since(begun); took > 3*s {
				t.Errorf("took %v, want at most 3 s", took)
			}
		})
	})
	t.Run("no connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := p.dial(t, Dial{BaseURL: "http://upstream.test/v1", APIKey: key, Transport: stuck{}, Connect: 3 * s, FirstToken: 60 * s})
			begun := time.Now()
			check(t, "no connection", Read(t.Context(), m, ask), Result{Code: schemas.CodeUpstreamUnavailable})
			if took := time.Since(begun); took < 9*s || took > 12*s {
				t.Errorf("took %v, want three attempts of 3 s", took)
			}
		})
	})
}

func (p protocol) cancel(t *testing.T) {
	errUser := errors.New("the user cancelled")
	for _, tt := range []struct {
		name  string
		reply upstream.Reply
		left  int // clients that disconnected during a reply
	}{
		{"before the answer", upstream.Reply{upstream.Hang()}, 1},
		{"before a token", upstream.Open(upstream.Hang()), 1},
		{"between tokens", upstream.Open(upstream.Say("So"), upstream.Hang()), 1},
		{"while waiting to try again", upstream.Status(http.StatusTooManyRequests, "", "Retry-After", "30"), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := upstream.NewMemory()
				up.Push(tt.reply)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(errUser) })
				begun := time.Now()
				got := Read(ctx, p.model(t, up), ask)
				if !errors.Is(got.Err, errUser) || got.Broken != "" {
					t.Errorf("error is %v (%s), want the cause", got.Err, got.Broken)
				}
				if took := time.Since(begun); took != time.Second {
					t.Errorf("took %v, want 1 s", took)
				}
				synctest.Wait()
				if up.Disconnects() != tt.left || up.Running() != 0 || up.Calls() != 1 {
					t.Errorf("%d disconnected, %d running, %d calls; want %d, 0, 1", up.Disconnects(), up.Running(), up.Calls(), tt.left)
				}
			})
		})
	}
	t.Run("already cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := upstream.NewMemory()
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errUser)
			if got := Read(ctx, p.model(t, up), ask); !errors.Is(got.Err, errUser) {
				t.Errorf("error is %v, want the cause", got.Err)
			}
		})
	})
	t.Run("reader breaks off", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := upstream.NewMemory()
			up.Push(upstream.Open(upstream.Say("So"), upstream.Hang()))
			for range p.model(t, up).Stream(t.Context(), ask) {
				break
			}
			synctest.Wait()
			if up.Disconnects() != 1 || up.Running() != 0 {
				t.Errorf("%d disconnected, %d running; want 1, 0", up.Disconnects(), up.Running())
			}
		})
	})
}
