package answer_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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
	"github.com/chattray/chattray/store"
)

// Any tool can show an argument while the model writes it. The tool chooses the
// names of its arguments.
func TestAnyToolStreamsAnArgument(t *testing.T) {
	data, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "c.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() })
	log := eventlog.New(1, func() int64 { return 1 })
	wr := answer.New(t.Context(), answer.Run{
		ID: "run", Attempt: 1, Owner: schemas.User{ID: "una"}, ChatID: 1, MessageID: "message",
		Request: &schemas.ChatRequest{Context: schemas.Object{turn.ContextDocument: []byte(`"doc1"`)}},
	}, answer.Deps{
		Log: log, Store: data, Drafts: documents.New(data, data, data, data, data), Spent: usage.NewLedger(nil),
		Text: modeltext.New(modeltext.Limits{}.Or(1000, 1)).Count(), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Idle: func(bool) {}, Stop: func(err error) { t.Error(err) },
	})
	wr.Use(&answer.Prepared{Request: turn.Request{Tools: []turn.Tool{
		{Name: "note_down", Streams: &turn.StreamedArgument{Argument: "note", Block: "place"}},
		{Name: "look_up"},
	}}})
	wr.Ask()
	for _, e := range []turn.Event{
		turn.CallStart{},
		turn.ToolArguments{Index: 0, ID: "c0", Name: "look_up", Fragment: `{"note":"not shown"}`},
		turn.ToolArguments{Index: 1, ID: "c1", Name: "note_down", Fragment: `{"no`},
		turn.ToolArguments{Index: 1, Fragment: `te":"One.\nTw`},
		turn.ToolArguments{Index: 1, Fragment: `o."}`},
	} {
		if err := wr.Handle(e); err != nil {
			t.Fatal(err)
		}
	}
	var shown []runlog.Body
	tail := log.Tail(0)
	for events, _ := tail.Next(); len(events) > 0; events, _ = tail.Next() {
		for i := range events {
			switch events[i].Body.(type) {
			case *runlog.BlockContent, *runlog.BlockDone, *runlog.Arguments, *runlog.Streamed:
				shown = append(shown, events[i].Body)
			default:
			}
		}
	}
	place := runlog.Place{BlockIDs: turn.BlockID("run", 1, "note_down", 0), DocumentID: "doc1", Type: "md"}
	by := &runlog.Caller{Tool: "note_down", ToolUseID: "c1", Index: 1}
	want := []runlog.Body{
		&runlog.Arguments{Text: `{"note":"not shown"}`}, &runlog.Arguments{Text: `{"no`}, &runlog.Arguments{Text: `te":"`},
		&runlog.BlockContent{Place: place, Text: "One.\nTw", Revision: 2, By: by}, &runlog.Streamed{Argument: "note"},
		&runlog.BlockContent{Place: place, Text: "o.", Revision: 2, By: by}, &runlog.BlockDone{Place: place, By: by}, &runlog.Arguments{Text: `"}`},
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// noText is the filter of replies without text.
type noText struct{ answer.TextFilter }

func (noText) End(bool) (string, turn.Found) { return "", turn.Found{} }

// momentary is a database that is away for one reading of a block after each call of leave.
type momentary struct {
	*store.Store
	away atomic.Bool
}

func (m *momentary) leave() { m.away.Store(true) }

func (m *momentary) Block(ctx context.Context, owner, id string) (schemas.Block, error) {
	if m.away.Swap(false) {
		return schemas.Block{}, record.ErrUnavailable
	}
	return m.Store.Block(ctx, owner, id)
}

// The user rejects what a call writes after the call has begun and before it stores the
// text: the text does not come back, and the model is told. While the database is away, the
// call cannot know that: it writes nothing, and does not wait with the lock of the user's documents.
func TestRejectedWhileItsCallRuns(t *testing.T) {
	for name, confirm := range map[string]bool{"shown while the model wrote it": false, "shown when it runs": true} {
		t.Run(name, func(t *testing.T) {
			data, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "c.db"), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = data.Close() })
			blocks := &momentary{Store: data}
			docs, una := documents.New(data, data, blocks, data, data), schemas.User{ID: "una"}
			if _, err := docs.Create(t.Context(), una, schemas.DocumentCreate{ID: new("doc1"), Title: "Gold"}); err != nil {
				t.Fatal(err)
			}
			note := turn.Tool{
				Name: "note_down", Idempotent: true, Confirm: confirm, Streams: &turn.StreamedArgument{Argument: "note", Block: "place"},
				Run: func(ctx context.Context, c *turn.Call) (turn.Result, error) {
					id := c.BlockID(0)
					if _, err := docs.Settle(ctx, una, id, record.Revert, nil); err != nil {
						t.Error(err)
					}
					one := record.BlockWrite{NewBlock: record.NewBlock{ID: id, Content: "One."}}
					blocks.leave()
					if _, err := docs.Write(ctx, una, "doc1", one); !errors.Is(err, record.ErrUnavailable) {
						t.Errorf("the write ends with %v, want that the database is away", err)
					}
					_, err := docs.Write(ctx, una, "doc1", one)
					return turn.Result{Text: "written"}, err
				},
			}
			committer := eventlog.NewCommitter(eventlog.CommitterOptions{Store: new(stored), Logger: slog.New(slog.DiscardHandler), Batch: func(int, time.Duration, error) {}})
			wr := answer.New(t.Context(), answer.Run{
				ID: "run", Attempt: 1, Owner: una, ChatID: 1, MessageID: "message", Earlier: attempts.Nothing(),
				Request: &schemas.ChatRequest{Context: schemas.Object{turn.ContextDocument: []byte(`"doc1"`)}},
			}, answer.Deps{
				Log: eventlog.New(1, func() int64 { return 1 }), Commit: committer, Store: data, Drafts: docs, Spent: usage.NewLedger(nil),
				Text: modeltext.New(modeltext.Limits{}.Or(1000, 1)).Count(), Clock: clock{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
				Idle: func(bool) {}, Stop: func(err error) { t.Error(err) },
			})
			wr.Use(&answer.Prepared{Filter: noText{}, Request: turn.Request{Tools: []turn.Tool{note}}})
			request := wr.Ask()
			const arguments = `{"note":"One."}`
			for _, e := range []turn.Event{
				turn.CallStart{},
				turn.ToolArguments{ID: "c0", Name: "note_down", Fragment: arguments},
				turn.Reply{ToolCalls: []turn.ToolCall{{ID: "c0", Name: "note_down", Arguments: arguments}}},
				turn.ToolStart{ID: "c0", Name: "note_down", Input: []byte(arguments)},
			} {
				if err := wr.Handle(e); err != nil {
					t.Fatal(err)
				}
			}
			result, err := request.RunTool(t.Context(), &note, &turn.Call{ID: "c0", RunID: "run", Name: "note_down", Input: []byte(arguments)})
			if err != nil || !result.IsError {
				t.Errorf("the call returns %+v, %v, want an error for the model", result, err)
			}
			doc, err := docs.Get(t.Context(), una, "doc1")
			if err != nil || len(doc.Blocks) != 0 {
				t.Errorf("the document has %+v, %v, want no block", doc.Blocks, err)
			}
		})
	}
}

