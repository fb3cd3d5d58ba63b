package storetest

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// log returns segments in the form that Finish takes.
// log returns a run's log. The data of a segment is overwritten once it is no longer valid.
func log(segments ...record.Segment) iter.Seq[record.Segment] {
	return func(yield func(record.Segment) bool) {
		var buf []byte
		for _, s := range segments {
			buf = append(buf[:0], s.Data...)
			s.Data = buf
			more := yield(s)
			clear(buf)
			if !more {
				return
			}
		}
	}
}

func segment(first, last int64, data string) record.Segment {
	return record.Segment{First: first, Last: last, Data: []byte(data)}
}

// whole returns the data of segments; adjacent ones may be joined.
func whole(list []record.Segment) string {
	var b strings.Builder
	for _, s := range list {
		b.Write(s.Data)
	}
	return b.String()
}

func testSegments(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	w := f.begin("q")
	f.mustCommit(w)
	id := w.RunID
	read := func(what string, after int64, want ...record.Segment) {
		t.Helper()
		got, err := f.store.Segments(f.ctx, id, after)
		must(f, err)
		equal(f, fmt.Sprintf("%s, after %d", what, after), got, append([]record.Segment{}, want...))
		var stepped []record.Segment
		for {
			next, err := f.store.NextSegment(f.ctx, id, after)
			must(f, err)
			if next.Last == 0 {
				break
			}
			if after >= next.Last {
				f.Fatalf("%s: the segment after %d ends with %d", what, after, next.Last)
			}
			stepped, after = append(stepped, next), next.Last
		}
		if !strings.HasSuffix(whole(stepped), whole(want)) || len(want) == 0 && len(stepped) > 0 {
			f.Errorf("%s, one at a time: got %+v, want %+v", what, stepped, want)
		}
	}
	one, two := segment(1, 4, long("compresses well ", 10_000)), segment(5, 5, "tiny\x00\xff")
	apart, second := segment(9, 9, "not a neighbour"), segment(1_000_001, 1_000_007, long("attempt 2 ", 300))
	f.mustCommit(&record.Write{RunID: id, Attempt: 1, Segment: &record.Segment{First: 1, Last: 2, Data: []byte("shorter, replaced")}})
	f.mustCommit(&record.Write{RunID: id, Attempt: 1, Segment: &one}, &record.Write{RunID: id, Attempt: 1, Segment: &two})
	f.mustCommit(&record.Write{RunID: id, Attempt: 1, Segment: &apart})
	read("as written", 0, one, two, apart)
	read("as written", 3, one, two, apart)
	read("as written", 4, two, apart)
	read("as written", 9)

	// Tidying joins what the previous attempt has written.
	joined := segment(1, 5, string(one.Data)+string(two.Data))
	must(f, f.store.BeginAttempt(f.ctx, id, 2, ""))
	must(f, f.store.Tidy(f.ctx, []string{""}))
	f.mustCommit(&record.Write{RunID: id, Attempt: 2, Segment: &second})
	for _, after := range []int64{0, 3, 4} {
		read("begun again", after, joined, apart, second)
	}
	read("begun again", 5, apart, second)
	read("begun again", 1_000_006, second)
	read("begun again", 1_000_007)

	end := f.finish(w, "a")
	end.Attempt = 2
	pieces := []record.Segment{segment(1_000_001, 1_000_005, strings.Repeat("all of", 1000)), segment(1_000_006, 1_000_009, " attempt 2")}
	end.Finish.Log, end.Finish.LastSeq = log(pieces...), 1_000_009
	f.mustCommit(end)
	for _, after := range []int64{0, 7, 9, 1_000_003, 1_000_005, 1_000_008, 1_000_009} {
		read("ended", after, slices.DeleteFunc(append([]record.Segment{joined, apart}, pieces...), func(s record.Segment) bool { return s.Last <= after })...)
	}
	_, err := f.store.NextSegment(f.ctx, newID(), 0)
	fails(f, "the log of no run", err, schemas.ErrNotFound)
	run, err := f.store.Run(f.ctx, id)
	must(f, err)
	equal(f, "last event", run.LastSeq, 1_000_009)
}

