package runs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/trials"
	"github.com/chattray/chattray/store"
)

// outOfReach is a database that does not take pieces of blocks. It knows no runs.
type outOfReach struct{ documents.Proposals }

func (o outOfReach) WriteBlock(ctx context.Context, owner, document string, w record.BlockWrite) (schemas.Block, error) {
	return o.Proposals.WriteBlock(record.WithFence(ctx, record.Fence{}), owner, document, w)
}

func (outOfReach) AppendBlock(context.Context, string, string, string, string) error {
	return record.ErrUnavailable
}

// plainText is a filter that lets everything through.
type plainText struct{ answer.TextFilter }

func (plainText) Feed(delta string) string { return delta }

func (plainText) End(bool) (string, turn.Found) { return "", turn.Found{} }

// A model that does not end fills its run's log before it has written as much as it may. The
// user may ask again, and the operator is not told of a fault of the service.
func TestAnswerThatFillsItsLog(t *testing.T) {
	end := stopped(t.Context(), fmt.Errorf("append: %w", eventlog.ErrFull))
	if seen := schemas.Visible(end.Err); end.State != schemas.RunFailed || seen.Code != schemas.CodeUpstreamError {
		t.Errorf("the run is %s with %v, want %s with %s", end.State, seen, schemas.RunFailed, schemas.CodeUpstreamError)
	}
}

// The end of an answer is not in its document, because the database is away for long. The run is
// left to a later attempt: readers do not take the answer for complete.
func TestAnswerWhoseEndIsNotStored(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "c.db")
	inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
		data, err := store.Open(t.Context(), url, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = data.Close() }()
		r.Drafts = documents.New(data, data, data, outOfReach{data}, data)
		r.Store.Answer = data
		run := r.reads(t, "r", 1)
		run.Request.Context = schemas.Object{turn.ContextDocument: []byte(`"doc1"`), turn.ContextBlocks: []byte(`"b"`), turn.ContextMode: []byte(`"chat"`)}
		run.limit.Start(defaultRunTimeout, func() {})
		defer run.limit.Stop()
		wr := r.writer(run)
		wr.Use(&answer.Prepared{Filter: plainText{}})
		wr.Target(t.Context())
		wr.Ask()
		for _, e := range []turn.Event{turn.CallStart{}, turn.TextDelta{Text: "All "}, turn.TextDelta{Text: "of it."}, turn.Reply{Text: "All of it."}, turn.LoopComplete{}} {
			if err := wr.Handle(e); err != nil {
				t.Fatal(err)
			}
		}
		err = r.finish(run, wr, answer.Outcome{State: schemas.RunCompleted})
		if _, ended := run.log.Ended(); ended || !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("the run has ended: %t, %v; want that the database is away", ended, err)
		}
	})
}

// hidden is a database whose blocks cannot be read.
type hidden struct{ documents.Blocks }

func (hidden) Block(context.Context, string, string) (schemas.Block, error) {
	return schemas.Block{}, record.ErrUnavailable
}

// A run that ends as soon as it is taken up waits until it is known which of its blocks are
// there, also if the user stops it now: it would bring back one that the user has deleted.
func TestEndOfARunWhoseBlocksCannotBeRead(t *testing.T) {
	for name, tt := range map[string]struct {
		cancelled, stopped, away bool
		want                     schemas.RunState
	}{
		"stopped before":       {true, false, true, ""},
		"stopped now":          {false, true, true, ""},
		"the database is back": {true, true, false, schemas.RunCancelled},
	} {
		t.Run(name, func(t *testing.T) {
			url := "sqlite:" + filepath.Join(t.TempDir(), "c.db")
			inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
				data, err := store.Open(t.Context(), url, store.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = data.Close() }()
				r.Drafts, r.Store.Answer = documents.New(data, data, data, data, data), data
				if tt.away {
					r.Drafts = documents.New(data, data, hidden{data}, data, data)
				}
				run := r.reads(t, "r", 2)
				run.Request.Context = schemas.Object{turn.ContextDocument: []byte(`"doc1"`), turn.ContextBlocks: []byte(`"b"`), turn.ContextMode: []byte(`"chat"`)}
				run.earlier = &earlier{Case: trials.Case{Earlier: attempts.Nothing(), Bare: true}}
				run.earlier.Cancel = tt.cancelled
				if tt.stopped {
					run.stop(answer.ErrCancelled)
				}
				if end := r.answer(run, r.writer(run)); end.State != tt.want || (end.State == "") != errors.Is(end.Err, record.ErrUnavailable) {
					t.Errorf("the run ends as %q, %v; want %q", end.State, end.Err, tt.want)
				}
			})
		})
	}
}

// forgetful is a database that says only after some tries which answers a run has replaced.
type forgetful struct {
	answer.Store
	tries int
}

func (f *forgetful) Replaced(context.Context, string) ([]record.Replaced, error) {
	if f.tries--; f.tries >= 0 {
		return nil, record.ErrUnavailable
	}
	return []record.Replaced{{ID: "earlier", Text: "The earlier answer."}}, nil
}

// An answer that is written again is stopped before it has any text, while the database is away:
// the earlier one is shown again when it is back. If that takes long, the run has not ended.
func TestEarlierAnswersOfAStoppedRun(t *testing.T) {
	for tries, want := range map[int]error{3: nil, 1_000_000: record.ErrUnavailable} {
		inRuns(t, Options{}, func(t *testing.T, r *Runs, _ *memory) {
			r.Store.Answer = &forgetful{tries: tries}
			run := r.reads(t, "r", 1)
			run.Replaces = true
			run.limit.Start(defaultRunTimeout, func() {})
			defer run.limit.Stop()
			if err := r.finish(run, r.writer(run), answer.Outcome{State: schemas.RunCancelled, Err: answer.ErrCancelled}); !errors.Is(err, want) {
				t.Fatalf("got %v, want %v", err, want)
			}
			if want != nil {
				return
			}
			shown := ""
			tail := run.log.Tail(0)
			for events, _ := tail.Next(); len(events) > 0; events, _ = tail.Next() {
				for i := range events {
					if b, ok := events[i].Body.(*runlog.BlockContent); ok {
						shown += b.Place.BlockIDs + ": " + b.Text
					}
				}
			}
			if shown != "earlier: The earlier answer." {
				t.Errorf("readers see %q, want the earlier answer", shown)
			}
		})
	}
}
