package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func testWholeRun(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	id := w.RunID
	f.mustCommit(&record.Write{RunID: id, Attempt: 1, Segment: &record.Segment{First: 1, Last: 3, Data: []byte("s1")}})
	f.mustCommit(&record.Write{RunID: id, Attempt: 1, Checkpoint: &record.Checkpoint{N: 1, Data: json.RawMessage(`{"n":1}`)}})
	end := f.finish(w, "a")
	f.mustCommit(end)

	run, err := f.store.Run(f.ctx, id)
	must(f, err)
	want := w.Begin.Run
	want.State, want.LastSeq, want.EndedAt, want.StopReason, want.Usage = schemas.RunCompleted, 9, end.Finish.EndedAt, schemas.EndTurn, end.Finish.Usage
	equal(f, "run", run, want)
	segments, err := f.store.Segments(f.ctx, id, 0)
	must(f, err)
	equal(f, "log", segments, []record.Segment{segment(1, 9, "the log of "+id)})
	checkpoints, err := f.store.Checkpoints(f.ctx, id)
	must(f, err)
	equal(f, "number of checkpoints", len(checkpoints), 0)
	m, err := f.store.Message(f.ctx, f.owner, run.ConversationID, run.MessageID)
	must(f, err)
	wantMessage := *end.Finish.Message
	wantMessage.ConversationID = run.ConversationID
	equal(f, "answer", m, wantMessage)
	chat, err := f.store.Chat(f.ctx, f.owner, run.ConversationID)
	must(f, err)
	equal(f, "chat", []any{chat.UpdatedAt, chat.ActiveRunID}, []any{end.Finish.EndedAt, ""})
}

// testWholeRunOneWrite begins and ends a run in one write, as a server action
// does.
func testWholeRunOneWrite(f *fixture) {
	w := f.begin("click")
	w.Attempt, w.RunID = 0, ""
	w.Finish = f.finish(w, "done").Finish
	f.mustCommit(w)
	run, err := f.store.Run(f.ctx, w.Begin.Run.ID)
	must(f, err)
	equal(f, "run", []any{run.State, run.LastSeq}, []any{schemas.RunCompleted, w.Finish.LastSeq})
	equal(f, "messages", f.messages(run.ConversationID, false), []string{"click", "done"})

	first := f.begin("one", in(run.ConversationID))
	waits := f.begin("two", in(run.ConversationID), queued)
	waits.Segment = &record.Segment{First: 1, Last: 1, Data: []byte("not begun")}
	f.mustCommit(first, waits)
	segments, err := f.store.Segments(f.ctx, waits.RunID, 0)
	must(f, err)
	equal(f, "segments of a queued run", len(segments), 0)
}

func testFailedRun(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	end := f.finish(w, "par")
	end.Finish.State, end.Finish.Error = schemas.RunFailed, &schemas.MessageFailure{Code: schemas.CodeRateLimited, Message: "busy\x00 now"}
	end.Finish.Message.Status, end.Finish.Message.Error = schemas.MessageError, end.Finish.Error
	f.mustCommit(end)
	run, err := f.store.Run(f.ctx, w.RunID)
	must(f, err)
	equal(f, "error", run.Error, &schemas.MessageFailure{Code: schemas.CodeRateLimited, Message: "busy now"})
	m, err := f.store.Message(f.ctx, f.owner, run.ConversationID, run.MessageID)
	must(f, err)
	equal(f, "message", []any{m.Status, m.Error.Code, m.Content}, []any{schemas.MessageError, schemas.CodeRateLimited, "par"})

	silent := f.begin("q", in(run.ConversationID))
	f.mustCommit(silent)
	f.mustCommit(&record.Write{RunID: silent.RunID, Attempt: 1, Finish: &record.Finish{State: schemas.RunCancelled, EndedAt: f.now()}})
	run, err = f.store.Run(f.ctx, silent.RunID)
	must(f, err)
	equal(f, "run without a message", run.State, schemas.RunCancelled)
}

