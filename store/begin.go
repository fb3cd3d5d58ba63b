package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// errIdentifier is for an identifier that a database cannot store.
var errIdentifier = schemas.NewError(schemas.CodeInvalid, "an identifier is not valid text")

type ownedKey struct{ owner, key string }

// reserves returns the ids that the run reserves for its answer.
func reserves(g *record.Begin) []string {
	if !g.Reserve {
		return nil
	}
	return append([]string{g.Run.MessageID}, g.Aliases...)
}

// named returns the id that the client has chosen for the user's message.
func named(g *record.Begin) []string {
	if !g.Named || g.UserMessage == nil {
		return nil
	}
	return []string{g.UserMessage.ID}
}

// reserve reserves the ids of the run's answer.
func (b *batch) reserve(g *record.Begin, ids []string) error {
	rows := make([][]any, len(ids))
	for i, id := range ids {
		place := max(0, slices.Index(reserves(g), id)) // aliases have an order
		rows[i] = []any{g.Run.Owner.ID, id, g.Run.ID, values.Micros(g.Run.CreatedAt) + int64(place)}
	}
	reserved := 0
	err := b.tx.Insert(b.ctx, reserveName, "seq", rows, func(int, int64) { reserved++ })
	if err == nil && reserved < len(ids) {
		err = sqldb.ErrRace
	}
	return err
}

// reserveNamed makes another process wait that uses the id of the user's message at the same
// time. The message's own row takes the place of the reservation.
func (b *batch) reserveNamed(g *record.Begin) error {
	for _, id := range named(g) {
		if err := b.reserve(g, []string{id}); err != nil {
			return err
		}
		if err := b.tx.Each(b.ctx, dropName, [][]any{{g.Run.Owner.ID, id}}); err != nil {
			return err
		}
	}
	return nil
}

func validIdentifiers(g *record.Begin) bool {
	ids := []string{g.Run.ID, g.Run.Replica, g.Run.Owner.ID, g.Run.IdempotencyKey, g.Run.UserMessageID, g.Run.MessageID, g.ChatKey, g.Supersede}
	ids = append(ids, g.Aliases...)
	if g.UserMessage != nil {
		ids = append(ids, g.UserMessage.ID)
	}
	return !slices.ContainsFunc(ids, func(id string) bool { return !values.PlainText(id) })
}

// begin adds the rows of a Begin, or sets its outcome.
func (b *batch) begin(i int, w *record.Write) error {
	o, g := &b.outcomes[i], w.Begin
	if err := b.same(o, g); err != nil || o.err != nil {
		return err
	}
	if known := b.runs[runID(w)]; known != nil {
		return b.repeated(o, known, g)
	}
	if o.duplicateOf > 0 {
		earlier := b.outcomes[o.duplicateOf-1]
		o.err, o.busyRun = cmp.Or(earlier.err, record.ErrDuplicate), earlier.busyRun
		return nil
	}
	o.state, o.attempt = schemas.RunRunning, 1
	if g.Wait {
		o.state, o.attempt = schemas.RunQueued, 0
	}
	ended := 0 // how many runs of the chat end before this one begins
	if len(o.chat.open) > 0 {
		o.busyRun, o.state, o.attempt = underWay(o.chat.open), schemas.RunQueued, 0
		if !g.Queue {
			ended = len(o.chat.open)
		}
	}
	if err := b.mayStart(g, ended); err != nil { // before its caller ends others for it
		o.err, o.state, o.attempt = err, "", 0
		return nil
	}
	if ended > 0 {
		return b.refuse(o, g)
	}
	if o.state == schemas.RunQueued && g.MaxQueued > 0 && waiting(o.chat.open) >= g.MaxQueued {
		o.err, o.state, o.attempt = record.ErrQueueFull, "", 0
		return nil
	}
	if err := b.earlier(o, g); err != nil || o.err != nil {
		return err
	}
	if err := b.reserveNamed(g); err != nil {
		return err
	}
	if err := b.beginRows(o, g); err != nil {
		return err
	}
	id := runID(w)
	replaced, err := replacedIDs(o)
	if err != nil {
		return err
	}
	if replaced != "" {
		b.add(noteReplaced, replaced, id)
	}
	b.runs[id] = &runState{id: id, owner: g.Run.Owner.ID, chat: o.chat.id, state: o.state, attempt: o.attempt, replica: g.Run.Replica, page: values.Clean(g.Run.Page), replaced: replaced}
	o.chat.open = append(o.chat.open, openRun{id, o.state})
	b.hasStarted(g)
	return nil
}

