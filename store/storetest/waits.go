package storetest

import (
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// wait returns a write that makes a call of the run wait.
func (f *fixture) wait(run *record.Write, index int, kind schemas.WaitKind) *record.Write {
	at := f.now()
	reason := schemas.ReasonUnseenURL
	if kind == schemas.WaitClientTool {
		reason = ""
	}
	return &record.Write{RunID: run.RunID, Attempt: 1, Wait: &record.Wait{
		Reason: reason,
		RunID:  run.RunID, Index: index, Kind: kind, ID: newID(), ToolUseID: "call_" + string(rune('a'+index)), Tool: "book",
		Input: []byte(`{"seat":"` + long("12A", 900) + `"}`), CreatedAt: at, ExpiresAt: at.Add(time.Minute),
	}}
}

func (f *fixture) state(run *record.Write) schemas.RunState {
	f.Helper()
	got, err := f.store.Run(f.ctx, run.RunID)
	must(f, err)
	return got.State
}

func testWaits(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	first, second := f.wait(w, 0, schemas.WaitApproval), f.wait(w, 1, schemas.WaitClientTool)
	f.mustCommit(first, second)
	equal(f, "state with two waits", f.state(w), schemas.RunWaiting)
	again := *first.Wait
	again.ExpiresAt, again.Tool = again.ExpiresAt.Add(time.Hour), "another"
	f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, Wait: &again})
	got, err := f.store.Waits(f.ctx, w.RunID)
	must(f, err)
	equal(f, "waits", got, []record.Wait{*first.Wait, *second.Wait})

	answer := *first.Wait
	answer.Answer, answer.AnsweredAt, answer.Edited = schemas.WaitApproved, f.now(), []byte(`{"seat":"1A"}`)
	stored, err := f.store.AnswerWait(f.ctx, answer)
	must(f, err)
	equal(f, "answered", stored, answer)
	equal(f, "state with one wait", f.state(w), schemas.RunWaiting)
	other := answer
	other.Answer, other.Edited = schemas.WaitDenied, nil
	stored, err = f.store.AnswerWait(f.ctx, other)
	must(f, err)
	equal(f, "answered twice", stored, answer)

	result := *second.Wait
	result.Answer, result.AnsweredAt, result.Output, result.IsError = schemas.WaitResult, f.now(), long("out ", 5000), true
	stored, err = f.store.AnswerWait(f.ctx, result)
	must(f, err)
	equal(f, "result", stored, result)
	equal(f, "state without waits", f.state(w), schemas.RunRunning)
	got, err = f.store.Waits(f.ctx, w.RunID)
	must(f, err)
	equal(f, "answered waits", got, []record.Wait{answer, result})
}

// Several answers are stored together or not at all.
func testWaitsAnsweredTogether(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	waits := []*record.Write{f.wait(w, 0, schemas.WaitApproval), f.wait(w, 1, schemas.WaitClientTool), f.wait(w, 2, schemas.WaitClientTool)}
	f.mustCommit(waits...)
	answers := make([]record.Wait, len(waits))
	for i := range waits {
		answers[i] = *waits[i].Wait
		answers[i].Answer, answers[i].AnsweredAt, answers[i].Output = schemas.WaitResult, f.now(), "out"
	}
	none := answers[0]
	none.Index = 7
	_, err := f.store.AnswerWaits(f.ctx, []record.Wait{answers[0], none})
	fails(f, "answers of which one is for no wait", err, schemas.ErrNotFound)
	got, err := f.store.Waits(f.ctx, w.RunID)
	must(f, err)
	equal(f, "waits", got, []record.Wait{*waits[0].Wait, *waits[1].Wait, *waits[2].Wait})

	first, err := f.store.AnswerWaits(f.ctx, answers[1:2])
	must(f, err)
	equal(f, "the first answer", first, answers[1:2])
	other := answers[1]
	other.Output = "other"
	got, err = f.store.AnswerWaits(f.ctx, []record.Wait{answers[2], other})
	must(f, err)
	equal(f, "answers", got, []record.Wait{answers[2], answers[1]})
	equal(f, "state with one wait", f.state(w), schemas.RunWaiting)
	got, err = f.store.AnswerWaits(f.ctx, nil)
	must(f, err)
	equal(f, "no answers", len(got), 0)
	f.mustCommit(f.finish(w, "a"))
	got, err = f.store.AnswerWaits(f.ctx, answers[:2])
	must(f, err)
	equal(f, "answers after the end", got, []record.Wait{*waits[0].Wait, answers[1]})
}

func testWaitsRecovered(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w, f.wait(w, 0, schemas.WaitApproval))
	must(f, f.store.BeginAttempt(f.ctx, w.RunID, 2, ""))
	equal(f, "state of the next attempt", f.state(w), schemas.RunWaiting)
	f.uncounted(w, 1)
	late := f.wait(w, 1, schemas.WaitApproval)
	f.commit(late)
	fails(f, "a wait of the attempt before", late.Err, record.ErrFenced)
	got, err := f.store.Waits(f.ctx, w.RunID)
	must(f, err)
	equal(f, "waits", len(got), 1)
	answer := got[0]
	answer.Answer, answer.AnsweredAt = schemas.WaitDenied, f.now()
	_, err = f.store.AnswerWait(f.ctx, answer)
	must(f, err)
	must(f, f.store.BeginAttempt(f.ctx, w.RunID, 3, ""))
	equal(f, "state of the attempt after the answer", f.state(w), schemas.RunRunning)
	f.uncounted(w, 1)
}

// uncounted checks how many attempts of the run were only waiting.
func (f *fixture) uncounted(run *record.Write, want int) {
	f.Helper()
	got, err := f.store.Run(f.ctx, run.RunID)
	must(f, err)
	equal(f, "uncounted attempts", got.Uncounted, want)
}

func testWaitsEnded(f *fixture) {
	w := f.begin("q")
	answered, open := f.wait(w, 0, schemas.WaitApproval), f.wait(w, 1, schemas.WaitApproval)
	f.mustCommit(w, answered, open)
	yes := *answered.Wait
	yes.Answer, yes.AnsweredAt = schemas.WaitApproved, f.now()
	_, err := f.store.AnswerWait(f.ctx, yes)
	must(f, err)
	f.mustCommit(f.finish(w, "a"))
	equal(f, "state", f.state(w), schemas.RunCompleted)
	stored, err := f.store.AnswerWait(f.ctx, yes)
	must(f, err)
	equal(f, "the earlier answer", stored, yes)
	late := *open.Wait
	late.Answer, late.AnsweredAt = schemas.WaitApproved, f.now()
	_, err = f.store.AnswerWait(f.ctx, late)
	fails(f, "answer after the end", err, record.ErrEnded)
	late.Index = 7
	_, err = f.store.AnswerWait(f.ctx, late)
	fails(f, "answer of no wait", err, schemas.ErrNotFound)
	late.RunID = newID()
	_, err = f.store.AnswerWait(f.ctx, late)
	fails(f, "answer of no run", err, schemas.ErrNotFound)
	got, err := f.store.Waits(f.ctx, late.RunID)
	must(f, err)
	equal(f, "waits of no run", len(got), 0)
}
