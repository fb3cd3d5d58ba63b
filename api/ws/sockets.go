package ws

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/schemas"
)

// restarts is the close reason after which a client should reconnect.
const restarts = "the service restarts; come back and resume"

// Sockets are the open websockets of a service, and which of them watch which
// chat of which user. http.Server.Shutdown knows nothing of them. It is safe for
// concurrent use.
type Sockets struct {
	mu       sync.Mutex
	all      map[*socket]bool
	watching map[[2]string]*audience
	starts   Starts         // nil for a service of one process
	work     sync.WaitGroup // all handlers
	stopping bool

	looking sync.Mutex // held while runs of other processes are looked for and shown
}

// NewSockets returns an empty set of sockets. Starts finds the runs that other processes
// start; it is nil for a service of one process.
func NewSockets(starts Starts) *Sockets {
	return &Sockets{all: map[*socket]bool{}, watching: map[[2]string]*audience{}, starts: starts}
}

// Shutdown closes the sockets with 1012, so that their clients reconnect, and
// waits until all handlers have ended, at most until ctx ends. No socket is
// opened after that. Runs end earlier, with runs.Runs.Shutdown.
func (l *Sockets) Shutdown(ctx context.Context) {
	l.mu.Lock()
	l.stopping = true
	for k := range l.all {
		k.end(websocket.StatusServiceRestart, restarts)
	}
	l.mu.Unlock()
	gone := make(chan struct{})
	go func() { l.work.Wait(); close(gone) }()
	select {
	case <-gone:
	case <-ctx.Done():
	}
}

// begin counts a handler as active until done is called.
func (l *Sockets) begin() (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping {
		return nil, schemas.NewError(schemas.CodeShuttingDown, "the service is stopping")
	}
	l.work.Add(1)
	return l.work.Done, nil
}

func (l *Sockets) open(k *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[k] = true; l.stopping {
		k.end(websocket.StatusServiceRestart, restarts)
	}
}

func (l *Sockets) closed(k *socket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, k)
}

// join makes a socket watch a chat, from the place that mark returned. It reports false if
// that was watched and nobody watches the chat any more.
func (l *Sockets) join(k *socket, chat string, after int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]string{k.user.ID, chat}
	a := l.watching[key]
	if a == nil {
		if after == watchedHere {
			return false
		}
		a = &audience{sockets: map[*socket]bool{}, after: after}
		l.watching[key] = a
	}
	a.sockets[k] = true
	return true
}

func (l *Sockets) leave(k *socket, chat string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]string{k.user.ID, chat}
	a := l.watching[key]
	if a == nil {
		return
	}
	if delete(a.sockets, k); len(a.sockets) == 0 {
		delete(l.watching, key)
	}
}

// show shows a run to everybody who watches its chat.
func (l *Sockets) show(owner, chat, run string) {
	l.mu.Lock()
	var list []*socket
	if a := l.watching[[2]string{owner, chat}]; a != nil {
		list = slices.Collect(maps.Keys(a.sockets))
	}
	l.mu.Unlock()
	for _, k := range list {
		k.watchOnce(chat, run)
	}
}