// earlier decides what comes of the earlier messages and answers that the run replaces,
// and reserves the ids of its answer. A queued run leaves the ids that others have until
// it begins.
func (b *batch) earlier(o *writeResult, g *record.Begin) error {
	if g.Supersede != "" || g.UserMessage == nil || len(o.replaces) > 0 {
		if err := b.send(); err != nil { // the messages of this batch come before what replaces them
			return err
		}
	}
	if err := b.checkCurrent(o, g); err != nil || o.err != nil {
		return err
	}
	ids, waits := reserves(g), o.state == schemas.RunQueued
	if waits {
		ids = slices.DeleteFunc(ids, func(id string) bool { return o.has(id) })
		o.replaces = nil
	}
	first, err := b.free(o, g)
	switch {
	case err != nil:
		return err
	case first != "":
		err = b.supersede(o, g, first, supersedeMessages)
	case g.UserMessage == nil && !waits:
		err = b.supersedeAnswer(o, g)
	}
	if err != nil || o.err != nil {
		return err
	}
	if err := b.replace(o); err != nil {
		return err
	}
	return b.reserve(g, ids)
}

// waiting counts the queued runs of a chat.
func waiting(open []openRun) (n int) {
	for _, run := range open {
		if run.state == schemas.RunQueued {
			n++
		}
	}
	return n
}

// refuse sets the outcome of a Begin in a busy chat. A message that another request has
// just replaced is not found: its caller must not cancel the run of that request.
func (b *batch) refuse(o *writeResult, g *record.Begin) error {
	o.err, o.state = record.ErrBusy, ""
	if key := g.Run.IdempotencyKey; b.many && key != "" { // another process may have begun the run since the keys were read
		err := b.tx.Query(b.ctx, selectRunByKey, [][]any{{g.Run.Owner.ID, key}}, func(sqldb.Scanner) error {
			o.err = record.ErrDuplicate
			return nil
		})
		if err != nil || errors.Is(o.err, record.ErrDuplicate) {
			return err
		}
	}
	if g.Supersede == "" {
		return nil
	}
	place, _, err := b.current(o, g.Supersede)
	if place == 0 {
		o.err = schemas.ErrNotFound
	}
	return err
}

// same sets the outcome of a Begin that another process has begun too: the same request
// for the same answer. A single process knows its requests.
func (b *batch) same(o *writeResult, g *record.Begin) error {
	switch {
	case !b.many, !g.Reserve, o.err != nil && !errors.Is(o.err, schemas.ErrTaken):
		return nil
	case o.err == nil && (o.chat == nil || len(o.chat.open) == 0): // the id may be taken before the chat is seen
		return nil
	}
	return b.tx.Query(b.ctx, selectSame, [][]any{{g.Run.Owner.ID, g.Run.MessageID, g.Run.ID}}, func(row sqldb.Scanner) error {
		var id string
		var request []byte
		if err := row.Scan(&id, &request); err != nil {
			return err
		}
		request, err := packed.Open(request)
		if err == nil && repeats(g.Run.Request, request) {
			o.err, o.busyRun = record.ErrSame, id
		}
		return err
	})
}

// repeats reports whether a stored request asks for the same as an earlier one.
func repeats(request, earlier json.RawMessage) bool {
	var r, e schemas.ChatRequest
	return json.Unmarshal(request, &r) == nil && json.Unmarshal(earlier, &e) == nil && r.Repeats(&e)
}

