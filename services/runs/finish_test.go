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
