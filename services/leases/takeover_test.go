package leases_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/services/leases"
)

// counted is what was told to Metrics. The loops of a replica tell it one at a time.
type counted struct {
	dead, letGo, fenced int
	took                []time.Duration
}

func (c *counted) RunsTaken(why string, n int) {
	if why == "dead" {
		c.dead += n
	} else {
		c.letGo += n
	}
}
func (c *counted) TookOver(took time.Duration) { c.took = append(c.took, took) }
func (c *counted) Fenced()                     { c.fenced++ }

// Runs of replicas that are gone, and runs that were let go, are taken separately and
// counted so. The time of a takeover is known only for the former.
func TestTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows, seen := newTable(), &counted{}
		b := start(t, rows, true)
		a := leases.New(context.Background(), leases.Options{Table: rows, Takeover: rows, Many: true, Time: lease, Metrics: seen})
		if err := a.Join(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var loops sync.WaitGroup
		loops.Go(func() { a.Renew(ctx, func(*leases.Lease) {}) })
		var groups [][]string
		loops.Go(func() {
			a.Look(ctx, func(ctx context.Context, from []string) error {
				groups = append(groups, from)
				a.Took(ctx, from, 0)
				began := a.Took(ctx, from, 2)
				began()
				return nil
			})
		})
		passes(time.Minute)
		left := a.Left()
		rows.letGo()
		b.end()
		passes(time.Minute)
		cancel()
		loops.Wait()
		a.Fenced()
		if want := [][]string{{""}, {b.Current().ID}}; !slices.EqualFunc(groups, want, slices.Equal) {
			t.Errorf("runs were taken of %q, want %q", groups, want)
		}
		if seen.dead != 2 || seen.letGo != 2 || seen.fenced != 1 || len(seen.took) != 1 || seen.took[0] < lease || seen.took[0] > lease+lease/2 {
			t.Errorf("counted %+v, want 2 dead, 2 let go, 1 fenced, and one takeover a little after the lease of %v", seen, lease)
		}
		if left <= lease/2 || left > lease || a.Left() <= 0 {
			t.Errorf("%v of the lease is left between renewals, %v at the end", left, a.Left())
		}
		passes(lease)
		if now := a.Left(); now != 0 {
			t.Errorf("%v is left of an expired lease, want nothing", now)
		}
	})
}
