package api

import (
	"context"
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
	watching map[[2]string]map[*socket]bool
	work     sync.WaitGroup // all handlers
	stopping bool
}

// NewSockets returns an empty set of sockets.
func NewSockets() *Sockets {
	return &Sockets{all: map[*socket]bool{}, watching: map[[2]string]map[*socket]bool{}}
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

func (l *Sockets) join(k *socket, chat string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]string{k.user.ID, chat}
	if l.watching[key] == nil {
		l.watching[key] = map[*socket]bool{}
	}
	l.watching[key][k] = true
}

func (l *Sockets) leave(k *socket, chat string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]string{k.user.ID, chat}
	if delete(l.watching[key], k); len(l.watching[key]) == 0 {
		delete(l.watching, key)
	}
}

// started shows a run to everybody who watches its chat.
func (l *Sockets) started(user schemas.User, chat, run string) {
	l.mu.Lock()
	var list []*socket
	for k := range l.watching[[2]string{user.ID, chat}] {
		list = append(list, k)
	}
	l.mu.Unlock()
	for _, k := range list {
		k.watch(chat, run, 0)
	}
}
