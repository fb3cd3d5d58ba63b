package answer_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/usage"
)

// watchedClock tells what is done to it.
type watchedClock struct {
	clock
	tell func(string)
}

func (c watchedClock) Pause()  { c.tell("pause") }
func (c watchedClock) Resume() { c.tell("resume") }

// A run that waits for the server of a tool uses none of its time, and a stop of the service
// does not wait for it.
func TestAwaitTools(t *testing.T) {
	const name = "scales__weigh"
	waits := []string{"pause", "idle", "resume"}
	for _, tt := range []struct {
		name  string
		after time.Duration // in which the server comes, 0 if it is there
		stop  time.Duration // when the run is stopped, 0 if it is not
		state record.ToolCallState
		took  time.Duration
		want  []string
	}{
		{"it is there", 0, 0, record.ToolStarted, 0, nil},
		{"it comes", 10 * time.Second, 0, record.ToolStarted, 10 * time.Second, waits},
		{"it comes for a call that has ended", 10 * time.Second, 0, record.ToolFinished, 10 * time.Second, waits},
		{"it does not come", time.Hour, 0, record.ToolStarted, time.Minute, waits},
		{"the run is stopped", time.Hour, time.Second, record.ToolStarted, time.Second, waits},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.stop > 0 {
					time.AfterFunc(tt.stop, cancel)
				}
				there := make(chan struct{})
				timer := time.AfterFunc(tt.after, func() { close(there) })
				defer timer.Stop()
				reply := turn.Reply{ToolCalls: []turn.ToolCall{{Name: "other"}, {Name: name}, {Name: name}}}
				earlier := &attempts.Earlier{Steps: []turn.Step{{Reply: reply}}, Calls: map[int]record.ToolCall{1: {State: tt.state}, 2: {State: tt.state}}}
				var got []string
				tell := func(what string) { got = append(got, what) }
				log := eventlog.New(1, func() int64 { return 1 })
				wr := answer.New(ctx, answer.Run{ID: "run", Attempt: 2, Request: &schemas.ChatRequest{}, Earlier: earlier}, answer.Deps{
					Log: log, Spent: usage.NewLedger(nil), Clock: watchedClock{tell: tell}, Now: time.Now,
					Missing: func(tool string) <-chan struct{} {
						if tool != name || tt.after == 0 {
							return nil
						}
						select {
						case <-there:
							return nil
						default:
							return there
						}
					},
					Idle: func(idle bool) {
						if idle {
							tell("idle")
						}
					},
					Mark: func(bool) *eventlog.Commit { return nil },
				})
				began := time.Now()
				wr.AwaitTools()
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				// Its readers are told for which call it waits, if there is one.
				shown, told := 0, tt.after > 0 && tt.state != record.ToolFinished
				events, _ := log.Tail(0).Next()
				for _, e := range events {
					if s, ok := e.Body.(*runlog.Status); ok && s.Message == "Waiting for the server of "+name+"..." && s.Tool == name {
						shown++
					}
				}
				if told != (shown == 1) || shown > 1 {
					t.Errorf("it is shown %d times that the call waits, want it once: %t", shown, told)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}
