package ws

import (
	"context"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Starts knows which runs all processes of the service have started.
type Starts interface {
	// LastPlace returns the place of the newest run of the owner's chat, 0 for none.
	LastPlace(ctx context.Context, owner, chat string) (int64, error)
	// StartedAfter returns the runs of these chats after their places, in order; of each
	// chat only a few.
	StartedAfter(ctx context.Context, chats []record.ChatPlace) ([]record.Started, error)
}

// audience are the sockets that watch a chat.
type audience struct {
	sockets map[*socket]bool
	// after is the place of the newest run that is shown. A run that was started here is
	// in shown, and then in before, until it has been found.
	after         int64
	shown, before map[string]bool
}

// seen reports whether a run that is found was started here.
func (a *audience) seen(run string) bool { return a.shown[run] || a.before[run] }

// watchedHere is the mark of a chat that somebody watches here, so that its place is known.
const watchedHere = -1

// mark returns the place from which a chat is to be watched, or watchedHere.
func (l *Sockets) mark(ctx context.Context, owner, chat string) (int64, error) {
	if l.starts == nil {
		return 0, nil
	}
	l.mu.Lock()
	known := l.watching[[2]string{owner, chat}] != nil
	l.mu.Unlock()
	if known {
		return watchedHere, nil
	}
	return l.starts.LastPlace(ctx, owner, chat)
}

// Watches reports whether a socket watches the owner's chat.
func (l *Sockets) Watches(owner, chat string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watching[[2]string{owner, chat}] != nil
}

// LookForStarts shows the runs that other processes have started in chats that are
// watched here. A service of one process needs no looks.
func (l *Sockets) LookForStarts(ctx context.Context) error {
	if l.starts == nil {
		return nil
	}
	l.looking.Lock()
	defer l.looking.Unlock()
	l.mu.Lock()
	chats := make([]record.ChatPlace, 0, len(l.watching))
	for key, a := range l.watching {
		chats = append(chats, record.ChatPlace{Owner: key[0], Chat: key[1], Place: a.after})
		a.before, a.shown = a.shown, nil
	}
	l.mu.Unlock()
	return l.lookIn(ctx, chats...)
}

// lookIn shows the runs of these chats that others have started. The caller holds
// l.looking, so that the runs of a chat are shown in their order.
func (l *Sockets) lookIn(ctx context.Context, chats ...record.ChatPlace) error {
	if len(chats) == 0 {
		return nil
	}
	list, err := l.starts.StartedAfter(ctx, chats)
	for _, run := range list {
		l.found(run)
	}
	return err
}

// Started shows a run of this process to everybody who watches its chat, after those that
// other processes have started there before.
func (l *Sockets) Started(ctx context.Context, user schemas.User, chat, run string) {
	if l.starts != nil && l.Watches(user.ID, chat) {
		l.looking.Lock()
		defer l.looking.Unlock()
		if place, watched := l.note(user.ID, chat, run); watched {
			_ = l.lookIn(context.WithoutCancel(ctx), place) // what is not found now is found later
		}
	}
	l.show(user.ID, chat, run)
}

// note notes a run that was started here, and returns the place after which the runs of
// its chat have not been found yet.
func (l *Sockets) note(owner, chat, run string) (place record.ChatPlace, watched bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.watching[[2]string{owner, chat}]
	if a == nil {
		return place, false
	}
	if a.shown == nil {
		a.shown = map[string]bool{}
	}
	a.shown[run] = true
	return record.ChatPlace{Owner: owner, Chat: chat, Place: a.after}, true
}

// found shows a run that was found in the database, unless it was started here.
func (l *Sockets) found(run record.Started) {
	l.mu.Lock()
	a := l.watching[[2]string{run.Owner, run.Chat}]
	if a == nil || run.Place <= a.after {
		l.mu.Unlock()
		return
	}
	a.after = run.Place
	seen := a.seen(run.RunID)
	l.mu.Unlock()
	if !seen {
		l.show(run.Owner, run.Chat, run.RunID)
	}
}
