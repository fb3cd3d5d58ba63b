package concurrent_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas/concurrent"
)

var (
	errBad  = errors.New("bad")
	errUser = errors.New("the user cancelled")
)

type branch = concurrent.Branch[string]

// after returns text after d, or the error of its context.
func after(d time.Duration, text string) branch {
	return func(ctx context.Context) (string, error) {
		select {
		case <-time.After(d):
			return text, nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// fails fails after d.
func fails(d time.Duration) branch {
	return func(ctx context.Context) (string, error) {
		if _, err := after(d, "")(ctx); err != nil {
			return "", err
		}
		return "", errBad
	}
}

func panics(context.Context) (string, error) { panic("oh") }

func exits(context.Context) (string, error) { runtime.Goexit(); return "", nil }

// ignoresContext ignores its context for an hour.
func ignoresContext(context.Context) (string, error) {
	<-time.After(time.Hour)
	return "too late", nil
}

func shown(results []concurrent.Result[string]) (out []string) {
	for _, r := range results {
		out = append(out, fmt.Sprintf("%q %v", r.Value, r.Err))
	}
	return out
}

func TestAll(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name     string
		o        concurrent.Options
		cancel   time.Duration
		branches []branch
		want     []string
		took     time.Duration
	}{
		{"nothing", concurrent.Options{}, 0, nil, nil, 0},
		{"in order", concurrent.Options{}, 0, []branch{after(3*s, "a"), after(s, "b"), after(2*s, "c")}, []string{`"a" <nil>`, `"b" <nil>`, `"c" <nil>`}, 3 * s},
		{"one fails", concurrent.Options{}, 0, []branch{fails(0), after(s, "b")}, []string{`"" bad`, `"b" <nil>`}, s},
		{"one panics", concurrent.Options{}, 0, []branch{panics, after(s, "b")}, []string{`"" concurrent: a branch panicked: oh`, `"b" <nil>`}, s},
		{"one exits", concurrent.Options{}, 0, []branch{exits, after(s, "b")}, []string{`"" concurrent: a branch ended its goroutine`, `"b" <nil>`}, s},
		{"two at a time", concurrent.Options{Parallel: 2}, 0, []branch{after(s, "a"), after(s, "b"), after(s, "c")}, []string{`"a" <nil>`, `"b" <nil>`, `"c" <nil>`}, 2 * s},
		{
			"cancelled",
			concurrent.Options{Parallel: 2},
			s + s/2,
			[]branch{after(s, "a"), after(2*s, "b"), after(s, "c"), after(s, "d")},
			[]string{`"a" <nil>`, `"" the user cancelled`, `"" the user cancelled`, `"" the user cancelled`},
			s + s/2,
		},
		{
			"one is abandoned",
			concurrent.Options{},
			s,
			[]branch{ignoresContext, after(2*s, "b")},
			[]string{`"" the user cancelled`, `"" the user cancelled`},
			s + 300*time.Millisecond,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, func() { cancel(errUser) })
				}
				begun := time.Now()
				got := shown(concurrent.All(ctx, tt.o, tt.branches...))
				if took := time.Since(begun); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("results (-want +got):\n%s", d)
				}
				cancel(nil)
				<-time.After(2 * time.Hour) // of the bubble: the branch that ignores its context ends
			})
		})
	}
}

func TestFirst(t *testing.T) {
	const s = time.Second
	for _, tt := range []struct {
		name      string
		cancel    time.Duration
		branches  []branch
		any, race string
		// How long each takes.
		anyTook, raceTook time.Duration
	}{
		{"nothing", 0, nil, `"" concurrent: there are no branches`, `"" concurrent: there are no branches`, 0, 0},
		{"the quickest", 0, []branch{after(3*s, "a"), after(s, "b")}, `"b" <nil>`, `"b" <nil>`, s, s},
		{"the quickest fails", 0, []branch{after(3*s, "a"), fails(s)}, `"a" <nil>`, `"" bad`, 3 * s, s},
		{"the quickest panics", 0, []branch{after(3*s, "a"), panics}, `"a" <nil>`, `"" concurrent: a branch panicked: oh`, 3 * s, 0},
		{"all fail", 0, []branch{fails(2 * s), fails(s)}, "\"\" bad\nbad", `"" bad`, 2 * s, s},
		{"a loser is abandoned", 0, []branch{ignoresContext, after(s, "b")}, `"b" <nil>`, `"b" <nil>`, s + 300*time.Millisecond, s + 300*time.Millisecond},
		{"cancelled", s, []branch{after(3*s, "a")}, "\"\" the user cancelled\nthe user cancelled", `"" the user cancelled`, s, s},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, f := range []struct {
				name string
				call func(context.Context, concurrent.Options, ...branch) (string, error)
				want string
				took time.Duration
			}{{"Any", concurrent.Any[string], tt.any, tt.anyTook}, {"Race", concurrent.Race[string], tt.race, tt.raceTook}} {
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancelCause(t.Context())
					if tt.cancel > 0 {
						time.AfterFunc(tt.cancel, func() { cancel(errUser) })
					}
					begun := time.Now()
					value, err := f.call(ctx, concurrent.Options{}, tt.branches...)
					if got := fmt.Sprintf("%q %v", value, err); got != f.want {
						t.Errorf("%s gives %s, want %s", f.name, got, f.want)
					}
					if took := time.Since(begun); took != f.took {
						t.Errorf("%s took %s, want %s", f.name, took, f.took)
					}
					cancel(nil)
					<-time.After(2 * time.Hour)
				})
			}
		})
	}
}

// A loser is told immediately that it lost, and has ended when the call
// returns; a branch that has not begun never begins.
func TestLosers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		var began atomic.Int32
		loser := func(ctx context.Context) (string, error) {
			began.Add(1)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return "", cause
		}
		got, err := concurrent.Any(t.Context(), concurrent.Options{Parallel: 2}, loser, after(time.Second, "b"), loser, loser)
		if got != "b" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		if !errors.Is(cause, concurrent.ErrLost) || began.Load() != 1 {
			t.Errorf("the loser ended with %v, %d began", cause, began.Load())
		}
		var p *concurrent.PanicError
		_, err = concurrent.Race(t.Context(), concurrent.Options{}, branch(panics))
		if !errors.As(err, &p) || p.Value != "oh" || !strings.HasPrefix(p.Place, "concurrent_test.go:") {
			t.Errorf("a panic gives %v", err)
		}
	})
}

func TestOnFreshStack(t *testing.T) {
	oh := errors.New("oh")
	if err := concurrent.OnFreshStack(func() error { return oh }); !errors.Is(err, oh) {
		t.Errorf("OnFreshStack() = %v, want %v", err, oh)
	}
	if err := concurrent.OnFreshStack(func() error { panic("oh") }); err == nil || !strings.Contains(err.Error(), "concurrent_test.go") {
		t.Errorf("OnFreshStack() = %v, want the place of the panic", err)
	}
}
