package written_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/written"
	"github.com/chattray/chattray/services/documents"
)

// store has one block. Each statement about it fails once if away is not nil. With lost a
// decision takes effect nevertheless.
type store struct {
	documents.Records
	documents.Versions
	documents.Blocks
	documents.Proposals
	block *schemas.Block
	away  map[string]bool // the statements that have failed
	lost  bool
}

// try fails once.
func (s *store) try(statement string) error {
	if s.away == nil || s.away[statement] {
		return nil
	}
	s.away[statement] = true
	return record.ErrUnavailable
}

func (s *store) Block(context.Context, string, string) (schemas.Block, error) {
	if err := s.try("block"); err != nil {
		return schemas.Block{}, err
	}
	if s.block == nil {
		return schemas.Block{}, schemas.ErrNotFound
	}
	return *s.block, nil
}

func (s *store) SettleBlock(context.Context, string, string, record.Settle, record.Match) (record.Settled, error) {
	failed := s.try("settle")
	switch {
	case failed != nil && !s.lost:
		return record.Settled{}, failed
	case s.block == nil:
		return record.Settled{}, schemas.ErrNotFound
	case s.block.Current == nil:
		b := *s.block
		s.block = nil
		return record.Settled{Block: b, Gone: true, Reverted: true}, failed
	}
	s.block.New, s.block.State = nil, schemas.BlockClean
	return record.Settled{Block: *s.block, Reverted: true}, failed
}

func (s *store) WriteBlock(_ context.Context, _, _ string, w record.BlockWrite) (schemas.Block, error) {
	if err := s.try("write"); err != nil {
		return schemas.Block{}, err
	}
	s.block.New = &w.Content
	return *s.block, nil
}

func (s *store) AppendBlock(_ context.Context, _, _, _, piece string) error {
	s.block.New = new(*s.block.New + piece)
	return nil
}

// levels has no levels.
type levels struct{}

func (levels) Arguments(turn.ToolArguments)                     {}
func (levels) Streamed(int, string)                             {}
func (levels) OpenDocument(string, string, string) runlog.Level { return runlog.Level{} }
func (levels) CloseDocument(runlog.Level, string)               {}
func place() runlog.Place                                       { return runlog.Place{BlockIDs: "b", DocumentID: "d", Type: "md"} }

func by(index int) *runlog.Caller {
	return &runlog.Caller{Tool: "write_block", ToolUseID: "c", Index: index}
}
func event(b runlog.Body) runlog.Event { return runlog.Event{Body: b} }
func content(text string, index int) runlog.Event {
	return event(&runlog.BlockContent{Place: place(), Text: text, By: by(index)})
}

func planned() runlog.Event {
	return event(&runlog.ToolProgress{Document: &runlog.DocumentChange{NewDoc: true, BlockIDs: "a,b", DocumentID: "d"}})
}

// The process ends after a call has failed and before its text is removed. The call is run
// again by the next attempt, which has not seen it being written, and fails again: the
// text does not remain, and readers are told once. So it is if the database is away for a moment,
// also if that hides that the text has been removed.
func TestFailedCallOfAnEarlierAttempt(t *testing.T) {
	for name, tt := range map[string]struct{ away, lost bool }{"the database is there": {}, "the database is away": {away: true}, "an answer is lost": {true, true}} {
		t.Run(name, func(t *testing.T) { failedCallOfAnEarlierAttempt(t, tt.away, tt.lost) })
	}
}

