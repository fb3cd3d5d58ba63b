package ws

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/api/dialects"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/runlog"
)

// watched is a chat that a socket watches, with the runs to show.
type watched struct {
	runs    []followed // the first one is being shown
	running bool
	left    bool      // the chat is watched only until these runs have been shown
	since   time.Time // when the last run had been shown
	shown   []string  // the newest runs that have been shown to their end
	// behind is the run whose later ones are looked for when runs is empty; "" if none is
	// missing. Missed reports that one was started after the last look.
	behind string
	missed bool
}

// has reports whether a run is shown, waits to be shown, or has been shown.
func (w *watched) has(run string) bool {
	return slices.Contains(w.shown, run) || slices.ContainsFunc(w.runs, func(f followed) bool { return f.id == run })
}

type followed struct {
	id    string
	after int64
	over  bool // its last chunks are being sent
}

// listens reports whether the socket watches a chat.
func (k *socket) listens(chat string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.chats[chat] != nil
}

// shown returns the newest runs of each chat that have been shown to their end.
func (k *socket) shown() (runs []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.chats {
		runs = append(runs, w.shown...)
	}
	return runs
}

// listen makes the socket watch a chat.
func (k *socket) listen(ctx context.Context, chat string) error {
	for {
		after, err := k.server.Sockets.mark(ctx, k.user.ID, chat)
		if err != nil {
			return err
		}
		if joined, err := k.join(chat, after); joined || err != nil {
			return err
		}
	}
}

// join does what listen does, from the place that mark returned. It reports false if that
// no longer holds.
func (k *socket) join(chat string, after int64) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.chats[chat] == nil {
		if len(k.chats) >= maxChats {
			k.dropIdle()
		}
		if len(k.chats) >= maxChats {
			return false, schemas.NewError(schemas.CodeTooManyStreams, "this socket watches too many chats; stop one first")
		}
	}
	if !k.server.Sockets.join(k, chat, after) {
		return false, nil
	}
	if k.chats[chat] == nil {
		k.chats[chat] = &watched{}
	}
	k.chats[chat].left, k.chats[chat].since = false, time.Now()
	return true, nil
}

// dropIdle ends the watching of chats in which nothing has happened for long.
func (k *socket) dropIdle() {
	for chat, w := range k.chats {
		if !w.running && time.Since(w.since) >= k.server.SessionIdle {
			k.server.Sockets.leave(k, chat)
			delete(k.chats, chat)
		}
	}
}

// unlisten ends the watching of a chat; running runs are still shown to their
// end.
func (k *socket) unlisten(chat string) {
	k.server.Sockets.leave(k, chat)
	k.mu.Lock()
	defer k.mu.Unlock()
	if w := k.chats[chat]; w != nil {
		if w.left = true; !w.running {
			delete(k.chats, chat)
		}
	}
}

// watch shows a run after the runs of its chat that are in progress, also one that has been
// shown. A run that already waits to be shown starts from the larger of the two numbers.
func (k *socket) watch(chat, run string, after int64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.place(chat, run, after)
}

// watchFrom shows a run as watch does, and then all later runs of its chat.
func (k *socket) watchFrom(chat, run string, after int64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.place(chat, run, after)
	if w := k.chats[chat]; err == nil && w != nil && w.behind == "" {
		w.behind = run
	}
	return err
}

// place does what watch does. The caller has k.mu.
func (k *socket) place(chat, run string, after int64) error {
	w := k.chats[chat]
	if w == nil || k.ended {
		return nil
	}
	if i := slices.IndexFunc(w.runs, func(f followed) bool { return f.id == run && !f.over }); i >= 0 {
		w.runs[i].after = max(w.runs[i].after, after) // the run being shown has already read its number
		return nil
	}
	if len(w.runs) >= maxFollowed {
		return schemas.NewError(schemas.CodeTooManyStreams, "too many answers of this chat wait to be shown; read some first")
	}
	k.add(chat, w, followed{id: run, after: after})
	return nil
}

// watchOnce shows a run of a chat from its beginning, unless it has been shown. While
// runs are missing before it, it is found with them.
func (k *socket) watchOnce(chat, run string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.chats[chat]
	switch {
	case w == nil, k.ended, w.has(run):
	case w.behind != "":
		w.missed = true
	case len(w.runs) >= maxFollowed:
		w.behind = w.runs[len(w.runs)-1].id
	default:
		k.add(chat, w, followed{id: run})
	}
}

// add adds a run to those of a chat. The caller has k.mu.
func (k *socket) add(chat string, w *watched, f followed) {
	w.runs = append(w.runs, f)
	if !w.running {
		w.running = true
		k.work.Go(func() { k.follow(chat) })
	}
}

