package wires

import (
	"context"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// cancelWait bounds the cancelling of a run whose client has gone.
const cancelWait = 5 * time.Second

// missed counts a client that has gone before its response began as a reader that has
// left: the run may end with its last reader, or with this one.
func (s *Service) missed(c *Call, to Stream, r Response) {
	if !errors.Is(to.Context().Err(), context.Canceled) {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.Context()), cancelWait)
	events, err := s.Runs.Follow(ctx, c.User, r.Run.RunID, 0, 0)
	stop()
	if err == nil {
		events(func([]runlog.Event, error) bool { return false })
	}
	s.gone(c, to, r)
}

// gone cancels the run of a response whose client has closed the connection.
func (s *Service) gone(c *Call, to Stream, r Response) {
	if !r.Cancels || !errors.Is(to.Context().Err(), context.Canceled) {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.Context()), cancelWait)
	defer stop()
	run, err := s.Runs.Run(ctx, c.User, r.Run.RunID)
	if err == nil && run.State != schemas.RunWaiting && !run.State.Terminal() {
		_, _ = s.Runs.Cancel(ctx, c.User, run.RunID) // else the run ends after its grace period
	}
}
