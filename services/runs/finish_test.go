package runs

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
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
		r.Drafts = documents.New(data, data, data, outOfReach{data})
		r.Store.Answer = data
		run := r.reads(t, "r", 1)
		run.req.Context = schemas.Object{turn.ContextDocument: []byte(`"doc1"`), turn.ContextBlocks: []byte(`"b"`), turn.ContextMode: []byte(`"chat"`)}
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
				r.Drafts, r.Store.Answer = documents.New(data, data, data, data), data
				if tt.away {
					r.Drafts = documents.New(data, data, hidden{data}, data)
				}
				run := r.reads(t, "r", 2)
				run.req.Context = schemas.Object{turn.ContextDocument: []byte(`"doc1"`), turn.ContextBlocks: []byte(`"b"`), turn.ContextMode: []byte(`"chat"`)}
				run.earlier = &earlier{Earlier: attempts.Nothing(), bare: true}
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
