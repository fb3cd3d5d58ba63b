package store

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// loadChats reads what the Begins need: keys used before, their chats (missing
// ones are made), and the unfinished runs in those chats.
func (b *batch) loadChats() error {
	if !b.hasBegins() {
		return nil
	}
	if err := b.loadKeys(); err != nil {
		return err
	}
	if err := b.checkQuota(); err != nil {
		return err
	}
	if err := b.loadStarted(); err != nil {
		return err
	}
	if err := b.findChats(); err != nil {
		return err
	}
	if err := b.loadOpen(); err != nil {
		return err
	}
	if err := b.loadTaken(); err != nil {
		return err
	}
	return b.makeChats()
}

// hasBegins reports whether a run begins.
func (b *batch) hasBegins() bool {
	return slices.ContainsFunc(b.writes, func(w *record.Write) bool { return w.Begin != nil })
}

// loadOpen reads the unfinished runs in the chats that exist.
func (b *batch) loadOpen() error {
	rows := make([][]any, 0, len(b.chats))
	for id := range b.chats {
		rows = append(rows, []any{id})
	}
	return b.tx.Ask(b.ctx, selectOpenRuns, rows, func(row sqldb.Scanner) error {
		var chat int64
		var run openRun
		if err := row.Scan(&chat, &run.id, &run.state); err != nil {
			return err
		}
		b.chats[chat].open = append(b.chats[chat].open, run)
		return nil
	})
}

// begins calls fn for each Begin without an outcome.
func (b *batch) begins(fn func(o *writeResult, g *record.Begin)) {
	for i, w := range b.writes {
		if o := &b.outcomes[i]; w.Begin != nil && o.err == nil && o.duplicateOf == 0 && b.runs[runID(w)] == nil {
			fn(o, w.Begin)
		}
	}
}

// loadKeys refuses invalid identifiers and idempotency keys that have a run,
// and finds the Begins that share a key.
func (b *batch) loadKeys() error {
	var rows [][]any
	b.begins(func(o *writeResult, g *record.Begin) {
		if !validIdentifiers(g) {
			o.err = errIdentifier
		} else if g.Run.IdempotencyKey != "" {
			rows = append(rows, []any{g.Run.Owner.ID, g.Run.IdempotencyKey})
		}
	})
	if len(rows) == 0 {
		return nil
	}
	used := make(map[ownedKey]bool)
	err := b.tx.Query(b.ctx, selectRunByKey, rows, func(row sqldb.Scanner) error {
		var k ownedKey
		if err := row.Scan(&k.owner, &k.key); err != nil {
			return err
		}
		used[k] = true
		return nil
	})
	first := make(map[ownedKey]int)
	for i, w := range b.writes {
		o := &b.outcomes[i]
		if w.Begin == nil || w.Begin.Run.IdempotencyKey == "" || o.err != nil || b.runs[runID(w)] != nil {
			continue
		}
		k := ownedKey{w.Begin.Run.Owner.ID, w.Begin.Run.IdempotencyKey}
		if used[k] {
			o.err = record.ErrDuplicate
		} else if o.duplicateOf = first[k]; o.duplicateOf == 0 {
			first[k] = i + 1
		}
	}
	return err
}

// loadTaken refuses ids of messages that are in use; those of answers may be of other
// answers in the same chat, which are finished or under way.
func (b *batch) loadTaken() error {
	var rows [][]any
	b.begins(func(_ *writeResult, g *record.Begin) {
		for _, id := range append(reserves(g), named(g)...) {
			rows = append(rows, []any{g.Run.Owner.ID, id})
		}
	})
	taken := make(map[ownedKey]earlierAnswer)
	err := b.tx.Query(b.ctx, selectTaken, rows, func(row sqldb.Scanner) error {
		k, a, err := scanTaken(row)
		taken[k] = a
		return err
	})
	here := make(map[ownedKey]string) // the chats of the ids that this batch reserves
	b.begins(func(o *writeResult, g *record.Begin) {
		ids := reserves(g)
		for _, id := range ids {
			k := ownedKey{g.Run.Owner.ID, id}
			a, used := taken[k]
			chat, reserved := here[k]
			switch {
			case reserved && chat != "" && chat == chatName(o, g), !reserved && used && a.held != 0 && o.chat != nil && a.held == o.chat.id:
				o.held = append(o.held, id)
			case reserved, used && (a.chat == 0 || a.held != 0 || o.chat == nil || a.chat != o.chat.id):
				o.err = schemas.ErrTaken
				return
			case used:
				o.replaces = append(o.replaces, a)
			}
		}
		for _, id := range ids {
			here[ownedKey{g.Run.Owner.ID, id}] = chatName(o, g)
		}
		for _, id := range named(g) {
			k := ownedKey{g.Run.Owner.ID, id}
			_, used := taken[k]
			if _, reserved := here[k]; used || reserved {
				o.err = schemas.ErrTaken
				return
			}
			here[k] = ""
		}
	})
	return err
}

