package answer_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/modeltext"
	"github.com/chattray/chattray/services/usage"
)

// plans is a store in which a run may have planned a document.
type plans struct {
	documents.Records
	documents.Versions
	documents.Blocks
	documents.Proposals
	documents.Plans
	dropped []string
}

func (p *plans) DropPlanned(_ context.Context, _, document, run string) ([]schemas.Block, error) {
	p.dropped = append(p.dropped, document+" "+run)
	return nil, nil
}

func (p *plans) Block(context.Context, string, string) (schemas.Block, error) {
	return schemas.Block{}, schemas.ErrNotFound
}

// nothing is a store of a run that has replaced no answer.
type nothing struct{ answer.Store }

func (nothing) Replaced(context.Context, string) ([]record.Replaced, error) { return nil, nil }

// The plan of a run may be stored although the outcome of the call is not. It ends with the
// run, also if its page no longer offers the tool. Readers are told, also if the earlier attempt has
// removed its blocks.
func TestPlanOfAnInterruptedCall(t *testing.T) {
	plan := turn.Tool{Name: "plan_document", Replans: true, Document: true, Idempotent: true}
	for name, earlier := range map[string]*attempts.Earlier{
		"its outcome is stored":     {Calls: map[int]record.ToolCall{0: {Name: plan.Name, State: record.ToolFinished}}},
		"its outcome is not stored": {},
	} {
		t.Run(name, func(t *testing.T) {
			earlier.Steps = []turn.Step{{Reply: turn.Reply{ToolCalls: []turn.ToolCall{{ID: "c", Name: plan.Name, Arguments: "{}"}}}}}
			store := new(plans)
			earlier.Log = []runlog.Event{{Seq: 1, Body: &runlog.ToolProgress{Document: &runlog.DocumentChange{DocumentID: "chat-1", NewDoc: true, BlockIDs: "b"}}}}
			log := eventlog.New(1, func() int64 { return 1 })
			wr := answer.New(t.Context(), answer.Run{ID: "run", Attempt: 2, ChatID: 1, Request: &schemas.ChatRequest{}, Earlier: earlier}, answer.Deps{
				Log: log, Commit: eventlog.NewCommitter(eventlog.CommitterOptions{Store: new(stored), Logger: slog.New(slog.DiscardHandler)}),
				Store: nothing{}, Drafts: documents.New(store, store, store, store, store), Spent: usage.NewLedger(nil), Text: modeltext.New(modeltext.Limits{}.Or(1000, 1)).Count(), Clock: clock{}, Now: time.Now,
				Tool: func(name string) (turn.Tool, bool) { return plan, name == plan.Name }, Logger: slog.New(slog.DiscardHandler),
			})
			wr.Use(&answer.Prepared{Filter: noText{}})
			wr.Keep()
			wr.End(answer.Outcome{State: schemas.RunCancelled})
			if len(store.dropped) != 1 || store.dropped[0] != "chat-1 run" {
				t.Errorf("dropped %q, want what the run has planned in its document", store.dropped)
			}
			told := 0
			events, _ := log.Tail(0).Next()
			for _, e := range events {
				if b, ok := e.Body.(*runlog.BlockReset); ok && b.End && b.Place.BlockIDs == "b" {
					told++
				}
			}
			if told != 1 {
				t.Errorf("readers are told %d times that the block is withdrawn, want once", told)
			}
		})
	}
}
