package outage

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
)

// outage makes the database of a service unavailable and available again.
type outage interface {
	begin()
	end()
	// refused counts what the service has tried meanwhile.
	refused() int64
	// options puts it between the service and its database.
	options(*runs.Options)
}

// breakable is a database that can be made unavailable.
func breakable(t *testing.T, d apptest.Database) (url string, o outage) {
	t.Helper()
	if d.Name == "sqlite" {
		return d.Fresh(t), &switchedStore{}
	}
	way := apptest.NewWay(t, d.Fresh(t))
	return way.URL, cutOff{way}
}

// switchedStore is a store that can be switched off.
type switchedStore struct {
	*store.Store
	away  atomic.Bool
	tries atomic.Int64
}

func (s *switchedStore) begin() { s.away.Store(true) }

func (s *switchedStore) end() { s.away.Store(false); s.tries.Store(0) }

func (s *switchedStore) refused() int64 { return s.tries.Load() }

func (s *switchedStore) options(o *runs.Options) {
	real, ok := o.Store.Runs.(*store.Store)
	if !ok {
		panic("the store is another one")
	}
	s.Store, o.Store = real, app.StoresOf(s)
}

// gone is the error of a store that is switched off.
func (s *switchedStore) gone() error {
	if !s.away.Load() {
		return nil
	}
	s.tries.Add(1)
	return errors.Join(record.ErrUnavailable, errors.New("switched off"))
}

func (s *switchedStore) Commit(ctx context.Context, writes []*record.Write) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, writes)
}

func (s *switchedStore) Run(ctx context.Context, id string) (record.Run, error) {
	if err := s.gone(); err != nil {
		return record.Run{}, err
	}
	return s.Store.Run(ctx, id)
}

func (s *switchedStore) NextQueued(ctx context.Context, conversationID int64) (record.Run, error) {
	if err := s.gone(); err != nil {
		return record.Run{}, err
	}
	return s.Store.NextQueued(ctx, conversationID)
}

func (s *switchedStore) BeginAttempt(ctx context.Context, id string, attempt int, replica string) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.BeginAttempt(ctx, id, attempt, replica)
}

func (s *switchedStore) BeginQueued(ctx context.Context, id, replica string, names []string) (record.Begun, error) {
	if err := s.gone(); err != nil {
		return record.Begun{}, err
	}
	return s.Store.BeginQueued(ctx, id, replica, names)
}

func (s *switchedStore) Take(ctx context.Context, from []string, to string) ([]record.Taken, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Take(ctx, from, to)
}

func (s *switchedStore) Held(ctx context.Context, replica string) ([]record.Taken, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Held(ctx, replica)
}

func (s *switchedStore) Tidy(ctx context.Context, replicas []string) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.Tidy(ctx, replicas)
}

func (s *switchedStore) RequestCancel(ctx context.Context, id string) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.RequestCancel(ctx, id)
}

func (s *switchedStore) Segments(ctx context.Context, id string, after int64) ([]record.Segment, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Segments(ctx, id, after)
}

func (s *switchedStore) NextSegment(ctx context.Context, id string, after int64) (record.Segment, error) {
	if err := s.gone(); err != nil {
		return record.Segment{}, err
	}
	return s.Store.NextSegment(ctx, id, after)
}

func (s *switchedStore) Checkpoints(ctx context.Context, id string) ([]record.Checkpoint, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Checkpoints(ctx, id)
}

func (s *switchedStore) ToolCalls(ctx context.Context, id string) ([]record.ToolCall, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.ToolCalls(ctx, id)
}

func (s *switchedStore) Payloads(ctx context.Context, owner string, id int64, except string) ([]schemas.CustomPayload, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Payloads(ctx, owner, id, except)
}

func (s *switchedStore) Trace(ctx context.Context, id string) (json.RawMessage, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Trace(ctx, id)
}

// cutOff is a database whose connections pass through a proxy that can be cut.
type cutOff struct{ *apptest.Way }

func (c cutOff) begin() { c.Cut() }

func (c cutOff) end() { c.Restore() }

func (c cutOff) refused() int64 { return c.Refused() }

func (c cutOff) options(*runs.Options) {}
