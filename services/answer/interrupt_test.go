package answer_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/usage"
)

// stored has the numbers of the checkpoints that were committed.
type stored struct{ numbers []int }

func (s *stored) Commit(_ context.Context, writes []*record.Write) error {
	for _, w := range writes {
		if w.Checkpoint != nil {
			s.numbers = append(s.numbers, w.Checkpoint.N)
		}
	}
	return nil
}

func (*stored) Tend(context.Context) error { return nil }

// clock is one that never ran.
type clock struct{}

func (clock) Pause()              {}
func (clock) Resume()             {}
func (clock) Used() time.Duration { return 0 }

// An attempt that is interrupted, at any time, replaces no checkpoint that a later one needs.
func TestInterruptKeepsCheckpoints(t *testing.T) {
	for name, tc := range map[string]struct {
		earlier *attempts.Earlier
		acts    bool
		want    int
	}{
		"before anything":                   {nil, false, 1},
		"while an action runs":              {nil, true, 2},
		"before an action is ended":         {&attempts.Earlier{Action: true}, false, 2},
		"before earlier replies are read":   {&attempts.Earlier{Steps: make([]turn.Step, 3)}, false, 4},
		"before there was an earlier reply": {attempts.Nothing(), false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			store := new(stored)
			committer := eventlog.NewCommitter(eventlog.CommitterOptions{Store: store, Logger: slog.New(slog.DiscardHandler), Batch: func(int, time.Duration, error) {}})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { committer.Run(ctx); close(ended) }()
			wr := answer.New(t.Context(), answer.Run{ID: "run", Attempt: 1, Request: &schemas.ChatRequest{}, Earlier: tc.earlier}, answer.Deps{
				Log: eventlog.New(1, func() int64 { return 1 }), Commit: committer, Spent: usage.NewLedger(nil), Clock: clock{}, Now: time.Now,
			})
			if tc.acts {
				if err := wr.BeginAction(); err != nil {
					t.Fatal(err)
				}
			}
			if err := wr.Interrupt(); err != nil {
				t.Fatal(err)
			}
			stop()
			<-ended
			if got := store.numbers[len(store.numbers)-1]; got != tc.want {
				t.Errorf("the checkpoint has number %d, want %d", got, tc.want)
			}
		})
	}
}
