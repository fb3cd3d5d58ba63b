package usage

import (
	"sync"

	"github.com/chattray/chattray/schemas/record"
)

// Running counts the runs of each user that have not ended in this process. It is safe
// for concurrent use.
type Running struct {
	limit int // 0 is no limit
	mu    sync.Mutex
	of    map[string]int
}

// NewRunning returns counts with a limit for each user; 0 is no limit.
func NewRunning(limit int) *Running { return &Running{limit: limit, of: make(map[string]int)} }

// Begin counts a run that the user starts until end is called, or refuses it.
func (r *Running) Begin(user string) (end func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit > 0 && r.of[user] >= r.limit {
		return nil, record.ErrManyRuns()
	}
	return r.count(user), nil
}

// Continue counts a run that is not refused until end is called: one that has begun earlier,
// or that begins once another run of the user has ended, in its place.
func (r *Running) Continue(user string) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count(user)
}

func (r *Running) count(user string) (end func()) {
	r.of[user]++
	return func() { r.end(user) }
}

func (r *Running) end(user string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[user]--; r.of[user] <= 0 {
		delete(r.of, user)
	}
}