func failedCallOfAnEarlierAttempt(t *testing.T, away, lost bool) {
	tests := []struct {
		name   string
		block  *schemas.Block
		log    []runlog.Event
		want   string // what waits in the block afterwards
		gone   bool
		resets int
	}{
		{
			"over a clean block", &schemas.Block{Current: new("old"), New: new("refused"), State: schemas.BlockPendingEdit},
			[]runlog.Event{content("ref", 1), content("used", 1)},
			"", false, 1,
		},
		{"a new block", &schemas.Block{New: new("refused"), State: schemas.BlockPendingNew}, []runlog.Event{content("refused", 1)}, "", true, 1},
		{
			"a planned block", &schemas.Block{New: new("refused"), State: schemas.BlockPendingNew},
			[]runlog.Event{planned(), content("refused", 1)},
			"", false, 1,
		},
		{"written by another call", &schemas.Block{New: new("refused")}, []runlog.Event{content("refused", 0)}, "refused", false, 0},
		{"with another text", &schemas.Block{New: new("mine")}, []runlog.Event{content("refused", 1)}, "mine", false, 0},
		{"decided by the user", &schemas.Block{Current: new("refused")}, []runlog.Event{content("refused", 1)}, "", false, 0},
		{"deleted", nil, []runlog.Event{content("refused", 1)}, "", true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if tt.block != nil {
					tt.block.ID, tt.block.DocumentID, tt.block.Type = "b", "d", "md"
				}
				s, resets := &store{block: tt.block, lost: lost}, 0
				if away {
					s.away = make(map[string]bool)
				}
				docs := documents.New(s, s, s, s, nil)
				watch := docs.Watch(schemas.User{ID: "u"}, "r", func(*runlog.BlockReset) { resets++ })
				for _, e := range tt.log {
					watch.Note(e.Body)
				}
				calls := written.New(written.Options{
					Context: t.Context(), Run: "r", Owner: schemas.User{ID: "u"}, Document: "d", Drafts: docs, Levels: levels{},
					Emit: func(_ runlog.Level, b runlog.Body) {
						if _, ok := b.(*runlog.BlockReset); ok {
							resets++
						}
					},
					Fenced: func(error) {}, Logger: slog.New(slog.DiscardHandler),
				})
				calls.Earlier(tt.log)
				calls.Failed(1)
				got := ""
				if s.block != nil && s.block.New != nil {
					got = *s.block.New
				}
				if got != tt.want || (s.block == nil) != tt.gone || resets != tt.resets {
					t.Errorf("got %q, gone %t, %d resets; want %q, %t, %d", got, s.block == nil, resets, tt.want, tt.gone, tt.resets)
				}
			})
		})
	}
}