func testFences(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	id := w.RunID
	must(f, f.store.BeginAttempt(f.ctx, id, 2, ""))
	parts := map[string]*record.Write{
		"segment":    {Segment: &record.Segment{First: 1, Last: 1, Data: []byte("x")}},
		"checkpoint": {Checkpoint: &record.Checkpoint{N: 1, Data: json.RawMessage(`1`)}},
		"tool call":  {ToolCall: &record.ToolCall{Name: "t", State: record.ToolStarted}},
		"payload":    {Payloads: []record.Payload{{CustomPayload: payload("0000000a", "p", `1`)}}},
		"finish":     {Finish: f.finish(w, "late").Finish},
		"nothing":    {},
	}
	for name, part := range parts {
		for _, attempt := range []int{0, 1, 3} {
			part.RunID, part.Attempt = id, attempt
			f.commit(part)
			fails(f, name, part.Err, record.ErrFenced)
		}
	}
	unknown := &record.Write{RunID: newID(), Attempt: 1, Segment: parts["segment"].Segment}
	good := &record.Write{RunID: id, Attempt: 2, Segment: &record.Segment{First: 1_000_001, Last: 1_000_002, Data: []byte("y")}}
	f.commit(unknown, good)
	fails(f, "a run that is not there", unknown.Err, record.ErrFenced)
	fails(f, "the current attempt", good.Err, nil)

	end := f.finish(w, "answer")
	end.Attempt, end.Finish.Log, end.Finish.LastSeq = 2, log(*good.Segment), good.Segment.Last
	after := &record.Write{RunID: id, Attempt: 2, Segment: &record.Segment{First: 1_000_003, Last: 1_000_003, Data: []byte("z")}}
	f.commit(end, after)
	fails(f, "finish", end.Err, nil)
	fails(f, "after the end", after.Err, record.ErrFenced)
	other := f.finish(w, "another end")
	other.Attempt = 2
	f.commit(other)
	fails(f, "a second end", other.Err, record.ErrFenced)

	segments, err := f.store.Segments(f.ctx, id, 0)
	must(f, err)
	equal(f, "log", segments, []record.Segment{*good.Segment})
	calls, err := f.store.ToolCalls(f.ctx, id)
	must(f, err)
	equal(f, "number of tool calls", len(calls), 0)
	equal(f, "messages", f.messages(w.Begin.Run.ConversationID, false), []string{"q", "answer"})
}

// testFinishRepeated loses a result: the same end is committed again, with the
// writes before it.
func testFinishRepeated(f *fixture) {
	w := f.begin("q")
	call := &record.Write{RunID: w.RunID, Attempt: 1, ToolCall: &record.ToolCall{Name: "t", State: record.ToolFinished}}
	end := f.finish(w, "a")
	f.mustCommit(w, call, end)
	f.mustCommit(w, call, end)
	equal(f, "messages", f.messages(w.Begin.Run.ConversationID, false), []string{"q", "a"})
	stranger := f.finish(w, "a")
	stranger.Attempt = 2
	f.commit(stranger)
	fails(f, "the same end of another attempt", stranger.Err, record.ErrFenced)
}

// testOneBadWrite has a write that the database refuses; the others are
// applied.
func testOneBadWrite(f *fixture) {
	taken := f.turn("q", "a")
	var writes []*record.Write
	for range 7 {
		writes = append(writes, f.begin("x"))
	}
	bad := f.begin("y", func(g *record.Begin) { g.UserMessage.ID = taken.Run.UserMessageID })
	for _, at := range []int{0, 3, 7} {
		batch := append(append(append([]*record.Write{}, writes[:at]...), bad), writes[at:]...)
		f.commit(batch...)
		if bad.Err == nil || errors.Is(bad.Err, record.ErrUnavailable) {
			f.Errorf("a message id that is taken: got error %v", bad.Err)
		}
		for i, w := range writes {
			fails(f, "beside it", w.Err, nil)
			if _, err := f.store.Run(f.ctx, w.RunID); err != nil {
				f.Errorf("write %d is not stored: %v", i, err)
			}
		}
	}
	_, err := f.store.Run(f.ctx, bad.RunID)
	fails(f, "the refused run", err, schemas.ErrNotFound)
	equal(f, "the message that was there", f.messages(taken.Run.ConversationID, false), []string{"q", "a"})
}

