package storetest

import (
	"database/sql"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// testTickets is the tickets of several processes.
func testTickets(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	add := func(name, owner string, life time.Duration, ends time.Time, want bool) {
		t.Helper()
		added, err := r.AddTicket(f.ctx, record.Ticket{Hash: []byte(name), Owner: owner, Identity: []byte("who " + name), Ends: ends}, life, 2)
		must(t, err)
		equal(t, name+" was added", added, want)
	}
	take := func(name, run string, want bool) {
		t.Helper()
		identity, err := r.TakeTicket(f.ctx, []byte(name), run, time.Hour)
		if !want {
			fails(t, name+" for "+run, err, schemas.ErrNotFound)
			return
		}
		must(t, err)
		equal(t, name+" for "+run, string(identity), "who "+name)
	}
	take("unknown", "", false)
	add("socket", "ann", time.Minute, time.Time{}, true)
	take("socket", "", true)
	take("socket", "", false)
	take("socket", "r", false)

	add("stream", "ann", time.Minute, time.Now().Add(time.Hour), true)
	take("stream", "r1", true)
	take("stream", "r2", false)
	take("stream", "", false)
	take("stream", "r1", true)

	add("late", "ann", -time.Second, time.Time{}, true)
	take("late", "", false)
	take("late", "r1", false)
	add("of a token that has ended", "ann", time.Minute, time.Now().Add(-time.Second), true)
	take("of a token that has ended", "r1", false)

	for n := range 3 { // bound ones do not count, but only two of them are kept
		add("bound"+strconv.Itoa(n), "bob", time.Minute, time.Time{}, true)
		take("bound"+strconv.Itoa(n), "r", true)
	}
	add("first", "bob", time.Minute, time.Time{}, true)
	add("second", "bob", time.Minute, time.Time{}, true)
	add("third", "bob", time.Minute, time.Time{}, false)
	add("another user's", "ann", time.Minute, time.Time{}, true)
	take("bound0", "r", false)
	take("bound2", "r", true)

	var group sync.WaitGroup
	var opened atomic.Int64
	for range 8 {
		group.Go(func() {
			if _, err := r.TakeTicket(f.ctx, []byte("first"), "", time.Hour); err == nil {
				opened.Add(1)
			}
		})
	}
	group.Wait()
	equal(t, "websockets that one ticket opened", opened.Load(), 1)

	db, err := sql.Open("pgx", url)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	expired := func() (n int) {
		t.Helper()
		must(t, db.QueryRowContext(f.ctx, "SELECT COUNT(*) FROM tickets WHERE until <= clock_timestamp()").Scan(&n))
		return n
	}
	add("of a user who is forgotten", "eve", time.Minute, time.Time{}, true)
	take("of a user who is forgotten", "r", true)
	_, _, err = r.TakeClaim(f.ctx, record.Claim{Run: "deleted", Owner: "eve", Document: "d", Blocks: []string{"b"}}, "a", false)
	must(t, err)
	must(t, f.store.ForgetUser(f.ctx, "eve", "2026-11-20"))
	for _, table := range []string{"tickets", "claims"} {
		n := 0
		must(t, db.QueryRowContext(f.ctx, "SELECT COUNT(*) FROM "+table+" WHERE owner = 'eve'").Scan(&n))
		equal(t, "of a user who is forgotten in "+table, n, 0)
	}
	take("bound2", "r", true)

	add("expired", "eve", -time.Second, time.Time{}, true)
	equal(t, "expired tickets that nothing has dropped", expired(), 1)
	more, err := r.DropTickets(f.ctx)
	must(t, err)
	equal(t, "there are more expired tickets", more, false)
	equal(t, "expired tickets that are left", expired(), 0)
}