// The user reverts a block directly after its draft has ended: readers see the end of the
// block first, and then that it is withdrawn.
func TestRevertedWhenItsDraftHasEnded(t *testing.T) {
	t.Parallel()
	s := &store{block: &schemas.Block{ID: "b", DocumentID: "d", Type: "md", Current: new("old"), State: schemas.BlockClean}}
	docs, owner, shown := documents.New(s, s, s, s, nil), schemas.User{ID: "u"}, ""
	reset := func(b *runlog.BlockReset) { shown += fmt.Sprintf(" reset end=%t", b.End) }
	watch := docs.Watch(owner, "r", reset)
	emit := func(_ runlog.Level, b runlog.Body) {
		watch.Note(b)
		switch b := b.(type) {
		case *runlog.BlockReset:
			reset(b)
		case *runlog.BlockContent:
			shown += " " + b.Text
		case *runlog.BlockDone:
			shown += " done"
		default:
		}
	}
	calls := written.New(written.Options{
		Context: t.Context(), Run: "r", Owner: owner, Document: "d", Drafts: docs, Levels: levels{}, Emit: emit,
		Append: func(at runlog.Level, b runlog.Body) error { emit(at, b); return nil },
		Tool: func(name string) turn.Tool {
			return turn.Tool{Name: name, Streams: &turn.StreamedArgument{Argument: "content", Block: turn.BlockArgument}}
		},
		Asked: func() int { return 0 },
		Fenced: func(error) { // after the last write
			if _, err := docs.Settle(t.Context(), owner, "b", record.Revert, nil); err != nil {
				t.Error(err)
			}
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	calls.Arguments(turn.ToolArguments{ID: "c", Name: "write_block", Fragment: `{"block_id":"b","content":"New"}`})
	if want := " reset end=false New done reset end=true"; shown != want {
		t.Errorf("readers see%s, want%s", shown, want)
	}
}

// The database is away as a call begins to write into a block. The model is not kept waiting:
// what it writes is shown when the call runs.
func TestBlockThatCannotBeReadWhileItIsWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{block: &schemas.Block{ID: "b", DocumentID: "d", Type: "md", Current: new("old"), State: schemas.BlockClean}, away: make(map[string]bool)}
		shown := ""
		calls := written.New(written.Options{
			Context: t.Context(), Run: "r", Owner: schemas.User{ID: "u"}, Document: "d", Drafts: documents.New(s, s, s, s, nil), Levels: levels{},
			Emit: func(_ runlog.Level, b runlog.Body) {
				if b, ok := b.(*runlog.BlockContent); ok {
					shown += b.Text
				}
			},
			Tool: func(name string) turn.Tool {
				return turn.Tool{Name: name, Streams: &turn.StreamedArgument{Argument: "content", Block: turn.BlockArgument}}
			},
			Asked: func() int { return 0 }, Fenced: func(error) {}, Logger: slog.New(slog.DiscardHandler),
		})
		const arguments = `{"block_id":"b","content":"New"}`
		began := time.Now()
		calls.Arguments(turn.ToolArguments{ID: "c", Name: "write_block", Fragment: arguments})
		if waited := time.Since(began); waited != 0 || shown != "" {
			t.Errorf("%q is shown after %v, want nothing at once", shown, waited)
		}
		s.away = nil
		calls.Reply(&turn.Reply{ToolCalls: []turn.ToolCall{{ID: "c", Name: "write_block", Arguments: arguments}}})
		calls.Begin(turn.ToolStart{ID: "c", Name: "write_block", Input: []byte(arguments)})
		if shown != "New" {
			t.Errorf("%q is shown when the call runs, want what the model wrote", shown)
		}
	})
}

// All calls need approval, and one writes a block of the plan that a call before it makes. The
// block is shown when its call runs, as without a plan.
func TestApprovedBlockOfAPlan(t *testing.T) {
	t.Parallel()
	s := &store{block: &schemas.Block{ID: "b", DocumentID: "d", Type: "md", Current: new("old"), State: schemas.BlockClean}}
	shown := ""
	calls := written.New(written.Options{
		Context: t.Context(), Run: "r", Owner: schemas.User{ID: "u"}, Document: "d", Drafts: documents.New(s, s, s, s, nil), Levels: levels{}, Approved: true,
		Emit: func(_ runlog.Level, b runlog.Body) {
			if b, ok := b.(*runlog.BlockContent); ok {
				shown += b.Text
			}
		},
		Tool: func(name string) turn.Tool {
			if name == "plan_document" {
				return turn.Tool{Name: name, Document: true, Replans: true}
			}
			return turn.Tool{Name: name, Document: true, Streams: &turn.StreamedArgument{Argument: "content", Block: turn.BlockArgument}}
		},
		Asked: func() int { return 0 }, Fenced: func(error) {}, Logger: slog.New(slog.DiscardHandler),
	})
	asked := []turn.ToolCall{{ID: "c", Name: "plan_document", Arguments: "{}"}, {ID: "d", Name: "write_block", Arguments: `{"block_id":"b","content":"New"}`}}
	for i, c := range asked {
		calls.Arguments(turn.ToolArguments{Index: i, ID: c.ID, Name: c.Name, Fragment: c.Arguments})
	}
	calls.Reply(&turn.Reply{ToolCalls: asked})
	calls.Begin(turn.ToolStart{Index: 0, ID: "c", Name: "plan_document", Input: []byte("{}")})
	calls.Begin(turn.ToolStart{Index: 1, ID: "d", Name: "write_block", Input: []byte(asked[1].Arguments)})
	if shown != "New" {
		t.Errorf("%q is shown when the call runs, want what the model wrote", shown)
	}
}
