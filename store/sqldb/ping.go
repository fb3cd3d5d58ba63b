package sqldb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// Limits of Ping.
const (
	// pingTime bounds a call of Ping, and probeTime the probe, whose reason for its end is
	// thus told.
	pingTime, probeTime = 2 * time.Second, 1800 * time.Millisecond
	// pingFresh is how long the result of a probe is reused.
	pingFresh = time.Second
	// roomTime is how long Ping reports a full disk after a write that found no
	// room; smaller writes may succeed meanwhile.
	roomTime = 30 * time.Second
)

// probe checks whether the database works, once for all callers.
type probe struct {
	mu sync.Mutex
	// underWay is closed at the end of the current probe; nil if there is none.
	underWay chan struct{}
	began    time.Time
	err      error
}

// Ping checks that the database answers and can write: a row is written and
// deleted again. The error is a schemas.Error that names the problem and wraps
// record.ErrUnavailable. Calls share a probe; at most one runs at a time. Its
// result is reused for a second, so Ping may be called often and by many
// callers.
func (u Upkeep) Ping(ctx context.Context) error {
	if u.db.closed.Load() {
		return u.db.Fault("ping", errClosed)
	}
	p := &u.db.probe
	p.mu.Lock()
	if p.underWay == nil {
		if !p.began.IsZero() && time.Since(p.began) < pingFresh {
			defer p.mu.Unlock()
			return p.err
		}
		p.began, p.underWay = time.Now(), make(chan struct{})
		go u.db.runProbe(context.WithoutCancel(ctx))
	}
	underWay, left := p.underWay, time.Until(p.began.Add(pingTime))
	p.mu.Unlock()
	// If the disk hangs, so does the probe.
	late := time.NewTimer(left)
	defer late.Stop()
	select {
	case <-underWay:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.err
	case <-late.C:
	case <-ctx.Done():
	}
	return unwell("the database does not answer", context.DeadlineExceeded)
}

func (d *DB) runProbe(ctx context.Context) {
	ctx, cancel := context.WithTimeout(Ahead(ctx), probeTime)
	defer cancel()
	err := d.works(ctx)
	p := &d.probe
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	close(p.underWay)
	p.underWay = nil
}

// works runs one probe.
func (d *DB) works(ctx context.Context) error {
	if err := d.check(); err != nil {
		return err
	}
	if d.room.short() {
		return unwell(schemas.ErrNoRoom.Error(), errors.New("a write found no room"))
	}
	err := d.batch(ctx, func(tx Session) error {
		var rows [][]any
		err := tx.Query(ctx, probeInsert, [][]any{{[]byte{0}}}, func(row Scanner) error {
			var n int64
			err := row.Scan(&n)
			rows = append(rows, []any{n})
			return err
		})
		if err != nil {
			return err
		}
		return tx.Each(ctx, probeDelete, rows)
	})
	switch {
	case err == nil:
		return nil
	case full(err):
		return unwell(schemas.ErrNoRoom.Error(), err)
	case readOnly(err):
		return unwell(readOnlyDatabase, err)
	case noRight(err):
		return unwell("the user of the database lacks a right", err)
	case broken(err):
		return unwell("the disk of the database reports errors", err)
	case locked(err):
		return unwell("the database file is locked by another process", err)
	case errors.Is(err, context.DeadlineExceeded):
		return unwell("the database does not answer", err)
	default:
		return unwell("the database is not available", err)
	}
}

// What a probe writes: a row of the journal, deleted in the same transaction.
const (
	probeInsert = `INSERT INTO journal (data) VALUES (?) RETURNING n`
	probeDelete = `DELETE FROM journal WHERE n = ?`
)

// readOnlyDatabase is Ping's message about a server, or a disk, that takes no writes.
const readOnlyDatabase = "the database is read-only"

// unwell returns Ping's error.
func unwell(message string, cause error) error {
	return schemas.NewError(schemas.CodeStoreUnavailable, message).Because(fmt.Errorf("store: ping: %w: %w", record.ErrUnavailable, cause))
}

// roomMemory is when a write last found no room on the disk; nil once a write
// has succeeded again.
type roomMemory struct{ at atomic.Pointer[time.Time] }

func (m *roomMemory) ran() {
	at := time.Now() // with its monotonic reading: the wall clock may be set
	m.at.Store(&at)
}

func (m *roomMemory) found() {
	if m.at.Load() != nil {
		m.at.Store(nil)
	}
}

func (m *roomMemory) short() bool {
	at := m.at.Load()
	return at != nil && time.Since(*at) < roomTime
}
