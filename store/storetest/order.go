package storetest

import (
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// cancelled cancels a run that waits.
func (f *fixture) cancelled(w *record.Write) {
	f.Helper()
	f.mustCommit(&record.Write{RunID: w.RunID, Finish: &record.Finish{State: schemas.RunCancelled, EndedAt: f.now()}})
}

// asked begins a run that answers a question again, or waits.
func (f *fixture) asked(chat int64, question string) *record.Write {
	f.Helper()
	w := f.begin("", in(chat), queued, func(g *record.Begin) { g.UserMessage, g.Run.UserMessageID = nil, question })
	f.mustCommit(w)
	return w
}

// order checks the messages of a chat, read at once and page by page in both directions.
func (f *fixture) order(chat int64, when string, want ...string) {
	f.Helper()
	equal(f, when, f.messages(chat, false), want)
	for _, forward := range []bool{false, true} {
		var read []string
		for cursor := ""; ; {
			page, next, err := f.store.Messages(f.ctx, f.owner, chat, record.MessageQuery{Limit: 2, Forward: forward, Cursor: cursor})
			must(f, err)
			var texts []string
			for i := range page {
				texts = append(texts, page[i].Content)
			}
			if forward {
				read = append(read, texts...)
			} else {
				read = append(texts, read...)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		equal(f, when+", page by page", read, want)
	}
}

// testOrder watches the messages of a chat whose questions wait: at every moment they are in
// the order in which they were accepted, each followed by its answer.
func testOrder(f *fixture) {
	first := f.begin("q1")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	second, third, fourth := f.begin("q2", in(chat), queued), f.begin("q3", in(chat), queued), f.begin("q4", in(chat), queued)
	f.mustCommit(second, third, fourth)
	f.order(chat, "three wait", "q1", "q2", "q3", "q4")
	_, cursor, err := f.store.Messages(f.ctx, f.owner, chat, record.MessageQuery{Limit: 3})
	must(f, err)

	fifth := f.begin("q5", in(chat), queued)
	end := f.finish(first, "a1")
	f.mustCommit(end, fifth)
	f.order(chat, "the first has ended as another one came", "q1", "a1", "q2", "q3", "q4", "q5")
	older, _, err := f.store.Messages(f.ctx, f.owner, chat, record.MessageQuery{Cursor: cursor})
	must(f, err)
	equal(f, "the page before those that waited", []any{len(older), older[0].Content, older[1].Content}, []any{2, "q1", "a1"})
	must(f, f.store.Commit(f.ctx, []*record.Write{end})) // its result was lost
	must(f, end.Err)

	must(f, f.store.BeginAttempt(f.ctx, second.RunID, 1, ""))
	f.order(chat, "the second runs", "q1", "a1", "q2", "q3", "q4", "q5")
	f.cancelled(third)
	must(f, f.store.BeginAttempt(f.ctx, second.RunID, 2, ""))
	end = f.finish(second, "a2")
	end.Attempt = 2
	f.mustCommit(end)
	f.order(chat, "the third was cancelled, the second has ended", "q1", "a1", "q2", "a2", "q3", "q4", "q5")

	must(f, f.store.BeginAttempt(f.ctx, fourth.RunID, 1, ""))
	f.cancelled(fifth)
	stopped := f.finish(fourth, "")
	stopped.Finish.State, stopped.Finish.Message = schemas.RunCancelled, nil
	f.mustCommit(stopped)
	f.mustCommit(f.begin("q6", in(chat)))
	f.order(chat, "the next one", "q1", "a1", "q2", "a2", "q3", "q4", "q5", "q6")
}

// testOrderAgain generates an answer again after another one, while a question waits.
func testOrderAgain(f *fixture) {
	g := f.turn("q1", "a1")
	chat, asked := g.Run.ConversationID, g.Run.UserMessageID
	second := f.begin("q2", in(chat))
	f.mustCommit(second)
	again, third := f.asked(chat, asked), f.begin("q3", in(chat), queued)
	f.mustCommit(third)
	f.mustCommit(f.finish(second, "a2"))
	f.order(chat, "one waits", "q1", "a1", "q2", "a2", "q3")
	must(f, f.store.BeginAttempt(f.ctx, again.RunID, 1, ""))
	f.order(chat, "the answer is generated again", "q1", "q3")
	f.mustCommit(f.finish(again, "a1 again"))
	f.order(chat, "after its end", "q1", "a1 again", "q3")
}

// testOrderAgainAtOnce generates an answer again while a later question waits that is
// cancelled then, and goes back to the first answer.
func testOrderAgainAtOnce(f *fixture) {
	g := f.turn("q1", "a1")
	chat, asked := g.Run.ConversationID, g.Run.UserMessageID
	again, second, third := f.asked(chat, asked), f.begin("q2", in(chat), queued), f.begin("q3", in(chat), queued)
	f.mustCommit(second, third)
	f.mustCommit(f.finish(again, "a1 again"))
	f.cancelled(second)
	f.order(chat, "the next one was cancelled", "q1", "a1 again", "q2", "q3")
	equal(f, "with the first answer", f.messages(chat, true), []string{"q1", "-a1", "a1 again", "q2", "q3"})
	must(f, f.store.BeginAttempt(f.ctx, third.RunID, 1, ""))
	f.mustCommit(f.finish(third, "a3"))
	f.order(chat, "all have ended", "q1", "a1 again", "q2", "q3", "a3")

	must(f, f.store.SelectVersion(f.ctx, f.owner, chat, g.Run.MessageID))
	f.order(chat, "the first answer", "q1", "a1")
	must(f, f.store.SelectVersion(f.ctx, f.owner, chat, again.Begin.Run.MessageID))
	f.order(chat, "the second answer", "q1", "a1 again", "q2", "q3", "a3")
	next := f.begin("q4", in(chat))
	f.mustCommit(next)
	f.mustCommit(f.finish(next, "a4"))
	f.order(chat, "another question", "q1", "a1 again", "q2", "q3", "a3", "q4", "a4")
}

// testOrderOutOfTurn begins a run before one that has waited longer.
func testOrderOutOfTurn(f *fixture) {
	first := f.begin("q1")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	second, third := f.begin("q2", in(chat), queued), f.begin("q3", in(chat), queued)
	f.mustCommit(second, third)
	f.mustCommit(f.finish(first, "a1"))
	must(f, f.store.BeginAttempt(f.ctx, third.RunID, 1, ""))
	f.mustCommit(f.finish(third, "a3"))
	f.order(chat, "the second waits", "q1", "a1", "q2", "q3", "a3")
	must(f, f.store.BeginAttempt(f.ctx, second.RunID, 1, ""))
	f.mustCommit(f.finish(second, "a2"))
	f.order(chat, "both have ended", "q1", "a1", "q2", "a2", "q3", "a3")
}

// testOrderOfRetry answers questions that were cancelled while they waited.
func testOrderOfRetry(f *fixture) {
	first := f.begin("q1")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	second, third := f.begin("q2", in(chat), queued), f.begin("q3", in(chat), queued)
	f.mustCommit(second, third)
	f.cancelled(second)
	f.cancelled(third)
	f.mustCommit(f.finish(first, "a1"))
	retry := f.asked(chat, third.Begin.Run.UserMessageID)
	f.mustCommit(f.finish(retry, "a3"))
	f.order(chat, "the third is answered", "q1", "a1", "q2", "q3", "a3")

	fourth := f.begin("q4", in(chat))
	f.mustCommit(fourth)
	retry = f.asked(chat, second.Begin.Run.UserMessageID)
	f.mustCommit(f.finish(fourth, "a4"))
	must(f, f.store.BeginAttempt(f.ctx, retry.RunID, 1, ""))
	f.mustCommit(f.finish(retry, "a2"))
	f.order(chat, "the second is answered", "q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4")
}

// testSummaryOfRetry answers a question again that was cancelled before messages which a
// summary has: the summary does not have the answer.
func testSummaryOfRetry(f *fixture) {
	for _, waits := range []bool{false, true} {
		first := f.begin("q1")
		f.mustCommit(first)
		chat := first.Begin.Run.ConversationID
		second, third := f.begin("q2", in(chat), queued), f.begin("q3", in(chat), queued)
		f.mustCommit(second, third)
		f.cancelled(second)
		f.mustCommit(f.finish(first, "a1"))
		must(f, f.store.BeginAttempt(f.ctx, third.RunID, 1, ""))
		f.mustCommit(f.finish(third, "a3"))
		for through, kept := range map[string]bool{first.Begin.Run.MessageID: true, third.Begin.Run.MessageID: false} {
			must(f, f.store.SetSummary(f.ctx, f.owner, chat, record.Summary{Text: "before", Through: through, UpdatedAt: f.now()}))
			before := f.begin("q4", in(chat))
			if waits {
				f.mustCommit(before)
			}
			retry := f.asked(chat, second.Begin.Run.UserMessageID)
			if waits {
				f.mustCommit(f.finish(before, "a4"))
				must(f, f.store.BeginAttempt(f.ctx, retry.RunID, 1, ""))
			}
			sum, err := f.store.Summary(f.ctx, f.owner, chat)
			must(f, err)
			equal(f, "the summary is kept", sum.Text != "", kept)
			stopped := f.finish(retry, "")
			stopped.Finish.State, stopped.Finish.Message = schemas.RunCancelled, nil
			f.mustCommit(stopped)
		}
	}
}