// plainText is a filter that lets everything through.
type plainText struct{ noText }

func (plainText) Feed(delta string) string { return delta }

// The user decides about an answer in a document after all of it is stored and before the
// run has ended: readers are told if it is withdrawn.
func TestAnswerDecidedBeforeItsRunEnds(t *testing.T) {
	for decision, want := range map[record.Settle]int{record.Revert: 1, record.Accept: 0} {
		data, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "c.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = data.Close() })
		docs, una, log := documents.New(data, data, data, data, data), schemas.User{ID: "una"}, eventlog.New(1, func() int64 { return 1 })
		wr := answer.New(t.Context(), answer.Run{
			ID: "run", Attempt: 1, Owner: una, ChatID: 1, MessageID: "message",
			Request: &schemas.ChatRequest{Context: schemas.Object{turn.ContextDocument: []byte(`"doc1"`), turn.ContextBlocks: []byte(`"b"`), turn.ContextMode: []byte(`"chat"`)}},
		}, answer.Deps{
			Log: log, Store: data, Drafts: docs, Spent: usage.NewLedger(nil), Text: modeltext.New(modeltext.Limits{}.Or(1000, 1)).Count(),
			Clock: clock{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler), FirstToken: func(time.Duration) {}, Idle: func(bool) {}, Stop: func(err error) { t.Error(err) },
		})
		wr.Use(&answer.Prepared{Filter: plainText{}})
		wr.Target(t.Context())
		wr.Ask()
		for _, e := range []turn.Event{turn.CallStart{}, turn.TextDelta{Text: "All of it."}, turn.Reply{Text: "All of it."}, turn.LoopComplete{}} {
			if err := wr.Handle(e); err != nil {
				t.Fatal(err)
			}
		}
		wr.End(answer.Outcome{State: schemas.RunCompleted})
		if _, err := docs.Settle(t.Context(), una, "b", decision, nil); err != nil {
			t.Fatal(err)
		}
		withdrawn := 0
		tail := log.Tail(0)
		for events, _ := tail.Next(); len(events) > 0; events, _ = tail.Next() {
			for i := range events {
				if b, ok := events[i].Body.(*runlog.BlockReset); ok && b.End {
					withdrawn++
				}
			}
		}
		if withdrawn != want {
			t.Errorf("after %v the block is withdrawn %d times, want %d", decision, withdrawn, want)
		}
	}
}

