package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/packed"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
)

// Limits of the journal.
const (
	// journalRows and journalBytes bound the journal: beyond them it is tidied.
	journalRows, journalBytes = 512, 8 << 20
	// journalOver is how much of runs that have ended it may have, if that is at least
	// half of it: tidying takes as long as there is data, and commits wait for it.
	journalOver = 1 << 20
	// journalRow is the size from which the entries of a commit continue in another row.
	journalRow = 4 << 20
)

// The journal holds the data of running runs that is needed only until they
// end: their events and checkpoints. All runs of a commit share a row, so that
// a commit is one write at the end of one table. When the journal has grown, it
// is tidied: data that is not in the log of an ended run moves to segments and
// checkpoints, the rest is deleted. A row has only what runs of one replica
// wrote, so that each replica tidies its own. A replica that takes runs of
// others tidies their rows before it reads the runs: then the data of earlier
// attempts is in its final place.

// journalSize is how much this store has written, by replica, since it last tidied.
// It is safe for concurrent use.
type journalSize struct {
	mu          sync.Mutex
	rows, bytes int
	// over is how many of the bytes are of runs that have ended, runs how many are of each
	// of the others.
	over     int
	runs     map[string]int
	replicas []string
}

// noted is what a commit writes to the journal, in bytes.
type noted struct {
	replicas, runs map[string]int
}

// grow counts what a commit has written, and ended, the runs that it has ended.
func (j *journalSize) grow(n noted, ended []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for replica, bytes := range n.replicas {
		j.rows++
		j.bytes += bytes
		if !slices.Contains(j.replicas, replica) {
			j.replicas = append(j.replicas, replica)
		}
	}
	if j.runs == nil {
		j.runs = make(map[string]int)
	}
	for run, bytes := range n.runs {
		j.runs[run] += bytes
	}
	for _, run := range ended {
		j.over += j.runs[run]
		delete(j.runs, run)
	}
}

// ripen makes the next commit tidy.
func (j *journalSize) ripen() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rows = journalRows
}

// grown returns the replicas whose rows are to be tidied now, and counts from 0 again.
func (j *journalSize) grown() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.rows < journalRows && j.bytes < journalBytes && (j.over < journalOver || 2*j.over < j.bytes) {
		return nil
	}
	replicas := j.replicas
	j.rows, j.bytes, j.over, j.runs, j.replicas = 0, 0, 0, nil, nil
	return replicas
}

// restore takes back what grown has returned.
func (j *journalSize) restore(replicas []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rows = journalRows
	for _, replica := range replicas {
		if !slices.Contains(j.replicas, replica) {
			j.replicas = append(j.replicas, replica)
		}
	}
}

// note keeps what the write adds to the journal.
func (b *batch) note(run *runState, w *record.Write) {
	if w.Segment != nil || w.Checkpoint != nil {
		b.entries = append(b.entries, packed.Entry{Run: run.id, Attempt: run.attempt, Segment: w.Segment, Checkpoint: w.Checkpoint})
	}
}

// addEntries adds the rows of the journal. A run that the batch ends needs nothing there.
func (b *batch) addEntries() {
	entries := slices.DeleteFunc(b.entries, func(e packed.Entry) bool { return b.runs[e.Run].state.Terminal() })
	for i, e := range entries {
		run := b.runs[e.Run]
		if b.replica != run.replica {
			b.endRow()
			b.replica = run.replica
		}
		if b.journal == nil {
			b.journal = make([]byte, 0, rowSize(entries[i:]))
		}
		before := len(b.journal)
		b.journal = packed.AppendEntry(b.journal, e)
		b.noted.runs[run.id] += len(b.journal) - before
		if len(b.journal) >= journalRow {
			b.endRow()
		}
	}
	b.endRow()
}

