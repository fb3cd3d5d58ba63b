package usage_test

import (
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/usage"
)

func TestRunning(t *testing.T) {
	r := usage.NewRunning(2)
	first, err := r.Begin("ann")
	if err != nil {
		t.Fatal(err)
	}
	earlier, more := r.Continue("ann"), r.Continue("ann") // they are never refused
	if _, err := r.Begin("ann"); schemas.Visible(err).Code != schemas.CodeTooManyRuns {
		t.Errorf("a fourth run got %v, want too_many_runs", err)
	}
	if _, err := r.Begin("bob"); err != nil {
		t.Errorf("another user's run got %v, want none", err)
	}
	first()
	earlier()
	if _, err := r.Begin("ann"); err != nil {
		t.Errorf("a run below the limit got %v, want none", err)
	}
	more()
	if _, err := usage.NewRunning(0).Begin("ann"); err != nil {
		t.Errorf("without a limit got %v, want none", err)
	}
}