// chatName is the same for all Begins of one chat; "" for a new chat without a key.
func chatName(o *writeResult, g *record.Begin) string {
	if o.chat != nil {
		return o.chat.key
	}
	return g.ChatKey
}

// has reports whether an id of the run's answer is that of another answer of its chat.
func (o *writeResult) has(id string) bool {
	return slices.Contains(o.held, id) || slices.ContainsFunc(o.replaces, func(a earlierAnswer) bool { return a.id == id })
}

// findChats looks up the chats that the Begins name.
func (b *batch) findChats() error {
	var ids []int64
	var keys []ownedKey
	b.begins(func(o *writeResult, g *record.Begin) {
		switch {
		case g.ConversationID != 0:
			ids = append(ids, g.ConversationID)
		case strings.HasPrefix(g.ChatKey, leftKey): // an answer in the chat led to it
			o.err = schemas.ErrNotFound
		case g.ChatKey != "":
			keys = append(keys, ownedKey{g.Run.Owner.ID, g.ChatKey})
		}
	})
	byKey := make(map[ownedKey]*chatState)
	found := func(row sqldb.Scanner) error {
		c := new(chatState)
		if err := row.Scan(&c.id, &c.owner, &c.key); err != nil {
			return err
		}
		if known := b.chats[c.id]; known != nil {
			c = known
		}
		b.chats[c.id], byKey[ownedKey{c.owner, c.key}] = c, c
		return nil
	}
	slices.SortFunc(keys, func(x, y ownedKey) int { return cmp.Or(cmp.Compare(x.owner, y.owner), cmp.Compare(x.key, y.key)) })
	named := make([][]any, 0, len(keys))
	for _, k := range slices.Compact(keys) {
		named = append(named, []any{k.owner, k.key})
	}
	if b.many {
		more, err := b.chatIDs(named)
		if err != nil {
			return err
		}
		ids, named = append(ids, more...), nil
	}
	slices.Sort(ids) // locked in the same order everywhere
	rows := make([][]any, 0, len(ids))
	for _, id := range slices.Compact(ids) {
		rows = append(rows, []any{id})
	}
	if err := b.tx.Ask(b.ctx, selectChat, rows, found); err != nil {
		return err
	}
	if err := b.tx.Query(b.ctx, selectChatByKey, named, found); err != nil {
		return err
	}
	b.begins(func(o *writeResult, g *record.Begin) {
		if g.ConversationID == 0 {
			o.chat = byKey[ownedKey{g.Run.Owner.ID, g.ChatKey}]
		} else if c := b.chats[g.ConversationID]; c != nil && c.owner == g.Run.Owner.ID {
			o.chat = c
		} else {
			o.err = schemas.ErrNotFound
		}
	})
	return nil
}

// chatIDs returns the ids of the chats under these keys, and of those whose runs end. Where
// other processes write too, all are locked by their ids.
func (b *batch) chatIDs(keys [][]any) (ids []int64, err error) {
	err = b.tx.Query(b.ctx, selectChatID, keys, func(row sqldb.Scanner) error {
		var id int64
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	})
	for _, w := range b.writes {
		if run := b.runs[runID(w)]; run != nil && w.Finish != nil {
			ids = append(ids, run.chat)
		}
	}
	return ids, err
}

// makeChats makes the missing chats. Begins under the same new key get the same chat.
func (b *batch) makeChats() error {
	made := make(map[ownedKey]*chatState)
	var chats []*chatState // of the rows
	var rows [][]any
	var failed error
	b.begins(func(o *writeResult, g *record.Begin) {
		if o.chat != nil {
			return
		}
		if g.Supersede != "" { // a new chat has nothing to replace
			o.err = schemas.ErrNotFound
			return
		}
		k := ownedKey{g.Run.Owner.ID, g.ChatKey}
		if k.key == "" {
			id, err := uuid.NewV7()
			failed = errors.Join(failed, err)
			k.key = id.String()
		}
		if o.chat = made[k]; o.chat != nil {
			return
		}
		o.chat, o.newChat = &chatState{owner: k.owner, key: k.key}, true
		made[k] = o.chat
		chats = append(chats, o.chat)
		at := values.Micros(g.Run.CreatedAt)
		rows = append(rows, []any{k.owner, k.key, values.Clean(g.Title), at, at, values.Bit(g.Unlisted)})
	})
	if failed != nil {
		return failed
	}
	err := b.tx.Insert(b.ctx, insertChat, "id", rows, func(i int, id int64) { chats[i].id, b.chats[id] = id, chats[i] })
	if err != nil {
		return err
	}
	if slices.ContainsFunc(chats, func(c *chatState) bool { return c.id == 0 }) {
		return sqldb.ErrRace
	}
	return nil
}

// dropChats deletes the chats that were made for Begins which were refused then.
func (b *batch) dropChats() {
	for i := range b.outcomes {
		o := &b.outcomes[i]
		begun := func(other writeResult) bool { return other.chat == o.chat && other.err == nil }
		if o.newChat && o.err != nil && !slices.ContainsFunc(b.outcomes, begun) {
			b.add(dropChat, o.chat.id)
		}
	}
}