// What running runs write survives the store. It is tidied by the next process,
// or by the commit with which it grows too large, and only once.
func testJournal(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	under, over := f.begin("continues"), f.begin("ends")
	f.mustCommit(under, over)
	var want []byte
	var through int64
	write := func(size int) {
		t.Helper()
		data := []byte(long("x", size))
		want = append(want, data...)
		through++
		s := record.Segment{First: through, Last: through, Data: data}
		c := record.Checkpoint{N: int(through), Data: json.RawMessage(`{}`)}
		f.mustCommit(
			&record.Write{RunID: under.RunID, Attempt: 1, Segment: &s, Checkpoint: &c},
			&record.Write{RunID: over.RunID, Attempt: 1, Segment: &s, Checkpoint: &c},
		)
	}
	check := func(what string) {
		t.Helper()
		segments, err := f.store.Segments(f.ctx, under.RunID, 0)
		must(f, err)
		var got []byte
		last := int64(0)
		for _, s := range segments {
			if s.First != last+1 {
				t.Errorf("%s: a segment begins at %d after %d", what, s.First, last)
			}
			last = s.Last
			got = append(got, s.Data...)
		}
		if last != through || string(got) != string(want) {
			t.Errorf("%s: got %d bytes to %d, want %d to %d", what, len(got), last, len(want), through)
		}
		checkpoints, err := f.store.Checkpoints(f.ctx, under.RunID)
		must(f, err)
		equal(f, what+": checkpoints", len(checkpoints), int(through))
	}
	write(10)
	write(20)
	check("written")
	f.store = open(t, url) // as after a kill
	check("found by the next store")
	must(t, f.store.Tidy(t.Context(), nil))
	check("tidied by it")
	write(30)
	check("written by it")
	for range 40 {
		write(300_000)
	}
	check("grown")
	f.mustCommit(f.finish(under, "a"), f.finish(over, "a"))
	f.store = open(t, url)
	must(t, f.store.Tidy(t.Context(), nil))
	for _, w := range []*record.Write{under, over} {
		segments, err := f.store.Segments(f.ctx, w.RunID, 0)
		must(f, err)
		equal(f, "log", len(segments), 1)
		checkpoints, err := f.store.Checkpoints(f.ctx, w.RunID)
		must(f, err)
		equal(f, "checkpoints of a run that has ended", len(checkpoints), 0)
	}
}

func testCheckpoints(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	var want []record.Checkpoint
	for n := 1; n <= 3; n++ {
		c := record.Checkpoint{N: n, Data: json.RawMessage(`{ "n" : "` + long("x", n*200) + `\u0000\ud800" }`)}
		want = append(want, c)
		f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, Checkpoint: &c})
	}
	f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, Checkpoint: &want[1]})
	got, err := f.store.Checkpoints(f.ctx, w.RunID)
	must(f, err)
	equal(f, "checkpoints", got, want)
}

func testToolCalls(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	p := payload("", "articles", `{"a": [1, "<b>"]}`)
	calls := []record.ToolCall{
		{
			RunID: w.RunID, Index: 0, ToolUseID: "toolu_1", Name: "search", State: record.ToolFinished, Attempt: 1, Input: json.RawMessage(`{"q": "x"}`),
			Output: "found\x00", ModelOutput: "found\x00", Payload: &p, StartedAt: start, Duration: 412 * time.Millisecond,
		},
		{
			RunID: w.RunID, Index: 1, Name: "fetch", State: record.ToolFinished, Attempt: 1, Input: json.RawMessage(`{}`), Output: long("whole ", 900),
			ModelOutput: "cut", IsError: true, StartedAt: start,
		},
		{RunID: w.RunID, Index: 2, Name: "slow", State: record.ToolStarted, Attempt: 1, Input: json.RawMessage(`{}`), StartedAt: start},
	}
	for _, i := range []int{2, 0, 1} { // started in any order
		started := calls[i]
		started.State, started.Output, started.ModelOutput, started.Payload = record.ToolStarted, "", "", nil
		f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, ToolCall: &started})
	}
	f.mustCommit(&record.Write{RunID: w.RunID, Attempt: 1, ToolCall: &calls[1]}, &record.Write{RunID: w.RunID, Attempt: 1, ToolCall: &calls[0]})
	got, err := f.store.ToolCalls(f.ctx, w.RunID)
	must(f, err)
	equal(f, "tool calls", got, calls)

	f.mustCommit(f.finish(w, "a"))
	m, err := f.store.Message(f.ctx, f.owner, w.Begin.Run.ConversationID, w.Begin.Run.MessageID)
	must(f, err)
	equal(f, "tool history", m.ToolHistory, []schemas.ToolCall{
		{ToolName: "search", Input: json.RawMessage(`{"q": "x"}`), Output: "found\x00", ToolUseID: "toolu_1", DurationMS: 412},
		{ToolName: "fetch", Input: json.RawMessage(`{}`), Output: calls[1].Output, IsError: true},
		{ToolName: "slow", Input: json.RawMessage(`{}`)},
	})
}

