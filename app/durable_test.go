package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/tools"
)

// stored returns how many replies and calls of a run are on disk.
type stored struct{ replies, calls, finished int }

// What is on disk while tools run, and when their results have been shown, if
// no flush happens in between: nothing of a reply whose calls are all
// repeatable, everything of any other reply.
func TestStoredBeforeItIsShown(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		calls         []string
		during, after stored
	}{
		{"all repeatable", []string{"look", "look"}, stored{}, stored{}},
		{"not repeatable", []string{"book"}, stored{1, 1, 0}, stored{1, 1, 1}},
		{"one of each", []string{"look", "book"}, stored{1, 2, 1}, stored{1, 2, 2}},
		{"repeatable, but with an effect", []string{"set"}, stored{1, 0, 0}, stored{1, 1, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDurable(t, test.calls)
			run, err := d.runs.Start(t.Context(), d.user, &schemas.ChatRequest{Message: "go"}, record.StartOptions{})
			if err != nil {
				t.Fatal(err)
			}
			d.begun <- run.RunID
			events, err := d.runs.Follow(t.Context(), d.user, run.RunID, 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			for list, err := range events {
				if err != nil {
					t.Fatal(err)
				}
				if _, ok := list[len(list)-1].Body.(*runlog.Text); ok { // the model has been told of all results
					break
				}
			}
			if got := d.during; got != test.during {
				t.Errorf("while the last tool runs %+v is on disk, want %+v", got, test.during)
			}
			if got := d.stored(t.Context(), run.RunID); got != test.after {
				t.Errorf("when the results have been shown %+v is on disk, want %+v", got, test.after)
			}
		})
	}
}

// durable is a service whose flushes never come.
type durable struct {
	*Service
	t      *testing.T
	user   schemas.User
	begun  chan string // the run's id, for its tools
	during stored
}

func newDurable(t *testing.T, calls []string) *durable {
	d := &durable{t: t, user: schemas.User{ID: "local|dev"}, begun: make(chan string, 1)}
	up := upstream.NewMemory()
	t.Cleanup(up.Close)
	var parts []upstream.Part
	for i, name := range calls {
		parts = append(parts, upstream.Call(i, "", name, "{}"))
	}
	up.Push(upstream.Open(append(parts, upstream.Finish("tool_calls"), upstream.Done())...), upstream.Open(upstream.Say("told "), upstream.Hang()))
	watch, err := telemetry.New(t.Context(), telemetry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	type none struct{}
	quick := func(context.Context, *tools.Call, none) (string, error) { return "found", nil }
	look := func(ctx context.Context, c *tools.Call, _ none) (string, error) {
		if calls[len(calls)-1] == "look" && c.Index == len(calls)-1 {
			d.look(ctx)
		}
		return quick(ctx, c, none{})
	}
	last := func(ctx context.Context, _ *tools.Call, _ none) (string, error) { d.look(ctx); return "done", nil }
	options := Options{Models: up.Transport(), Runs: func(o *runs.Options) { o.Flush = time.Hour }}
	options.Tools = append(options.Tools,
		tools.NewText("look", "Looks.", look, tools.Global(), tools.Idempotent(), tools.Serial()),
		tools.NewText("book", "Books.", last, tools.Global(), tools.Serial()),
		tools.NewText("set", "Sets.", last, tools.Global(), tools.Idempotent(), tools.Effects(), tools.Serial()))
	config := settings.Config{
		DatabaseURL: "sqlite:" + filepath.Join(t.TempDir(), "durable.db"), OpenAI: settings.OpenAI{BaseURL: up.URL(), APIKey: "key"},
		Model: "m", Models: []settings.Model{{Name: "m"}}, MaxTokens: 100, MaxIterations: 5,
	}
	if d.Service, err = Build(t.Context(), config, options, watch, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		d.runs.Shutdown(now)
		if err := d.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// look notes what is on disk while a tool runs.
func (d *durable) look(ctx context.Context) {
	run := <-d.begun
	d.during = d.stored(ctx, run)
}

func (d *durable) stored(ctx context.Context, run string) (s stored) {
	checkpoints, err := d.store.Checkpoints(ctx, run)
	if err != nil {
		d.t.Error(err)
	}
	calls, err := d.store.ToolCalls(ctx, run)
	if err != nil {
		d.t.Error(err)
	}
	s.replies, s.calls = len(checkpoints), len(calls)
	for _, c := range calls {
		if c.State == record.ToolFinished {
			s.finished++
		}
	}
	return s
}
