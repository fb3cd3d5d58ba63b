package readers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/readers"
)

// Readers that come, leave and come back with their cursors while the run moves between
// processes, the journal is tidied and the database goes away have read the stored log,
// each event once; whether the processes send their events or not, and whatever happens
// to the messages.
func TestUnion(t *testing.T) {
	for name, w := range map[string]*web{"none": nil, "memory": {}, "memory that loses, doubles and reorders": {lost: 0.1, doubled: 0.1, late: 0.1}} {
		t.Run(name, func(t *testing.T) { union(t, w) })
	}
}

func union(t *testing.T, w *web) {
	t.Helper()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random, coming := rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 4))
			d := newDatabase()
			processes := []process{{d: d, name: "a"}, {d: d, name: "c"}, {d: d, name: "b"}}
			b := start(t, d, func(o *readers.Options) {
				if w != nil {
					w := &web{lost: w.lost, doubled: w.doubled, late: w.late, random: rand.New(rand.NewPCG(seed, 5))}
					processes[0].sender, processes[1].sender, o.Bus = w.owner(t, "a"), w.owner(t, "c"), w.reader("b")
				}
			})
			o := processes[0].begin("r")
			stop := make(chan struct{})
			go func() {
				defer close(stop)
				for range 60 {
					<-time.After(time.Duration(random.IntN(200)) * time.Millisecond)
					switch random.IntN(8) {
					case 0:
						o.tidy()
					case 1:
						d.change(func() { d.away = true })
						<-time.After(time.Duration(random.IntN(1000)) * time.Millisecond)
						d.change(func() { d.away = false })
					case 2:
						before := o
						o = processes[random.IntN(3)].begin("r", before.process)
						if before.name == "b" {
							b.loses(before)
						}
						if o.name == "b" {
							b.takes(o)
						}
						o.write(t, 1)
					default:
						o.write(t, 1+random.IntN(20))
						if o.name != "b" || random.IntN(3) > 0 {
							o.flush()
						}
					}
				}
				o.finish()
			}()
			got := map[int64]string{}
			for after, over := int64(0), false; !over; {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(coming.IntN(3000))*time.Millisecond)
				seq, err := b.Follow(ctx, user, "r", after, 0)
				if err != nil {
					cancel()
					<-time.After(50 * time.Millisecond)
					continue
				}
				for events, err := range seq {
					if err != nil {
						break
					}
					for _, e := range events {
						if e.Seq <= after {
							t.Fatalf("seed %d: event %d after %d", seed, e.Seq, after)
						}
						after = e.Seq
						got[e.Seq] = fmt.Sprint(e.Body)
						over = over || e.Terminal()
					}
				}
				cancel()
				<-time.After(time.Millisecond)
			}
			<-stop
			for _, s := range d.segments["r"] {
				events, err := eventlog.Decode(s.Data)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if want := fmt.Sprint(e.Body); got[e.Seq] != want {
						t.Fatalf("seed %d: event %d was read as %q, want %q", seed, e.Seq, got[e.Seq], want)
					}
				}
			}
		})
	}
}
