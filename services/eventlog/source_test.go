package eventlog

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas/runlog"
)

// A log that is fed from a source of another one, beginning anywhere and while that is
// written, has the same events. The ring tells when there is something to read.
func TestSource(t *testing.T) {
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 2))
		owner, mirror := testLog(2), testLog(2)
		rings := 0
		leave := owner.Listen(func() { rings++ })
		source, restarts := owner.Source(owner.Base()), 0
		read := func() {
			most := 1 + random.IntN(100_000)
			data, large, more := source.Append(nil, most)
			for !large && more && len(data) == 0 {
				t.Fatal("more events are there but none are returned")
			}
			if _, err := mirror.Feed(data); err != nil {
				t.Fatal(err)
			}
			if large {
				source = owner.Source(mirror.Last())
			}
			if random.IntN(20) == 0 {
				restarts++
				source = owner.Source(mirror.Last() - random.Int64N(mirror.Last()-owner.Base()+1))
			}
		}
		for n := range 3000 {
			body := text(strings.Repeat("x", random.IntN(200)))
			if n%500 == 250 {
				body = text(strings.Repeat("y", runlog.LargeEvent))
			}
			if err := owner.Append(runlog.Level{Thread: uint32(n)}, body); err != nil {
				t.Fatal(err)
			}
			if random.IntN(10) == 0 {
				read()
			}
		}
		end := runlog.Event{Body: &runlog.Cancelled{}}
		owner.Seal(&end)
		owner.Publish(end)
		for mirror.Last() < owner.Last() {
			read()
		}
		if diff := cmp.Diff(all(owner, 0), all(mirror, 0), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Shared" }, cmp.Ignore())); diff != "" || restarts == 0 {
			t.Fatalf("seed %d, %d restarts (-owner's +mirror's):\n%s", seed, restarts, diff)
		}
		if rings != 3001 {
			t.Errorf("%d rings, want one for each of 3001 events", rings)
		}
		leave()
		owner.Close()
		if rings != 3001 {
			t.Error("it rings after leave")
		}
	}
}

// A source skips an event that is larger than what may be returned at once, and says so.
func TestSourceOfLarge(t *testing.T) {
	owner := testLog(1)
	for _, body := range []runlog.Body{text("a"), text(strings.Repeat("y", 2*runlog.LargeEvent)), text("b")} {
		if err := owner.Append(runlog.Level{}, body); err != nil {
			t.Fatal(err)
		}
	}
	source := owner.Source(0)
	var got []int64
	for _, wantLarge := range []bool{false, true, false} {
		data, large, _ := source.Append(nil, runlog.LargeEvent)
		events, err := Decode(data)
		if err != nil || large != wantLarge {
			t.Errorf("large is %v, error %v; want %v", large, err, wantLarge)
		}
		for _, e := range events {
			got = append(got, e.Seq)
		}
		got = append(got, -source.Last())
	}
	if diff := cmp.Diff([]int64{1, -1, -2, 3, -3}, got); diff != "" {
		t.Errorf("events, and after each call the last number (-want +got):\n%s", diff)
	}
}
