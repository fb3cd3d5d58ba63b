package readers

import (
	"context"
	"sync"
	"time"

	"github.com/chattray/chattray/services/segments"
)

// turns bounds how many stored logs are read at once, per user and in total. A
// limit of 0 means no limit. It is safe for concurrent use.
type turns struct {
	perUser int
	all     chan struct{} // nil means no limit

	mu    sync.Mutex
	users map[string]*userTurns
}

// userTurns are the turns that a user has and waits for.
type userTurns struct {
	taken chan struct{}
	n     int // readers that have a turn or wait for one
}

func newTurns(perUser, all int) *turns {
	t := &turns{perUser: perUser, users: make(map[string]*userTurns)}
	if all > 0 {
		t.all = make(chan struct{}, all)
	}
	return t
}

// take waits for a turn of the user. After segments.Wait it returns segments.ErrBusy.
// The turn ends with done, which may be called more than once.
func (t *turns) take(ctx context.Context, user string) (done func(), err error) {
	late := time.NewTimer(segments.Wait)
	defer late.Stop()
	enter := func(taken chan struct{}) error {
		if taken == nil {
			return nil
		}
		select {
		case taken <- struct{}{}:
			return nil
		default:
		}
		select {
		case taken <- struct{}{}:
			return nil
		case <-late.C:
			return segments.ErrBusy
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	mine, gone := t.of(user)
	if err := enter(mine); err != nil {
		gone()
		return nil, err
	}
	if err := enter(t.all); err != nil {
		if mine != nil {
			<-mine
		}
		gone()
		return nil, err
	}
	return sync.OnceFunc(func() {
		if t.all != nil {
			<-t.all
		}
		if mine != nil {
			<-mine
		}
		gone()
	}), nil
}

// of returns the turns of a user, until gone is called.
func (t *turns) of(user string) (taken chan struct{}, gone func()) {
	if t.perUser <= 0 {
		return nil, func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.users[user]
	if u == nil {
		u = &userTurns{taken: make(chan struct{}, t.perUser)}
		t.users[user] = u
	}
	u.n++
	return u.taken, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if u.n--; u.n == 0 {
			delete(t.users, user)
		}
	}
}