// rowSize is about the size of the row that begins with the first of the entries.
func rowSize(entries []packed.Entry) (size int) {
	for i := 0; i < len(entries) && size < journalRow; i++ {
		size += entries[i].MaxSize()
	}
	return size
}

func (b *batch) endRow() {
	if len(b.journal) == 0 {
		return
	}
	b.add(insertJournal, b.replica, b.journal)
	b.noted.replicas[b.replica] += len(b.journal)
	b.journal = nil
}

// runEntries are the journal's entries of one run, or of one attempt.
type runEntries struct {
	segments    []record.Segment
	checkpoints []record.Checkpoint
}

// add adds an entry that was written after the present ones. A commit whose
// result was lost may have been repeated, with the same data or more: the newer
// data is used.
func (r *runEntries) add(e packed.Entry) {
	if s := e.Segment; s != nil {
		for len(r.segments) > 0 && r.segments[len(r.segments)-1].First >= s.First {
			r.segments = r.segments[:len(r.segments)-1]
		}
		r.segments = append(r.segments, *s)
	}
	if c := e.Checkpoint; c != nil {
		r.checkpoints = mergeCheckpoints(r.checkpoints, []record.Checkpoint{*c})
	}
}

// joined returns the segments, with adjacent ones joined.
func (r *runEntries) joined() []record.Segment {
	var list []record.Segment
	for _, s := range r.segments {
		if n := len(list); n > 0 && list[n-1].Last+1 == s.First {
			list[n-1].Last, list[n-1].Data = s.Last, append(list[n-1].Data, s.Data...)
			continue
		}
		s.Data = slices.Clone(s.Data)
		list = append(list, s)
	}
	return list
}

// mergeCheckpoints merges newer ones into older ones, in order.
func mergeCheckpoints(old, newer []record.Checkpoint) []record.Checkpoint {
	for _, c := range newer {
		old = slices.DeleteFunc(old, func(o record.Checkpoint) bool { return o.N == c.N })
		old = append(old, c)
	}
	slices.SortStableFunc(old, func(a, b record.Checkpoint) int { return cmp.Compare(a.N, b.N) })
	return old
}

// mergeSegments merges newer ones into older ones, in order, and leaves out
// those whose events are in another one.
func mergeSegments(old, newer []record.Segment) []record.Segment {
	all := append(old, newer...)
	slices.SortStableFunc(all, func(a, b record.Segment) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(b.Last, a.Last))
	})
	var through int64
	return slices.DeleteFunc(all, func(s record.Segment) bool {
		covered := s.Last <= through
		through = max(through, s.Last)
		return covered
	})
}

// readJournal returns what the journal holds for the run; nothing if the run
// has ended. Only rows of the run's replica are read: a replica that takes a
// run first tidies the rows of the former one, and only then writes.
func (s *Store) readJournal(ctx context.Context, id string) (runEntries, error) {
	var found runEntries
	err := s.eachEntry(ctx, func(e packed.Entry) {
		if e.Run == id {
			found.add(e)
		}
	}, "= (SELECT replica FROM runs WHERE id = ? AND "+tables.OpenStates+")", id)
	return found, err
}

// readJournals returns what the journal holds for each of the runs. Their replicas do not
// change meanwhile.
func (s *Store) readJournals(ctx context.Context, ids []string) (map[string]*runEntries, error) {
	found := make(map[string]*runEntries, len(ids))
	for _, id := range ids {
		found[id] = new(runEntries)
	}
	var replicas []string
	err := s.db.Read(ctx).Raw("SELECT DISTINCT replica FROM runs WHERE id IN ? AND "+tables.OpenStates, ids).Scan(&replicas).Error
	if err != nil || len(replicas) == 0 {
		return found, err
	}
	err = s.eachEntry(ctx, func(e packed.Entry) {
		if of := found[e.Run]; of != nil {
			of.add(e)
		}
	}, "IN ?", replicas)
	return found, err
}