// repeated sets the outcome of a Begin that an earlier call has applied.
func (b *batch) repeated(o *writeResult, run *runState, g *record.Begin) error {
	o.skip = true
	if run.owner != g.Run.Owner.ID {
		o.err = schemas.NewError(schemas.CodeConflict, "a run with this id already exists")
		return nil
	}
	o.state, o.attempt = run.state, run.attempt
	return b.tx.Query(b.ctx, selectChat, [][]any{{run.chat}}, func(row sqldb.Scanner) error {
		o.chat = new(chatState)
		return row.Scan(&o.chat.id, &o.chat.owner, &o.chat.key)
	})
}

// underWay returns the current run of a chat: the running one, else the first
// in the queue.
func underWay(open []openRun) string {
	for _, run := range open {
		if run.state != schemas.RunQueued {
			return run.id
		}
	}
	return open[0].id
}

// checkCurrent refuses a run that replaces a message which another request has replaced
// since this one was checked.
func (b *batch) checkCurrent(o *writeResult, g *record.Begin) error {
	if g.Supersede == "" {
		return nil
	}
	known, current := false, false
	err := b.tx.Query(b.ctx, selectMessage, [][]any{{o.chat.id, o.chat.owner, g.Supersede}}, func(row sqldb.Scanner) error {
		known = true
		return row.Scan(new(int64), new(string), new(string), &current)
	})
	switch {
	case err != nil:
		return err
	case !known:
		o.err, o.state = schemas.ErrNotFound, ""
	case !current:
		o.err, o.state = record.ErrNotCurrent, ""
	}
	return nil
}

// supersede marks the current message and all after it as replaced, with the statement for that
// and what it needs besides. Its replacement is another version of it.
func (b *batch) supersede(o *writeResult, g *record.Begin, first, statement string, more ...any) error {
	var place int64
	var role, branch string
	err := b.tx.Query(b.ctx, selectMessage, [][]any{{o.chat.id, o.chat.owner, first}}, func(row sqldb.Scanner) error {
		return row.Scan(&place, &role, &branch, new(bool))
	})
	if err != nil {
		return err
	}
	if role == roleUser {
		o.branch = cmp.Or(branch, first)
		branch = o.branch
	} else {
		branch = g.Run.UserMessageID
		o.again = first
	}
	if err := b.tx.Each(b.ctx, statement, [][]any{append([]any{first, o.chat.id, place}, more...)}); err != nil {
		return err
	}
	if err := b.tx.Each(b.ctx, nameBranch, [][]any{{branch, o.chat.owner, first}}); err != nil {
		return err
	}
	return b.tx.Each(b.ctx, dropSummary, [][]any{{o.chat.id, o.chat.id, place}})
}

func (b *batch) beginRows(o *writeResult, g *record.Begin) error {
	r, at := &g.Run, values.Micros(g.Run.CreatedAt)
	roles, err := text.Encode(r.Owner.Roles)
	if err != nil {
		return err
	}
	var key any
	if r.IdempotencyKey != "" {
		key = r.IdempotencyKey
	}
	b.add(insertRun, r.ID, o.chat.id, r.Owner.ID, values.Clean(r.Owner.Name), values.Clean(string(roles)), string(o.state), int64(o.attempt), packed.Value(r.Request),
		r.UserMessageID, r.MessageID, at, key, values.Clean(r.BodyHash), r.CancelRequested, r.Replica, values.Clean(r.Page))
	if o.newChat {
		for i := range g.History {
			m := g.History[i]
			if m.ID == "" {
				id, err := uuid.NewV7()
				if err != nil {
					return err
				}
				m.ID = id.String()
			}
			if m.CreatedAt.IsZero() {
				m.CreatedAt = r.CreatedAt
			}
			m.Status = cmp.Or(m.Status, schemas.MessageComplete)
			if err := b.message(o.chat.owner, o.chat.id, &m, m.RunID, "", nil); err != nil {
				return err
			}
		}
	} else {
		b.add(touchChat, at, at, o.chat.id)
	}
	if u := g.UserMessage; u != nil {
		m := u.Message
		m.ID = cmp.Or(m.ID, r.UserMessageID)
		return b.message(o.chat.owner, o.chat.id, &m, cmp.Or(m.RunID, r.ID), o.branch, u.Files)
	}
	return nil
}