// lookBehind adds the next runs of a chat that have been missed.
func (k *socket) lookBehind(ctx context.Context, chat string) {
	k.mu.Lock()
	w := k.chats[chat]
	behind := w.behind
	w.missed = false
	k.mu.Unlock()
	list, err := k.server.Streams.Later(ctx, k.user, behind)
	if err != nil && ctx.Err() == nil && !errors.Is(err, schemas.ErrNotFound) {
		k.fail(ctx, err, schemas.Chunk{ChatID: chat, End: true})
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case err == nil && len(list) > 0:
		w.behind = list[len(list)-1]
	case err != nil || !w.missed:
		w.behind = ""
	}
	for _, run := range list {
		if !w.has(run) {
			w.runs = append(w.runs, followed{id: run})
		}
	}
}

// showAll shows the runs of a chat in their order, until there is none left.
func (k *socket) showAll(ctx context.Context, chat string) {
	for {
		k.mu.Lock()
		w := k.chats[chat]
		if len(w.runs) == 0 && w.behind != "" && ctx.Err() == nil {
			k.mu.Unlock()
			k.lookBehind(ctx, chat)
			continue
		}
		if len(w.runs) == 0 || ctx.Err() != nil {
			w.running, w.since = false, time.Now()
			if w.left {
				delete(k.chats, chat)
			}
			k.mu.Unlock()
			return
		}
		next := w.runs[0]
		k.mu.Unlock()
		k.show(ctx, chat, next)
		k.mu.Lock()
		if w.runs[0].over {
			w.shown = append(w.shown, next.id)
			w.shown = w.shown[max(0, len(w.shown)-maxFollowed):]
		}
		w.runs = w.runs[1:]
		k.mu.Unlock()
	}
}

// turnWait is the pause before a run is read again whose reader was refused for now.
const turnWait = time.Second

// show sends the chunks of a run, the past ones first. A socket shows one ended
// run at a time; others wait, at most as long as the socket lasts.
func (k *socket) show(ctx context.Context, chat string, f followed) {
	live, err := k.server.Streams.Live(ctx, k.user, chat)
	if err != nil || !slices.Contains(live, f.id) {
		select {
		case k.past <- struct{}{}:
			defer func() { <-k.past }()
		case <-ctx.Done():
			return
		}
	}
	show := dialects.NewBlocks(f.after)
	defer k.ends(f.id)
	for last := int64(0); ; {
		err := k.showAfter(ctx, chat, f.id, &last, show)
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, runlog.ErrEnded) && last > 0:
		case errors.Is(err, runlog.ErrInterrupted):
			k.end(websocket.StatusServiceRestart, restarts)
		case schemas.Visible(err).Code == schemas.CodeTooManyStreams: // the run still waits for its turn
			if concurrent.Pause(ctx, turnWait) == nil {
				continue
			}
		default:
			k.fail(ctx, err, schemas.Chunk{ChatID: chat, End: true})
		}
		return
	}
}

// showAfter sends the chunks of the events after the last one, and records its
// progress.
func (k *socket) showAfter(ctx context.Context, chat, run string, last *int64, show *dialects.Blocks) error {
	seq, err := k.server.Streams.Follow(ctx, k.user, run, *last, 0)
	if err != nil {
		return err
	}
	for events, err := range seq {
		if err != nil {
			return err
		}
		for i := range events {
			if events[i].Terminal() { // the client may resume the run as soon as it has this event
				k.mu.Lock()
				k.chats[chat].runs[0].over = true
				k.mu.Unlock()
			}
			k.begins(run, events[i].Body)
			for _, c := range show.Chunks(&events[i]) {
				if !k.sendOf(ctx, run, show.Since(), &c) {
					return nil
				}
			}
			*last = events[i].Seq
		}
	}
	return nil
}

// begins notes the blocks that the answer of a run goes to when the run begins.
func (k *socket) begins(run string, body runlog.Body) {
	var to runlog.Target
	switch b := body.(type) {
	case *runlog.Started:
		to = b.Target
	case *runlog.Attempt:
		to = b.Target
	default:
		return
	}
	k.sending.Lock()
	defer k.sending.Unlock()
	k.writes.note(run, &schemas.Chunk{BlockIDs: to.BlockIDs})
}

// ends forgets the blocks of a run that is no longer shown.
func (k *socket) ends(run string) {
	k.sending.Lock()
	defer k.sending.Unlock()
	k.writes.note(run, &schemas.Chunk{Type: schemas.ChunkRunEnd})
}