func testCommitCancelled(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	w := f.begin("q")
	err := f.store.Commit(ctx, []*record.Write{w})
	fails(f, "cancelled", err, context.Canceled)
	if errors.Is(err, record.ErrUnavailable) {
		f.Error("a cancel was taken for a database that is not available")
	}
	ctx, cancel = context.WithDeadline(f.ctx, time.Unix(1, 0))
	defer cancel()
	fails(f, "too late", f.store.Commit(ctx, []*record.Write{w}), record.ErrUnavailable)
	f.mustCommit(w)
}

func testCommitNothing(f *fixture) {
	must(f, f.store.Commit(f.ctx, nil))
	w := f.begin("q")
	f.mustCommit(w, &record.Write{RunID: w.RunID, Attempt: 1})
}

// testConcurrent commits from several writers at the same time, each batch with
// all kinds of writes.
func testConcurrent(f *fixture) {
	const writers, turns = 8, 5
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			own := f.anotherUser()
			own.clock = start
			chat := int64(0)
			for range turns {
				one, two := own.begin("q", in(chat)), own.begin("alone")
				if err := f.store.Commit(f.ctx, []*record.Write{one, two}); err != nil || one.Err != nil || two.Err != nil {
					f.Errorf("begin: %v, %v, %v", err, one.Err, two.Err)
					return
				}
				chat = one.Begin.Run.ConversationID
				end := []*record.Write{own.finish(one, "a"), own.finish(two, "b")}
				if err := f.store.Commit(f.ctx, end); err != nil || end[0].Err != nil || end[1].Err != nil {
					f.Errorf("finish: %v, %v, %v", err, end[0].Err, end[1].Err)
					return
				}
				if _, err := f.store.PatchChat(f.ctx, own.owner, chat, title("t")); err != nil {
					f.Errorf("rename: %v", err)
				}
			}
			all, _, err := f.store.Messages(f.ctx, own.owner, chat, record.MessageQuery{})
			if err != nil || len(all) != 2*turns {
				f.Errorf("got %d messages (%v), want %d", len(all), err, 2*turns)
			}
		})
	}
	wg.Wait()
}

// testConcurrentOneChat begins many runs in a new chat at the same time; only
// one begins.
func testConcurrentOneChat(f *fixture) {
	const writers = 8
	writes := make([]*record.Write, writers)
	for i := range writes {
		writes[i] = f.begin("q", key("one chat"))
	}
	var wg sync.WaitGroup
	for _, w := range writes {
		wg.Go(func() {
			if err := f.store.Commit(f.ctx, []*record.Write{w}); err != nil {
				f.Errorf("commit: %v", err)
			}
		})
	}
	wg.Wait()
	begun := 0
	for _, w := range writes {
		if w.Err == nil {
			begun++
			continue
		}
		fails(f, "the others", w.Err, record.ErrBusy)
	}
	equal(f, "runs that began", begun, 1)
}

// testReadCancelled reads before any statement is prepared, with a context that has ended.
func testReadCancelled(f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	for name, read := range map[string]func(context.Context) error{
		"a block":      func(ctx context.Context) error { _, err := f.store.Block(ctx, f.owner, "b"); return err },
		"a document":   func(ctx context.Context) error { _, err := f.store.Document(ctx, f.owner, "d"); return err },
		"a version":    func(ctx context.Context) error { _, err := f.store.DocumentVersion(ctx, f.owner, "d", 1); return err },
		"a chat":       func(ctx context.Context) error { _, err := f.store.Chat(ctx, f.owner, 1); return err },
		"a run":        func(ctx context.Context) error { _, err := f.store.Run(ctx, newID()); return err },
		"size of data": func(ctx context.Context) error { _, err := f.store.DataSize(ctx, f.owner); return err },
		"a new block": func(ctx context.Context) error {
			_, err := f.store.AddBlock(ctx, f.owner, "d", record.NewBlock{ID: "b"}, nil)
			return err
		},
		"a block's end": func(ctx context.Context) error {
			_, err := f.store.SettleBlock(ctx, f.owner, "b", record.Revert, nil)
			return err
		},
	} {
		fails(f, name, read(ctx), context.Canceled)
	}
}
