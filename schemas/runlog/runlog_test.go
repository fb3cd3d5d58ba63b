package runlog_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/runlog"
)

// A token of the model costs less than one allocation.
func TestSlabsAllocateForMany(t *testing.T) {
	var texts runlog.Slab[runlog.Text]
	const tokens = 1000
	bodies := make([]runlog.Body, 0, tokens)
	got := testing.AllocsPerRun(1, func() {
		bodies = bodies[:0]
		for range tokens {
			bodies = append(bodies, texts.New(runlog.Text{Text: "token"}))
		}
	})
	if got > tokens/32 {
		t.Errorf("%d bodies take %v allocations", tokens, got)
	}
	bodies[0].(*runlog.Text).Text = "changed"
	if second := bodies[1].(*runlog.Text); second.Text != "token" {
		t.Errorf("the body after a changed one is %q", second.Text)
	}
}

// Those who need a frame while it is encoded get that one, also if it is not final. It is
// encoded again only for those who need it later.
func TestFramesAreEncodedOnceForAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var frames runlog.Frames
		encoded := 0
		for _, tt := range []struct {
			final bool
			want  int
		}{{false, 1}, {true, 2}, {true, 2}} {
			var readers sync.WaitGroup
			for range 10 {
				readers.Go(func() {
					got := frames.Get("chat", func() ([]byte, bool) {
						encoded++
						<-time.After(time.Second) // all others wait
						return []byte("frame"), tt.final
					})
					if string(got) != "frame" {
						t.Errorf("got %q, want the frame", got)
					}
				})
			}
			readers.Wait()
			if encoded != tt.want {
				t.Errorf("encoded %d times, want %d", encoded, tt.want)
			}
		}
	})
}

func TestJoinerPartsTextAtMarkers(t *testing.T) {
	var j runlog.Joiner
	j.Marker() // before all text
	got := j.Text("One.\n")
	j.Marker()
	j.Marker()
	got += j.Text("") + j.Text("Two.") + j.Text(" Three.")
	if want := "One.\n\nTwo. Three."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
