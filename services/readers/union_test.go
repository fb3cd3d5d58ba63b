package readers_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/services/eventlog"
)

// Readers that come, leave and come back with their cursors while the run moves between
// processes, the journal is tidied and the database goes away have read the stored log,
// each event once.
func TestUnion(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random, coming := rand.New(rand.NewPCG(seed, 3)), rand.New(rand.NewPCG(seed, 4))
			d := newDatabase()
			b := start(t, d)
			processes := []process{{d, "a"}, {d, "c"}, {d, "b"}}
			o := processes[0].begin("r")
			stop := make(chan struct{})
			go func() {
				defer close(stop)
				for range 60 {
					pass(time.Duration(random.IntN(200)) * time.Millisecond)
					switch random.IntN(8) {
					case 0:
						o.tidy()
					case 1:
						d.change(func() { d.away = true })
						pass(time.Duration(random.IntN(1000)) * time.Millisecond)
						d.change(func() { d.away = false })
					case 2:
						before := o
						o = processes[random.IntN(3)].begin("r")
						before.tidy()
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
					pass(50 * time.Millisecond)
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
				pass(time.Millisecond)
			}
			<-stop
			for _, s := range d.segments["r"] {
				events, err := eventlog.Decode(s.Data)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range events {
					if got[e.Seq] == "" {
						t.Fatalf("seed %d: event %d was not read", seed, e.Seq)
					}
				}
			}
		})
	}
}
