package eventlog

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas/runlog"
)

// all returns the events of a log after the number.
func all(l *Log, after int64) (events []runlog.Event) {
	tail := l.Tail(after)
	for {
		list, _ := tail.Next()
		if len(list) == 0 {
			return events
		}
		events = append(events, list...)
	}
}

// A log that is fed the events of another one in pieces that are lost, doubled and
// reordered has the same events, once what it misses has come again.
func TestFeed(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 1))
		owner, mirror := testLog(2), testLog(2)
		for n := range 3000 {
			piece := strings.Repeat("x", random.IntN(40))
			bodies := []runlog.Body{
				text(piece), &runlog.Thinking{Text: piece}, &runlog.Arguments{Text: piece}, &runlog.ThreadText{Text: piece}, &runlog.Marker{Text: piece}, &runlog.KeptText{Text: piece},
				&runlog.LevelEnd{Depth: runlog.GroupLevel, Type: piece}, &runlog.ToolProgress{Tool: "t", Message: piece},
			}
			body := bodies[random.IntN(len(bodies))]
			if n%500 == 250 {
				body = text(strings.Repeat("y", runlog.LargeEvent))
			}
			if err := owner.Append(runlog.Level{Thread: uint32(n)}, body); err != nil {
				t.Fatal(err)
			}
		}
		end := runlog.Event{Body: &runlog.Cancelled{}}
		owner.Seal(&end)
		owner.Publish(end)
		events := all(owner, 0)
		var pieces [][]byte
		for rest := events; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(200))
			pieces = append(pieces, appendEvents(nil, rest[:n]))
			rest = rest[n:]
		}
		for range len(pieces) {
			if _, err := mirror.Feed(pieces[random.IntN(len(pieces))]); err != nil && !errors.Is(err, ErrGap) {
				t.Fatal(err)
			}
		}
		for _, piece := range pieces {
			if _, err := mirror.Feed(piece); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(events, all(mirror, 0), cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Shared" }, cmp.Ignore())); diff != "" {
			t.Fatalf("seed %d (-owner's +mirror's):\n%s", seed, diff)
		}
		if !mirror.Closed() {
			t.Error("the log is open, want it closed by its terminal event")
		}
		if last, err := mirror.Feed(pieces[0]); last.Seq > 0 || err != nil {
			t.Errorf("known events again: got %v, %v; want nothing", last, err)
		}
	}
}

// The readers of a log share the frames of its last event, of its own process and of
// others: all of them need it at once, and for some it is read from the store.
func TestReadersShareTheLastEvent(t *testing.T) {
	end := runlog.Event{Body: &runlog.Completed{}}
	owner, mirror := testLog(1), testLog(1)
	if err := owner.Append(runlog.Level{}, text("a")); err != nil {
		t.Fatal(err)
	}
	for s := range owner.Seal(&end) {
		if _, err := mirror.Feed(s.Data); err != nil {
			t.Fatal(err)
		}
	}
	owner.Publish(end)
	for name, l := range map[string]*Log{"owner": owner, "mirror": mirror} {
		one, other := all(l, 0), all(l, 0)
		if len(one) != 2 || one[0].Shared != nil || one[1].Shared == nil || one[1].Shared != other[1].Shared {
			t.Errorf("%s: two readers get %+v and %+v, want the same frames for the last event only", name, one, other)
		}
	}
}

// An event of a kind that only a newer release knows keeps its number, and has no frame.
func TestFeedUnknownKind(t *testing.T) {
	segment := appendEvents(nil, []runlog.Event{{Seq: 1, Time: 5, Body: text("a")}})
	segment = append(segment, 99, 2, 2, 0, 0, 0, 3, 'n', 'e', 'w') // one event and one millisecond later
	segment = append(segment, appendEvents(nil, []runlog.Event{{Seq: 3, Time: 7, Body: text("b")}})...)
	l := testLog(1)
	if _, err := l.Feed(segment); err != nil {
		t.Fatal(err)
	}
	want := []runlog.Event{{Seq: 1, Time: 5, Body: text("a")}, {Seq: 2, Time: 6, Body: &runlog.Unknown{Kind: 99}}, {Seq: 3, Time: 7, Body: text("b")}}
	if diff := cmp.Diff(want, all(l, 0)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A closed log takes nothing more.
func TestFeedOfAClosedLog(t *testing.T) {
	l := testLog(1)
	l.Close()
	last, err := l.Feed(appendEvents(nil, []runlog.Event{{Seq: 1, Time: 5, Body: text("a")}}))
	if err != nil || last.Seq != 0 || l.Last() != 0 {
		t.Errorf("added up to %d, %v, want nothing", l.Last(), err)
	}
}
