package store

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// Commit applies every write in one transaction and sets its Err: nil, or
// record.ErrFenced, record.ErrBusy, record.ErrDuplicate, record.ErrNotCurrent,
// schemas.ErrNotFound, schemas.ErrTaken, or the database's reason to refuse it. A write with an Err
// changes nothing and does not affect the others. The other parts of a queued
// Begin are not applied, because its run has not begun.
//
// Commit's own error means that it is unknown whether the writes were applied;
// it wraps record.ErrUnavailable while the database cannot be reached, or does
// not answer within the time of a change. The same writes may then be committed
// again: those that were applied are recognized and not applied twice. A write
// must not be part of two Commits at a time.
func (s *Store) Commit(ctx context.Context, writes []*record.Write) error {
	if len(writes) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(sqldb.Ahead(ctx), s.db.ChangeTime())
	defer cancel()
	return s.commit(ctx, writes, len(writes))
}

// commit commits the first n writes of a Commit or of what remains of it, within the time
// of its context.
func (s *Store) commit(ctx context.Context, remain []*record.Write, n int) error {
	writes := remain[:n]
	if grown := s.journal.grown(); len(grown) > 0 {
		if err := s.Tidy(ctx, grown); err != nil { // the writes of this commit do not depend on it
			s.untidy.Write(ctx, s.logger, slog.LevelWarn, "could not tidy the journal", slog.Any("error", err))
		}
	}
	if err := s.db.Index(ctx, true); err != nil { // a search looks through what is not in the index
		s.untidy.Write(ctx, s.logger, slog.LevelWarn, "could not bring new messages into the search index", slog.Any("error", err))
	}
	var b *batch
	err := s.db.Transact(ctx, func(tx sqldb.Session) error {
		b = newBatch(ctx, tx, writes, s.quota)
		b.remain, b.limits, b.many = remain, s.limits, s.many
		return b.apply()
	})
	switch {
	case err == nil:
		s.db.HadRoom()
		s.journal.grow(b.noted, b.ended)
		b.report()
		return nil
	case s.db.Away(err) && !canSplit(writes, err) || ctx.Err() != nil:
		return s.db.Fault("commit", err)
	case len(writes) == 1:
		writes[0].Err = s.db.Fault("commit", err)
		return nil
	}
	// The database refuses one of the writes, or one gives way to others: find it by bisection.
	half := n / 2
	if err := s.commit(ctx, remain, half); err != nil {
		return err
	}
	return s.commit(ctx, remain[half:], n-half)
}

// canSplit reports whether others may be stored without the write that gave way to another
// process. What a run writes after it has begun is not left out, because later writes
// depend on it.
func canSplit(writes []*record.Write, err error) bool {
	return sqldb.GaveWay(err) && (len(writes) > 1 || writes[0].Begin != nil)
}

// batch is one transaction of Commit: the data that it has read, and the rows
// that it will write.
type batch struct {
	ctx      context.Context //nolint:containedctx // lives as long as the call of Commit
	tx       sqldb.Session
	writes   []*record.Write
	remain   []*record.Write // writes, and those that the Commit has after them
	quota    int64           // see Options
	limits   StartLimits
	many     bool
	started  map[string]*started // by owner; nil without limits
	outcomes []writeResult
	runs     map[string]*runState
	chats    map[int64]*chatState
	used     map[usageKey]record.ModelUsage
	daily    map[dailyKey]dailyRuns
	rows     [statementCount][][]any
	entries  []packed.Entry // of the journal
	journal  []byte         // the row under construction
	replica  string         // whose runs it is of
	noted    noted
	ended    []string // runs that it ends
}

// writeResult is the result of a write, which is reported once the transaction is committed.
type writeResult struct {
	err error
	// skip is true if an earlier call has applied the write.
	skip bool
	// For a Begin:
	chat        *chatState
	newChat     bool
	duplicateOf int // 1 + the index of the earlier Begin with the same key
	state       schemas.RunState
	attempt     int
	busyRun     string
	branch      string // branch of the user's message if it is another version of one
	replaces    []earlierAnswer
	again       string   // the answer that is generated again, superseded
	held        []string // ids of the answer that other unfinished runs of the chat reserve
}

