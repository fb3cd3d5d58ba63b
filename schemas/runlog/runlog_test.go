package runlog_test

import (
	"testing"

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
