package storetest

import (
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func supersede(id string) func(*record.Begin) { return func(g *record.Begin) { g.Supersede = id } }

// again asks for another answer to the question of a turn.
func (f *fixture) again(g *record.Begin, answer string) *record.Begin {
	f.Helper()
	return f.turn("", answer, in(g.Run.ConversationID), supersede(g.Run.MessageID), answering(g))
}

func answering(g *record.Begin) func(*record.Begin) {
	return func(b *record.Begin) { b.UserMessage, b.Run.UserMessageID = nil, g.Run.UserMessageID }
}

func (f *fixture) choose(chat int64, message string) {
	f.Helper()
	must(f, f.store.SelectVersion(f.ctx, f.owner, chat, message))
}

func (f *fixture) current(chat int64) string {
	f.Helper()
	return strings.Join(f.messages(chat, false), " ")
}

// version returns the version of a message, the zero value if it is the only
// one.
func (f *fixture) version(chat int64, message string) schemas.Version {
	f.Helper()
	m, err := f.store.Message(f.ctx, f.owner, chat, message)
	must(f, err)
	if m.Version == nil {
		return schemas.Version{}
	}
	return *m.Version
}

// listed returns the versions of a message as lines.
func (f *fixture) listed(chat int64, message string) (lines []string) {
	f.Helper()
	list, err := f.store.Versions(f.ctx, f.owner, chat, message)
	must(f, err)
	for _, v := range list.Items {
		line := v.MessageID + " " + v.Preview + " " + string(v.Status)
		if v.Current {
			line += " current"
		}
		lines = append(lines, line)
	}
	return lines
}

func testVersions(f *fixture) {
	first := f.turn("q1", "a1")
	chat := first.Run.ConversationID
	second := f.turn("q2", "a2", in(chat))
	f.turn("q3", "a3", in(chat))
	edited := f.turn("q2b", "a2b", in(chat), supersede(second.Run.UserMessageID))
	equal(f, "after the edit", f.current(chat), "q1 a1 q2b a2b")
	equal(f, "its version", f.version(chat, edited.Run.UserMessageID), schemas.Version{Number: 2, Count: 2, PreviousID: second.Run.UserMessageID})
	equal(f, "no version", f.version(chat, first.Run.UserMessageID), schemas.Version{})
	equal(f, "no version of the answer", f.version(chat, edited.Run.MessageID), schemas.Version{})

	must(f, f.store.SetSummary(f.ctx, f.owner, chat, record.Summary{Text: "s", Through: edited.Run.MessageID, UpdatedAt: start}))
	f.choose(chat, second.Run.UserMessageID)
	equal(f, "gone back", f.current(chat), "q1 a1 q2 a2 q3 a3")
	equal(f, "version 1", f.version(chat, second.Run.UserMessageID), schemas.Version{Number: 1, Count: 2, NextID: edited.Run.UserMessageID})
	summary, err := f.store.Summary(f.ctx, f.owner, chat)
	must(f, err)
	equal(f, "summary of what was replaced", summary.Text, "")
	m, err := f.store.Message(f.ctx, f.owner, chat, second.Run.MessageID)
	must(f, err)
	equal(f, "its status", m.Status, schemas.MessageComplete)

	f.turn("q4", "a4", in(chat))
	equal(f, "continues", f.current(chat), "q1 a1 q2 a2 q3 a3 q4 a4")
	f.choose(chat, edited.Run.UserMessageID)
	equal(f, "forward again", f.current(chat), "q1 a1 q2b a2b")
	f.choose(chat, edited.Run.UserMessageID)
	equal(f, "what is current already", f.current(chat), "q1 a1 q2b a2b")
	third := f.turn("q2c", "a2c", in(chat), supersede(edited.Run.UserMessageID))
	equal(f, "versions", f.listed(chat, second.Run.UserMessageID), []string{
		second.Run.UserMessageID + " q2 complete", edited.Run.UserMessageID + " q2b complete", third.Run.UserMessageID + " q2c complete current",
	})
	f.choose(chat, second.Run.UserMessageID)
	equal(f, "the first of three", f.current(chat), "q1 a1 q2 a2 q3 a3 q4 a4")

	failsWith(f, "a message that was replaced together with another", f.store.SelectVersion(f.ctx, f.owner, chat, third.Run.MessageID), schemas.CodeConflict)
	for what, id := range map[string]string{"unknown": newID(), "no text": "a\x00b"} {
		fails(f, what, f.store.SelectVersion(f.ctx, f.owner, chat, id), schemas.ErrNotFound)
	}
	other := f.anotherUser()
	fails(f, "another user's", f.store.SelectVersion(f.ctx, other.owner, chat, third.Run.UserMessageID), schemas.ErrNotFound)
	_, err = f.store.Versions(f.ctx, other.owner, chat, third.Run.UserMessageID)
	fails(f, "another user's versions", err, schemas.ErrNotFound)
}

func testAnswerVersions(f *fixture) {
	first := f.turn("q", "a1")
	chat := first.Run.ConversationID
	f.turn("more", "of it", in(chat))
	second := f.again(first, "a2")
	third := f.again(second, "a3")
	equal(f, "the last", f.current(chat), "q a3")
	equal(f, "its version", f.version(chat, third.Run.MessageID), schemas.Version{Number: 3, Count: 3, PreviousID: second.Run.MessageID})
	f.choose(chat, first.Run.MessageID)
	equal(f, "the first", f.current(chat), "q a1 more of it")
	f.choose(chat, second.Run.MessageID)
	equal(f, "the second", f.current(chat), "q a2")
	equal(f, "all", len(f.messages(chat, true)), 6)

	// An answer that was stopped before it began leaves the earlier one.
	w := f.begin("", in(chat), supersede(second.Run.MessageID), answering(first))
	f.mustCommit(w)
	end := f.finish(w, "")
	end.Finish.State, end.Finish.Message = schemas.RunCancelled, nil
	f.mustCommit(end)
	equal(f, "stopped", f.current(chat), "q a2")
	f.choose(chat, third.Run.MessageID)
	equal(f, "another answer", f.current(chat), "q a3")
}

func testNestedVersions(f *fixture) {
	first := f.turn("q1", "a1")
	chat := first.Run.ConversationID
	second := f.turn("q2", "a2", in(chat))
	again := f.again(second, "a2b")
	edited := f.turn("q1b", "a1b", in(chat), supersede(first.Run.UserMessageID))
	equal(f, "the edit", f.current(chat), "q1b a1b")
	versions := []string{second.Run.MessageID + " a2 complete", again.Run.MessageID + " a2b complete"}
	for _, id := range []string{second.Run.MessageID, again.Run.MessageID} {
		equal(f, "versions within what was replaced", f.listed(chat, id), versions)
	}
	failsWith(f, "within what was replaced", f.store.SelectVersion(f.ctx, f.owner, chat, second.Run.MessageID), schemas.CodeConflict)
	f.choose(chat, first.Run.UserMessageID)
	equal(f, "back, as it was left", f.current(chat), "q1 a1 q2 a2b")
	f.choose(chat, second.Run.MessageID)
	equal(f, "and further", f.current(chat), "q1 a1 q2 a2")
	f.choose(chat, edited.Run.UserMessageID)
	f.choose(chat, first.Run.UserMessageID)
	equal(f, "what was chosen stays", f.current(chat), "q1 a1 q2 a2")
	equal(f, "versions of the answer", f.version(chat, again.Run.MessageID).Count, 2)
}

func testVersionsBusy(f *fixture) {
	first := f.turn("q", "a1")
	chat := first.Run.ConversationID
	w := f.begin("", in(chat), supersede(first.Run.MessageID), answering(first))
	f.mustCommit(w)
	failsWith(f, "while an answer is written", f.store.SelectVersion(f.ctx, f.owner, chat, first.Run.MessageID), schemas.CodeBusy)
	f.mustCommit(f.finish(w, "a2"))
	f.choose(chat, first.Run.MessageID)
	equal(f, "after it", f.current(chat), "q a1")
}

// testVersionsQueued has a question that waits for its turn: it is stored
// before the answer that it follows.
func testVersionsQueued(f *fixture) {
	first := f.begin("q1")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	waiting := f.begin("q2", in(chat), queued)
	f.mustCommit(waiting)
	edited := f.begin("q2b", in(chat), queued, supersede(waiting.Begin.Run.UserMessageID))
	f.mustCommit(edited)
	f.mustCommit(f.finish(first, "a1"))
	for _, w := range []*record.Write{waiting, edited} {
		must(f, f.store.BeginAttempt(f.ctx, w.RunID, 1, ""))
		f.mustCommit(f.finish(w, "a"+w.Begin.UserMessage.Content[1:]))
	}
	equal(f, "answered", f.current(chat), "q1 a1 q2b a2b")
	f.choose(chat, waiting.Begin.Run.UserMessageID)
	equal(f, "with the answer that came later", f.current(chat), "q1 a1 q2 a2")
	f.choose(chat, edited.Begin.Run.UserMessageID)
	equal(f, "forward", f.current(chat), "q1 a1 q2b a2b")
	all := f.messages(chat, true)
	slices.Sort(all)
	equal(f, "nothing is lost", strings.Join(all, " "), "-a2 -q2 a1 a2b q1 q2b")
}

// testReplacedQueued has a question that is replaced while it waits for its turn: its run
// does not begin, and stays queued until it ends.
func testReplacedQueued(f *fixture) {
	first := f.begin("q1")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	waiting := f.begin("q2", in(chat), queued)
	f.mustCommit(waiting)
	edited := f.begin("q2b", in(chat), queued, supersede(waiting.Begin.Run.UserMessageID))
	f.mustCommit(edited)
	f.mustCommit(f.finish(first, "a1"))
	_, err := f.store.BeginQueued(f.ctx, waiting.RunID, "", nil)
	fails(f, "a replaced question", err, record.ErrReplaced)
	run, err := f.store.Run(f.ctx, waiting.RunID)
	must(f, err)
	equal(f, "its run", []any{run.State, run.Attempt}, []any{schemas.RunQueued, 0})
	f.begins(edited)
	f.mustCommit(f.finish(edited, "a2b"))
	equal(f, "answered", f.current(chat), "q1 a1 q2b a2b")
}