// outOfReach is a database that does not take the next pieces of blocks, or the next blocks.
type outOfReach struct {
	*store.Store
	pieces, blocks int
}

func (s *outOfReach) WriteBlock(ctx context.Context, owner, document string, w record.BlockWrite) (schemas.Block, error) {
	if s.blocks--; s.blocks >= 0 {
		return schemas.Block{}, record.ErrUnavailable
	}
	return s.Store.WriteBlock(ctx, owner, document, w)
}

func (s *outOfReach) AppendBlock(ctx context.Context, owner, document, id, piece string) error {
	if s.pieces--; s.pieces >= 0 {
		return record.ErrUnavailable
	}
	return s.Store.AppendBlock(ctx, owner, document, id, piece)
}

// unread is a database whose blocks cannot be read.
type unread struct{ *store.Store }

func (unread) Block(context.Context, string, string) (schemas.Block, error) {
	return schemas.Block{}, record.ErrUnavailable
}

// The database is away as a run finds out where its answer goes. The run is stopped, and
// continues when the database is back: it would write text where a table is.
func TestTargetThatCannotBeRead(t *testing.T) {
	data, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "c.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() })
	wrote := &attempts.Earlier{Log: []runlog.Event{{Body: &runlog.BlockReset{Place: runlog.Place{DocumentID: "doc1", BlockIDs: "b"}}}}}
	for name, page := range map[string]schemas.Object{
		"in a document":                    {turn.ContextDocument: []byte(`"doc1"`), turn.ContextBlocks: []byte(`"b"`), turn.ContextMode: []byte(`"chat"`)},
		"in the chat":                      {turn.ContextBlocks: []byte(`"message,b"`)},
		"what an earlier attempt has done": nil,
	} {
		var stopped error
		earlier := wrote
		if page != nil {
			earlier = nil
		}
		wr := answer.New(t.Context(), answer.Run{ID: "run", Attempt: 1, Earlier: earlier, Owner: schemas.User{ID: "una"}, ChatID: 1, MessageID: "message", Request: &schemas.ChatRequest{Context: page}},
			answer.Deps{
				Log: eventlog.New(1, func() int64 { return 1 }), Store: data, Drafts: documents.New(data, data, unread{data}, data, data),
				Now: time.Now, Logger: slog.New(slog.DiscardHandler), Stop: func(err error) { stopped = err },
			})
		if wr.Target(t.Context()); !errors.Is(stopped, record.ErrUnavailable) {
			t.Errorf("%s: the run is stopped by %v, want that the database is away", name, stopped)
		}
	}
}

// The database is away as the text of a call ends, which the call itself stores. Nothing is
// being written into the block until then.
func TestEndOfTheTextOfACallDuringAnOutage(t *testing.T) {
	data, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "c.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() })
	docs, una := documents.New(data, data, data, &outOfReach{data, 1_000_000, 0}, data), schemas.User{ID: "una"}
	wr := answer.New(t.Context(), answer.Run{
		ID: "run", Attempt: 1, Owner: una, ChatID: 1, MessageID: "message",
		Request: &schemas.ChatRequest{Context: schemas.Object{turn.ContextDocument: []byte(`"doc1"`)}},
	}, answer.Deps{
		Log: eventlog.New(1, func() int64 { return 1 }), Store: data, Drafts: docs, Spent: usage.NewLedger(nil), Text: modeltext.New(modeltext.Limits{}.Or(1000, 1)).Count(),
		Now: time.Now, Logger: slog.New(slog.DiscardHandler), Idle: func(bool) {}, Stop: func(err error) { t.Error(err) },
	})
	wr.Use(&answer.Prepared{Request: turn.Request{Tools: []turn.Tool{{Name: "note_down", Streams: &turn.StreamedArgument{Argument: "note", Block: "place"}}}}})
	wr.Ask()
	for _, fragment := range []string{`{"note":"One`, `, two."`, `}`} {
		if err := wr.Handle(turn.ToolArguments{ID: "c0", Name: "note_down", Fragment: fragment}); err != nil {
			t.Fatal(err)
		}
	}
	settled, err := docs.Settle(t.Context(), una, turn.BlockID("run", 0, "note_down", 0), record.Accept, nil)
	if err != nil || settled.Block.Current == nil || *settled.Block.Current != "One" {
		t.Errorf("accept: got %+v, %v, want what is stored", settled.Block, err)
	}
}