// chatState is a chat of the batch with its unfinished runs.
type chatState struct {
	id         int64
	owner, key string
	open       []openRun
}

type openRun struct {
	id    string
	state schemas.RunState
}

func newBatch(ctx context.Context, tx sqldb.Session, writes []*record.Write, quota int64) *batch {
	return &batch{
		ctx: ctx, tx: tx, writes: writes, quota: quota, outcomes: make([]writeResult, len(writes)), noted: noted{make(map[string]int), make(map[string]int)},
		runs: make(map[string]*runState, len(writes)), chats: make(map[int64]*chatState),
	}
}

// apply decides about each write in order and sends all rows, table by table.
func (b *batch) apply() error {
	if err := b.loadRuns(); err != nil {
		return err
	}
	if err := b.loadChats(); err != nil {
		return err
	}
	for i, w := range b.writes {
		if err := b.write(i, w); err != nil {
			return err
		}
	}
	b.dropChats()
	b.addUsed()
	b.addEntries()
	return b.send()
}

// send sends the rows so far, table by table.
func (b *batch) send() error {
	slices.SortFunc(b.rows[touchChat], func(x, y []any) int { return cmp.Compare(x[2].(int64), y[2].(int64)) }) //nolint:forcetypeassert // the chat's id
	for i, rows := range b.rows {
		if len(rows) == 0 {
			continue
		}
		if err := b.tx.Each(b.ctx, statements[i], rows); err != nil {
			return err
		}
		b.rows[i] = nil
	}
	return nil
}

// report sets the results of the writes.
func (b *batch) report() {
	for i, w := range b.writes {
		o := &b.outcomes[i]
		w.Err = o.err
		g := w.Begin
		if g == nil {
			continue
		}
		g.BusyRun, g.State, g.NewChat = o.busyRun, o.state, o.newChat && o.err == nil
		g.Replaces = len(o.replaces) > 0 && o.err == nil
		if o.chat != nil {
			g.Run.ConversationID, g.Run.ChatKey = o.chat.id, o.chat.key
		}
		if o.err == nil {
			g.Run.State, g.Run.Attempt = o.state, o.attempt
		}
	}
}

// runID returns the id of the run that w belongs to.
func runID(w *record.Write) string {
	if w.Begin != nil {
		return cmp.Or(w.RunID, w.Begin.Run.ID)
	}
	return w.RunID
}

// write adds the rows of one write, or sets its outcome.
func (b *batch) write(i int, w *record.Write) error {
	o := &b.outcomes[i]
	if w.Begin != nil {
		if err := b.begin(i, w); err != nil || o.err != nil || o.skip || o.state == schemas.RunQueued {
			return err
		}
	}
	run := b.runs[runID(w)]
	if w.Begin == nil && (run == nil || run.attempt != w.Attempt || run.state.Terminal()) {
		if !b.applied(run, i) {
			o.err = record.ErrFenced
		}
		return nil
	}
	if c := w.ToolCall; c != nil {
		b.toolCall(run, c)
	}
	if c := w.Wait; c != nil {
		b.add(insertWait, run.id, int64(c.Index), string(c.Kind), c.ID, values.Clean(c.ToolUseID), values.Clean(c.Tool), packed.Value(c.Input), string(c.Reason), values.Micros(c.CreatedAt), values.Micros(c.ExpiresAt))
		b.add(markWaiting, run.id)
	}
	for i := range w.Payloads {
		p := &w.Payloads[i]
		b.add(upsertPayload, run.chat, p.PayloadID, run.id, p.MessageID, values.Clean(p.Type), values.Clean(p.Source), values.Clean(p.Summary),
			packed.Value(p.Data), values.Clean(p.Outcome), values.Micros(p.CreatedAt))
	}
	if w.Finish != nil {
		return b.finish(run, w.Finish)
	}
	b.note(run, w)
	return nil
}

