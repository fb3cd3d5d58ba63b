package attempts_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/eventlog"
)

// An attempt that only waited, and those that the store does not count, do not count as
// failed.
func TestUncounted(t *testing.T) {
	marked := func(uncounted int) checkpoints { return checkpoints{{Mark: &attempts.Mark{Uncounted: uncounted}}} }
	for name, tt := range map[string]struct {
		marks  checkpoints
		state  schemas.RunState
		stored int
		want   int
	}{
		"no mark":             {nil, schemas.RunRunning, 2, 2},
		"a mark":              {marked(3), schemas.RunRunning, 0, 3},
		"waiting":             {marked(3), schemas.RunWaiting, 0, 4},
		"the store has more":  {marked(1), schemas.RunWaiting, 5, 5},
		"waiting with a mark": {marked(0), schemas.RunWaiting, 0, 1},
	} {
		left := tt.marks.left()
		left.State, left.Uncounted = tt.state, tt.stored
		e, err := attempts.Read(left)
		if err != nil || e.Uncounted != tt.want {
			t.Errorf("%s: %d attempts do not count, %v, want %d", name, e.Uncounted, err, tt.want)
		}
	}
}

// Segments that were stored twice, the second time with more events, are one log.
func TestSegmentsThatShareEvents(t *testing.T) {
	log := eventlog.New(1, func() int64 { return 0 })
	segment := func() record.Segment {
		data, _, _ := log.Source(0).Append(nil, 1<<20)
		return record.Segment{First: 1, Last: log.Last(), Data: data}
	}
	add := func(text string) {
		if err := log.AppendText(runlog.Level{}, text); err != nil {
			t.Fatal(err)
		}
	}
	left := new(record.Left)
	add("a")
	left.Segments = append(left.Segments, segment())
	add("b")
	left.Segments = append(left.Segments, segment())
	e, err := attempts.Read(left)
	if err != nil || e.Text() != "ab" || e.Last() != 2 {
		t.Errorf("text %q up to %d, %v, want ab up to 2", e.Text(), e.Last(), err)
	}
}

// runs are stored runs, or an error.
type runs struct{ err error }

func (r runs) Run(context.Context, string) (record.Run, error) { return record.Run{}, r.err }

// The readers of a lost attempt come back; those of a run whose chat was deleted see its end.
func TestLost(t *testing.T) {
	for _, tt := range []struct {
		err   error
		ended bool
	}{{nil, false}, {record.ErrUnavailable, false}, {schemas.ErrNotFound, true}, {errors.Join(schemas.ErrNotFound), true}} {
		log := eventlog.New(1, func() int64 { return 0 })
		attempts.Lost(runs{tt.err}, log, "r", slog.New(slog.NewTextHandler(new(bytes.Buffer), nil)))
		if _, ended := log.Ended(); !log.Closed() || ended != tt.ended {
			t.Errorf("%v: closed %t, ended %t, want closed and ended %t", tt.err, log.Closed(), ended, tt.ended)
		}
	}
}

// A run holds the blocks of its claim and those that its calls have written in the claim's
// document; without a document it holds no more than it has claimed.
func TestHolds(t *testing.T) {
	content := func(block, document string) runlog.Event {
		return event(&runlog.BlockContent{Place: runlog.Place{BlockIDs: block, DocumentID: document}, Text: "x"})
	}
	e := attempts.EarlierOf(nil, nil, logOf(content("a", "d"), content("b", "d"), content("b", "d"), content("c", "other"), content("e", "")))
	claimed := record.Claim{Document: "d", Blocks: []string{"a"}}
	if diff := cmp.Diff([]string{"a", "b"}, e.Holds(claimed).Blocks); diff != "" || len(claimed.Blocks) != 1 {
		t.Errorf("the blocks differ (-want +got):\n%s, or the claim changed: %v", diff, claimed.Blocks)
	}
	if got := e.Holds(record.Claim{}).Blocks; len(got) > 0 {
		t.Errorf("without a document it holds %v, want nothing", got)
	}
}

// A block whose text the store refused is not one that the user has withdrawn.
func TestWanted(t *testing.T) {
	end := func(block string, refused bool) runlog.Event {
		return event(&runlog.BlockReset{Place: runlog.Place{BlockIDs: block, DocumentID: "d"}, End: true, Refused: refused})
	}
	e := attempts.EarlierOf(nil, nil, logOf(end("a", false), end("b", true)))
	if diff := cmp.Diff([]string{"b", "c"}, e.Wanted([]string{"a", "b", "c"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