func testLongOutput(f *fixture) {
	w := f.begin("q")
	exact, over := long("é", 2*16_000), long("é", 2*16_001)
	f.mustCommit(
		w, &record.Write{RunID: w.RunID, Attempt: 1, ToolCall: &record.ToolCall{Index: 0, Name: "t", State: record.ToolFinished, Output: exact}},
		&record.Write{RunID: w.RunID, Attempt: 1, ToolCall: &record.ToolCall{Index: 1, Name: "t", State: record.ToolFinished, Output: over}},
		f.finish(w, "a"),
	)
	m, err := f.store.Message(f.ctx, f.owner, w.Begin.Run.ConversationID, w.Begin.Run.MessageID)
	must(f, err)
	equal(f, "output of 16,000 characters", m.ToolHistory[0].Output, exact)
	if got := m.ToolHistory[1].Output; !strings.HasPrefix(got, exact+"\n") || !strings.Contains(got, "16001") || len(got) > len(exact)+100 {
		f.Errorf("output of 16,001 characters ends in %q", got[len(got)-60:])
	}
	calls, err := f.store.ToolCalls(f.ctx, w.RunID)
	must(f, err)
	equal(f, "whole output", calls[1].Output, over)
	call, err := f.store.ToolCall(f.ctx, w.RunID, 1)
	must(f, err)
	equal(f, "the call alone", call, calls[1])
	_, err = f.store.ToolCall(f.ctx, w.RunID, 2)
	fails(f, "a call that there is not", err, schemas.ErrNotFound)
	f.store.Left(f.ctx, []string{w.RunID}, 1, func(some []record.Left) {
		equal(f, "what is left of the output", some[0].ToolCalls[1].Output, m.ToolHistory[1].Output)
	})
}

func testTrace(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	_, err := f.store.Trace(f.ctx, w.RunID)
	fails(f, "trace of a run under way", err, schemas.ErrNotFound)
	end := f.finish(w, "a")
	end.Finish.Trace = json.RawMessage(`{"messages": "` + long("long ", 3000) + `"}`)
	f.mustCommit(end)
	got, err := f.store.Trace(f.ctx, w.RunID)
	must(f, err)
	equal(f, "trace", string(got), string(end.Finish.Trace))
}

func testRunByKey(f *fixture) {
	g := f.turn("q", "a", func(g *record.Begin) { g.Run.IdempotencyKey, g.Run.BodyHash = "k-1", "hash" })
	run, err := f.store.RunByKey(f.ctx, f.owner, "k-1")
	must(f, err)
	equal(f, "run", []string{run.ID, run.IdempotencyKey, run.BodyHash}, []string{g.Run.ID, "k-1", "hash"})
	_, err = f.store.RunByKey(f.ctx, f.anotherUser().owner, "k-1")
	fails(f, "another user's key", err, schemas.ErrNotFound)
	_, err = f.store.RunByKey(f.ctx, f.owner, "")
	fails(f, "no key", err, schemas.ErrNotFound)
}