// The database is away as an answer in a document ends, or begins. It is stored when the database
// is back; if that takes long, the run has not ended.
func TestEndOfAnAnswerDuringAnOutage(t *testing.T) {
	for name, tt := range map[string]struct {
		pieces, blocks int
		text           string
		want           error
		more           string // blocks after the first one
		state          schemas.RunState
		warnings       int
	}{
		"short": {3, 0, "All of it.", nil, "", schemas.RunCompleted, 0}, "long": {1_000_000, 0, "All ", record.ErrUnavailable, "", schemas.RunCompleted, 0},
		"short, from its beginning":        {0, 3, "All of it.", nil, "", schemas.RunCompleted, 0},
		"long, from its beginning":         {0, 1_000_000, "", record.ErrUnavailable, "", schemas.RunCompleted, 1},
		"long, for four blocks":            {1_000_000, 0, "All ", record.ErrUnavailable, ",c,d,e", schemas.RunCompleted, 0},
		"long, for four of a stopped run":  {1_000_000, 0, "All ", nil, ",c,d,e", schemas.RunCancelled, 4},
		"short, for four of a stopped run": {3, 0, "All of it.", nil, ",c,d,e", schemas.RunCancelled, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.db")
			synctest.Test(t, func(t *testing.T) {
				data, err := store.Open(t.Context(), "sqlite:"+path, store.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = data.Close() }()
				docs, una := documents.New(data, data, data, &outOfReach{data, tt.pieces, tt.blocks}, data), schemas.User{ID: "una"}
				wr := answer.New(t.Context(), answer.Run{
					ID: "run", Attempt: 1, Owner: una, ChatID: 1, MessageID: "message",
					Request: &schemas.ChatRequest{Context: schemas.Object{turn.ContextDocument: []byte(`"doc1"`), turn.ContextBlocks: []byte(`"b` + tt.more + `"`), turn.ContextMode: []byte(`"chat"`)}},
				}, answer.Deps{
					Log: eventlog.New(1, func() int64 { return 1 }), Store: data, Drafts: docs, Spent: usage.NewLedger(nil), Text: modeltext.New(modeltext.Limits{}.Or(1000, 1)).Count(),
					Clock: clock{}, Now: time.Now, Logger: slog.New(slog.DiscardHandler), FirstToken: func(time.Duration) {}, Idle: func(bool) {}, Stop: func(err error) { t.Error(err) },
				})
				wr.Use(&answer.Prepared{Filter: plainText{}})
				wr.Target(t.Context())
				wr.Ask()
				for _, e := range []turn.Event{turn.CallStart{}, turn.TextDelta{Text: "All "}, turn.TextDelta{Text: "of it."}, turn.Reply{Text: "All of it."}, turn.LoopComplete{}} {
					if err := wr.Handle(e); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				fin, _, _ := wr.End(answer.Outcome{State: tt.state})
				if n := len(fin.Message.Warnings); n != tt.warnings {
					t.Errorf("the answer has the warnings %q, want %d", fin.Message.Warnings, tt.warnings)
				}
				if took := time.Since(began); took > eventlog.CommitWait+time.Second {
					t.Errorf("the end took %v, want at most %v", took, eventlog.CommitWait)
				}
				b, err := docs.Block(t.Context(), una, "b")
				if tt.text == "" && errors.Is(err, schemas.ErrNotFound) {
					b.New, err = new(""), nil
				}
				if err != nil || b.New == nil || *b.New != tt.text {
					t.Errorf("the block is %+v, %v, want %q", b, err, tt.text)
				}
				if err := wr.Unstored(); !errors.Is(err, tt.want) {
					t.Errorf("the run has ended with %v, want %v", err, tt.want)
				}
			})
		})
	}
}

// What a model's server gives with calls counts as text of the model.
func TestExtrasCount(t *testing.T) {
	wr := answer.New(t.Context(), answer.Run{ID: "run", Attempt: 1, Request: &schemas.ChatRequest{}}, answer.Deps{
		Log: eventlog.New(1, func() int64 { return 1 }), Spent: usage.NewLedger(nil), Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Text: modeltext.New(modeltext.Limits{Reply: 10, Run: 10, All: 10}).Count(), Clock: clock{}, FirstToken: func(time.Duration) {}, Idle: func(bool) {}, Stop: func(err error) { t.Error(err) },
	})
	wr.Use(&answer.Prepared{Filter: plainText{}})
	if err := wr.Handle(turn.CallStart{}); err != nil {
		t.Fatal(err)
	}
	reply := turn.Reply{ToolCalls: []turn.ToolCall{{Extra: "123456"}, {Extra: "12345"}}}
	if err := wr.Handle(reply); err == nil {
		t.Error("11 bytes beside calls are taken; the limit is 10")
	}
}