// eachEntry calls do for the entries in the rows of some replicas, in order. An entry
// shares the memory of its row.
func (s *Store) eachEntry(ctx context.Context, do func(packed.Entry), replicas string, args ...any) error {
	var rows []struct{ Data []byte }
	err := s.db.Read(ctx).Raw("SELECT data FROM journal WHERE replica "+replicas+" ORDER BY n", args...).Scan(&rows).Error
	for _, row := range rows {
		entries, broken := packed.Entries(row.Data)
		err = errors.Join(err, broken)
		for _, e := range entries {
			do(e)
		}
	}
	return err
}

// attemptKey is an attempt of a run.
type attemptKey struct {
	run     string
	attempt int
}

// Tidy moves what the journal holds of these replicas' runs to its final place; nil is
// of all.
//
// It does so in a transaction of its own: it waits for the locks of runs while it holds
// rows of the journal, and no other code takes them in the other order. A row that
// cannot be read is logged and deleted, because it would block all writes.
func (s *Store) Tidy(ctx context.Context, replicas []string) error {
	err := s.db.Batch(ctx, func(ctx context.Context, tx sqldb.Session) error {
		found, err := s.takeJournal(ctx, tx, replicas)
		if err != nil || len(found) == 0 {
			return err
		}
		return move(ctx, tx, found)
	})
	if err != nil {
		s.journal.restore(replicas)
	}
	return s.db.Fault("tidy the journal", err)
}

// takeJournal deletes the rows of the journal and returns what was in them.
func (s *Store) takeJournal(ctx context.Context, tx sqldb.Session, replicas []string) (map[attemptKey]*runEntries, error) {
	type journalRow struct {
		n    int64
		data []byte
	}
	statement, args := takeAllJournal, []any(nil)
	if replicas != nil {
		among, err := json.Marshal(replicas)
		if err != nil {
			return nil, err
		}
		statement, args = takeJournal, []any{string(among)}
	}
	var rows []journalRow
	err := tx.Query(ctx, statement, [][]any{args}, func(row sqldb.Scanner) error {
		var r journalRow
		if err := row.Scan(&r.n, &r.data); err != nil {
			return err
		}
		rows = append(rows, r)
		return nil
	})
	slices.SortFunc(rows, func(a, b journalRow) int { return cmp.Compare(a.n, b.n) })
	found := make(map[attemptKey]*runEntries)
	for _, row := range rows {
		entries, broken := packed.Entries(row.data)
		if broken != nil {
			s.logger.Error("a row of the journal is broken", "row", row.n, "error", broken)
		}
		for _, e := range entries {
			key := attemptKey{e.Run, e.Attempt}
			if found[key] == nil {
				found[key] = new(runEntries)
			}
			found[key].add(e)
		}
	}
	return found, err
}

// move stores the data of unfinished runs, and for ended runs the events of all
// attempts but the last.
func move(ctx context.Context, tx sqldb.Session, found map[attemptKey]*runEntries) error {
	ids := make([]string, 0, len(found))
	for key := range found {
		ids = append(ids, key.run)
	}
	runs := make(map[string]*runState)
	if err := lockRuns(ctx, tx.Query, ids, func(run *runState) { runs[run.id] = run }); err != nil {
		return err
	}
	var segments, checkpoints [][]any
	for key, entries := range found {
		run := runs[key.run]
		if run == nil || run.over && run.attempt == key.attempt {
			continue
		}
		for _, s := range entries.joined() {
			segments = append(segments, []any{run.id, s.First, s.Last, int64(key.attempt), packed.Log(s.Data)})
		}
		for _, c := range entries.checkpoints {
			if !run.over {
				checkpoints = append(checkpoints, []any{run.id, int64(c.N), packed.Plain(c.Data)})
			}
		}
	}
	if err := tx.Each(ctx, upsertSegment, segments); err != nil {
		return err
	}
	return tx.Each(ctx, upsertCheckpoint, checkpoints)
}