func testQueue(f *fixture) {
	first := f.begin("q1")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	second, third := f.begin("q2", in(chat), queued), f.begin("q3", in(chat), queued)
	f.mustCommit(second, third)
	next, err := f.store.NextQueued(f.ctx, chat)
	must(f, err)
	equal(f, "next", []any{next.ID, next.Attempt, next.State}, []any{second.RunID, 0, schemas.RunQueued})
	waiting, err := f.store.Waiting(f.ctx, chat)
	must(f, err)
	equal(f, "waiting", waiting, []string{second.RunID, third.RunID})
	fails(f, "begin while another runs", f.store.BeginAttempt(f.ctx, second.RunID, 1, ""), record.ErrBusy)
	early := &record.Write{RunID: second.RunID, Attempt: 1, Segment: &record.Segment{First: 1, Last: 1}}
	f.commit(early)
	fails(f, "write before the begin", early.Err, record.ErrFenced)

	f.mustCommit(f.finish(first, "a1"))
	equal(f, "before it began", f.messages(chat, false), []string{"q1", "a1", "q2", "q3"})
	fails(f, "begin the wrong attempt", f.store.BeginAttempt(f.ctx, second.RunID, 2, ""), record.ErrFenced)
	must(f, f.store.BeginAttempt(f.ctx, second.RunID, 1, ""))
	fails(f, "begin again", f.store.BeginAttempt(f.ctx, second.RunID, 1, ""), record.ErrFenced)
	fails(f, "begin the third", f.store.BeginAttempt(f.ctx, third.RunID, 1, ""), record.ErrBusy)
	equal(f, "after it began", f.messages(chat, false), []string{"q1", "a1", "q2", "q3"})
	f.mustCommit(f.finish(second, "a2"))
	equal(f, "after its end", f.messages(chat, false), []string{"q1", "a1", "q2", "a2", "q3"})

	waiting, err = f.store.Waiting(f.ctx, chat)
	must(f, err)
	equal(f, "still waiting", waiting, []string{third.RunID})

	// A queued run may end without having started.
	next, err = f.store.NextQueued(f.ctx, chat)
	must(f, err)
	equal(f, "next", next.ID, third.RunID)
	f.mustCommit(&record.Write{RunID: third.RunID, Attempt: 0, Finish: &record.Finish{State: schemas.RunCancelled, EndedAt: f.now()}})
	_, err = f.store.NextQueued(f.ctx, chat)
	fails(f, "next in an empty queue", err, schemas.ErrNotFound)
	fails(f, "begin a run that has ended", f.store.BeginAttempt(f.ctx, third.RunID, 1, ""), record.ErrFenced)
	ended, err := f.store.Run(f.ctx, third.RunID)
	must(f, err)
	equal(f, "message of a run without one", ended.MessageID, "")

	f.mustCommit(f.begin("of another chat"))
	for _, tt := range []struct {
		of    string
		limit int
		want  []string
	}{
		{first.RunID, 9, []string{second.RunID, third.RunID}},
		{first.RunID, 1, []string{second.RunID}},
		{third.RunID, 9, nil},
		{newID(), 9, nil},
		{"no\x00id", 9, nil},
	} {
		later, err := f.store.RunsAfter(f.ctx, tt.of, tt.limit)
		must(f, err)
		equal(f, "runs after one", later, tt.want)
	}
}

func testBeginRecovered(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	fails(f, "begin the current attempt", f.store.BeginAttempt(f.ctx, w.RunID, 1, ""), record.ErrFenced)
	must(f, f.store.BeginAttempt(f.ctx, w.RunID, 2, ""))
	run, err := f.store.Run(f.ctx, w.RunID)
	must(f, err)
	equal(f, "run", []any{run.Attempt, run.State}, []any{2, schemas.RunRunning})
	equal(f, "messages", f.messages(run.ConversationID, false), []string{"q"})
	fails(f, "begin no run", f.store.BeginAttempt(f.ctx, newID(), 1, ""), schemas.ErrNotFound)
}

func testRequestCancel(f *fixture) {
	w := f.begin("q")
	f.mustCommit(w)
	must(f, f.store.RequestCancel(f.ctx, w.RunID))
	must(f, f.store.RequestCancel(f.ctx, w.RunID))
	run, err := f.store.Run(f.ctx, w.RunID)
	must(f, err)
	equal(f, "cancel requested", run.CancelRequested, true)
	g := f.turn("q", "a")
	must(f, f.store.RequestCancel(f.ctx, g.Run.ID))
	run, err = f.store.Run(f.ctx, g.Run.ID)
	must(f, err)
	equal(f, "cancel requested after the end", run.CancelRequested, false)
	deleted := newID()
	ids, err := f.store.CancelRequested(f.ctx, "", []string{g.Run.ID, deleted, w.RunID})
	must(f, err)
	for id, want := range map[string]int{w.RunID: 1, deleted: 1, g.Run.ID: 0} { // beside those of other tests
		equal(f, "times that a run is named", len(slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other != id })), want)
	}
}

func testUnknownRun(f *fixture) {
	id := newID()
	calls := map[string]func() error{
		"run":              func() error { _, err := f.store.Run(f.ctx, id); return err },
		"segments":         func() error { _, err := f.store.Segments(f.ctx, id, 0); return err },
		"checkpoints":      func() error { _, err := f.store.Checkpoints(f.ctx, id); return err },
		"tool calls":       func() error { _, err := f.store.ToolCalls(f.ctx, id); return err },
		"trace":            func() error { _, err := f.store.Trace(f.ctx, id); return err },
		"request cancel":   func() error { return f.store.RequestCancel(f.ctx, id) },
		"begin an attempt": func() error { return f.store.BeginAttempt(f.ctx, id, 1, "") },
		"next queued":      func() error { _, err := f.store.NextQueued(f.ctx, 1<<40); return err },
	}
	for name, call := range calls {
		fails(f, name, call(), schemas.ErrNotFound)
	}
	id = "no\x00id"
	for name, call := range calls {
		fails(f, name+" under no text", call(), schemas.ErrNotFound)
	}
}
