package documents_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/documents"
)

// claimTable is the claims of all processes: each block has one holder.
type claimTable struct {
	mu      sync.Mutex
	holders map[string]string
	waits   map[string]string // by run, the holder for which it waits
	dropped []string
	err     error
}

func (c *claimTable) TakeClaim(_ context.Context, w record.Claim, _ string, waits bool) (string, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return "", false, c.err
	}
	for _, block := range w.Blocks {
		if holder := c.holders[block]; holder != "" && holder != w.Run {
			return holder, waits && c.wait(w.Run, holder), nil
		}
	}
	delete(c.waits, w.Run)
	for _, block := range w.Blocks {
		c.holders[block] = w.Run
	}
	return "", false, nil
}

// wait notes that a run waits for a holder, unless the holder waits for it.
func (c *claimTable) wait(run, holder string) (deadlock bool) {
	delete(c.waits, run)
	for next := holder; next != ""; next = c.waits[next] {
		if next == run {
			return true
		}
	}
	if c.waits == nil {
		c.waits = make(map[string]string)
	}
	c.waits[run] = holder
	return false
}

func (c *claimTable) LeaveClaim(_ context.Context, run string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waits, run)
	return nil
}

func (c *claimTable) DropClaims(_ context.Context, run, replica string, attempt int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropped = append(c.dropped, fmt.Sprint(run, " of ", replica, " after ", attempt))
	for block, holder := range c.holders {
		if holder == run {
			delete(c.holders, block)
		}
	}
	return nil
}

func (c *claimTable) ClaimedIn(context.Context, string, string) (string, error) { return "", nil }

func (c *claimTable) SetWriting(context.Context, string, string, bool) error { return nil }

func (c *claimTable) Rejected(context.Context, []string) ([]record.Claim, error) { return nil, nil }

func (c *claimTable) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// Where other processes run too, a claim is granted by the table of all, and tried again
// while another run holds it.
func TestSharedClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &claimTable{holders: map[string]string{"b": "elsewhere"}}
		d := documents.New(nil, nil, nil, nil, nil)
		d.Share(table, func() string { return "me" })
		claim := documents.Claim{Run: "r", Owner: "ann", Document: "d", Blocks: []string{"b"}}
		if holder, err := d.Claim(t.Context(), claim); holder != "elsewhere" || err != nil {
			t.Errorf("a block of another process is held by %q, %v, want elsewhere", holder, err)
		}
		if holder := d.Await(t.Context(), claim, time.Second); holder != "elsewhere" {
			t.Errorf("after a second it is held by %q, want elsewhere", holder)
		}
		if len(table.waits) > 0 {
			t.Errorf("after the wait the table has %v as waiting, want nobody", table.waits)
		}
		time.AfterFunc(900*time.Millisecond, func() { table.set(func() { delete(table.holders, "b") }) })
		began := time.Now()
		if holder := d.Await(t.Context(), claim, 0); holder != "" || time.Since(began) != time.Second {
			t.Errorf("granted after %v, holder %q, want after the next try, 1s", time.Since(began), holder)
		}
		if holder, err := d.Claim(t.Context(), documents.Claim{}); holder != "" || err != nil {
			t.Errorf("a claim of nothing: %q, %v, want it granted", holder, err)
		}
		d.Release("r", 1)
		d.Release("r", 1)
		d.Release("one without claims", 1)
		if !slices.Equal(table.dropped, []string{"r of me after 1"}) {
			t.Errorf("dropped %q, want the run's claims once", table.dropped)
		}
		table.set(func() { table.err = record.ErrUnavailable })
		if _, err := d.Claim(t.Context(), claim); !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("without the database: error %v, want record.ErrUnavailable", err)
		}
		if holder := d.Await(t.Context(), claim, time.Second); holder == "" {
			t.Error("without the database the claim was granted, want it to be held")
		}
	})
}
