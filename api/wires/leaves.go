package wires

import (
	"context"
	"errors"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// leaveWait bounds the reading for a client that has gone.
const leaveWait = 5 * time.Second

// missed counts a client that has gone before its response began as a reader that has
// left: the run may end with its last reader, or with this one.
func (s *Service) missed(c *Call, to Stream, r Response) {
	if !errors.Is(to.Context().Err(), context.Canceled) {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(c.Context()), leaveWait)
	events, err := s.Runs.Follow(ctx, c.User, r.Run.RunID, 0, 0)
	stop()
	if err == nil {
		events(func([]runlog.Event, error) bool { return false })
	}
	s.gone(c, to, r)
}

// gone tells the run of a response that its client, which has closed the connection, does not
// come back. Whether the run ends says the request that began it, and who else reads it.
func (s *Service) gone(c *Call, to Stream, r Response) {
	if r.Leaves && errors.Is(to.Context().Err(), context.Canceled) {
		s.Runs.Leave(c.User, r.Run.RunID)
	}
}

// TokenExpired is the error for a request whose token expires before its run ends.
func TokenExpired(run string) *schemas.Error {
	e := schemas.NewError(schemas.CodeUnauthorized, "the token has expired; the answer continues")
	e.RunID = run
	return e
}

// cutOff returns the error for a client whose response has not begun: err, or that the token
// has expired if the stream has ended for that.
func cutOff(to Stream, r Response, err error) error {
	if errors.Is(to.Context().Err(), context.DeadlineExceeded) {
		return TokenExpired(r.Run.RunID).Because(err)
	}
	return err
}
