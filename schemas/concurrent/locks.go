package concurrent

import (
	"context"
	"sync"
)

// Locks are locks by name. The zero value is ready; it is safe for concurrent use.
type Locks struct {
	mu  sync.Mutex
	all map[string]*lock
}

type lock struct {
	token chan struct{}
	users int
}

// Lock waits until nobody holds the lock of that name, at most until ctx ends; an
// error is its cause. The caller then holds it until unlock.
func (l *Locks) Lock(ctx context.Context, name string) (unlock func(), err error) {
	l.mu.Lock()
	named := l.all[name]
	if named == nil {
		named = &lock{token: make(chan struct{}, 1)}
		if l.all == nil {
			l.all = make(map[string]*lock)
		}
		l.all[name] = named
	}
	named.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if named.users--; named.users == 0 {
			delete(l.all, name)
		}
	}
	select {
	case named.token <- struct{}{}:
		return func() { <-named.token; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