// applied reports whether write i was already committed by an earlier call
// whose result was lost. That is so if this attempt ended the run: then its end
// is in this Commit too, as write i or after it.
func (b *batch) applied(run *runState, i int) bool {
	if run == nil || !run.over || run.attempt != b.writes[i].Attempt {
		return false
	}
	return slices.ContainsFunc(b.remain[i:], func(other *record.Write) bool {
		f := other.Finish
		return f != nil && runID(other) == run.id && other.Attempt == run.attempt && f.State == run.state &&
			run.endedAt != 0 && values.Micros(f.EndedAt) == run.endedAt
	})
}

func (b *batch) add(statement int, args ...any) {
	b.rows[statement] = append(b.rows[statement], args)
}

func (b *batch) toolCall(run *runState, c *record.ToolCall) {
	var payload, modelOutput any
	if c.Payload != nil {
		payload = packed.Value(c.Payload.AppendJSON(nil))
	}
	if c.ModelOutput != c.Output {
		modelOutput = packed.Value(c.ModelOutput)
	}
	b.add(upsertToolCall, run.id, int64(c.Index), values.Clean(c.ToolUseID), values.Clean(c.Name), string(c.State), int64(cmp.Or(c.Attempt, run.attempt)),
		packed.Value(c.Input), packed.Value(c.Output), modelOutput, c.IsError, payload, values.Micros(c.StartedAt), c.Duration.Microseconds())
}

// finish ends the run.
func (b *batch) finish(run *runState, f *record.Finish) error {
	b.add(deleteSegments, run.id, int64(run.attempt))
	if f.Message != nil && !f.Restores {
		b.add(releaseBlock, run.owner, run.id) // its other ids are kept
	} else {
		b.add(releaseBlocks, run.owner, run.id)
	}
	if f.Restores || f.Message == nil {
		if err := b.restore(run, f); err != nil {
			return err
		}
	}
	if f.Log != nil {
		for s := range f.Log {
			b.add(insertLog, run.id, s.First, s.Last, int64(run.attempt), packed.Log(s.Data))
		}
	}
	if f.Trace != nil {
		b.add(upsertTrace, run.id, packed.Log(f.Trace))
	}
	b.add(deleteCheckpoints, run.id)
	if b.many {
		b.add(dropClaims, run.id)
	}
	if f.Message != nil {
		if err := b.message(run.owner, run.chat, f.Message, cmp.Or(f.Message.RunID, run.id), "", nil); err != nil {
			return err
		}
	}
	b.use(run, f)
	run.state, run.endedAt = f.State, values.Micros(f.EndedAt)
	b.ended = append(b.ended, run.id)
	var code, text, kept string // kept is the existing message
	if f.Message != nil {
		kept = f.Message.ID
	}
	if f.Error != nil {
		code, text = string(f.Error.Code), values.Clean(f.Error.Message)
	}
	b.add(finishRun, string(f.State), string(f.StopReason), int64(f.Usage.InputTokens), int64(f.Usage.OutputTokens), int64(f.Usage.TotalTokens),
		int64(f.Usage.CostUSD), code, text, kept, f.LastSeq, run.endedAt, values.Clean(f.Model), run.id)
	b.add(touchChat, run.endedAt, run.endedAt, run.chat)
	if chat := b.chats[run.chat]; chat != nil {
		chat.open = slices.DeleteFunc(chat.open, func(o openRun) bool { return o.id == run.id })
	}
	return nil
}

// message adds a message's block, with its files. Branch is set for another
// version of a question.
func (b *batch) message(owner string, chat int64, m *schemas.Message, run, branch string, files []schemas.Attachment) error {
	data, err := messageData(m)
	if err != nil {
		return fmt.Errorf("message: %w", err)
	}
	answers, version := run, any(nil)
	if m.Role == roleUser {
		answers = ""
	}
	if branch != "" {
		version = branch
	}
	b.add(insertBlock, owner, m.ID, chat, values.Clean(m.Role), values.Clean(cmp.Or(m.Type, blockMarkdown)), values.Clean(m.Content), run, data, values.Micros(m.CreatedAt),
		string(m.Status), answers, version)
	for n, f := range files {
		b.add(insertAttachment, owner, m.ID, int64(n), values.Clean(f.Name), values.Clean(f.MIME), packed.Value(f.Content))
	}
	return nil
}

// The roles of messages.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)
