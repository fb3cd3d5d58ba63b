package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// at returns a change that gives a run its page and the time of its start.
func at(page string, start time.Time) func(*record.Begin) {
	return func(g *record.Begin) { g.Run.Page, g.Run.CreatedAt = page, start }
}

// adminIDs goes through all pages of a list and returns the ids.
func (f *fixture) adminIDs(q record.AdminRunQuery) (ids []string) {
	f.Helper()
	for range 100 {
		list, err := f.store.AdminRuns(f.ctx, q)
		must(f, err)
		if q.Limit > 0 && len(list.Items) > q.Limit {
			f.Fatalf("%d runs on a page, want at most %d", len(list.Items), q.Limit)
		}
		for _, r := range list.Items {
			ids = append(ids, r.RunID)
		}
		if q.Cursor = list.NextCursor; q.Cursor == "" {
			return ids
		}
	}
	f.Fatal("the list does not end")
	return nil
}

// testAdminRuns checks each filter, alone and with others, and that pages of any size
// give every run once, the newest first.
func testAdminRuns(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	other := f.anotherUser()
	day := start.Truncate(24 * time.Hour)
	end := func(w *record.Write, state schemas.RunState, model string, code schemas.Code) *record.Write {
		fin := f.finish(w, "a")
		fin.Finish.State, fin.Finish.Model = state, model
		if code != "" {
			fin.Finish.Error = &schemas.MessageFailure{Code: code, Message: "it failed"}
		}
		return fin
	}
	one := f.begin("one", at("reports", day))
	two := other.begin("two", at("reports", day.Add(time.Hour)))
	three := f.begin("three", at("streams", day.Add(2*time.Hour)))
	same := f.begin("at the same time", at("streams", day.Add(2*time.Hour)))
	next := f.begin("the next day", at("", day.AddDate(0, 0, 1)))
	running := f.begin("runs", at("reports", day.Add(90*time.Minute)), of("replica"))
	f.mustCommit(one, two, three, same, next, running)
	f.mustCommit(end(one, schemas.RunCompleted, "large", ""), end(two, schemas.RunFailed, "small", schemas.CodeUpstreamError),
		end(three, schemas.RunCancelled, "large", ""), end(same, schemas.RunCompleted, "large", ""), end(next, schemas.RunFailed, "", schemas.CodeInternal))

	all := []string{next.RunID, same.RunID, three.RunID, running.RunID, two.RunID, one.RunID}
	for _, tt := range []struct {
		name string
		q    record.AdminRunQuery
		want []string
	}{
		{"all", record.AdminRunQuery{}, all},
		{"of a user", record.AdminRunQuery{Owner: other.owner}, []string{two.RunID}},
		{"on a page", record.AdminRunQuery{Page: "reports"}, []string{running.RunID, two.RunID, one.RunID}},
		{"by a model", record.AdminRunQuery{Model: "large"}, []string{same.RunID, three.RunID, one.RunID}},
		{"failed", record.AdminRunQuery{State: "failed"}, []string{next.RunID, two.RunID}},
		{"running", record.AdminRunQuery{State: "running"}, []string{running.RunID}},
		{"completed", record.AdminRunQuery{State: "completed"}, []string{same.RunID, one.RunID}},
		{"with an error", record.AdminRunQuery{Code: "upstream_error"}, []string{two.RunID}},
		{"in a time", record.AdminRunQuery{From: day.Add(time.Hour), To: day.Add(2 * time.Hour)}, []string{running.RunID, two.RunID}},
		{"several", record.AdminRunQuery{Owner: f.owner, Page: "streams", Model: "large", State: "completed", From: day}, []string{same.RunID}},
		{"none", record.AdminRunQuery{Page: "reports", Code: "internal"}, nil},
		{"no text", record.AdminRunQuery{Owner: "\x00"}, nil},
	} {
		for _, limit := range []int{0, 1, 2, 5} {
			tt.q.Limit = limit
			equal(t, fmt.Sprintf("%s, pages of %d", tt.name, limit), f.adminIDs(tt.q), tt.want)
		}
	}
	_, err := f.store.AdminRuns(f.ctx, record.AdminRunQuery{Cursor: "?"})
	if schemas.Visible(err).Code != schemas.CodeBadRequest {
		t.Errorf("a cursor of somebody else gives %v", err)
	}

	got, attempts, err := f.store.AdminRun(f.ctx, two.RunID)
	must(t, err)
	ended := moment(two, f)
	equal(t, "a run", got, schemas.AdminRun{
		RunID: two.RunID, ConversationID: two.Begin.Run.ConversationID, UserID: other.owner, UserName: "Ann", State: schemas.RunFailed, Attempt: 1,
		CreatedAt: day.Add(time.Hour), EndedAt: &ended, Model: "small", Page: "reports", StopReason: schemas.EndTurn,
		Usage: schemas.Usage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7}, Error: &schemas.MessageFailure{Code: schemas.CodeUpstreamError, Message: "it failed"},
	})
	equal(t, "its attempts", attempts, []schemas.AdminAttempt{{Number: 1}})
	_, _, err = f.store.AdminRun(f.ctx, newID())
	fails(t, "an unknown run", err, schemas.ErrNotFound)
	open, err := f.store.OpenRuns(f.ctx)
	must(t, err)
	equal(t, "open runs", open, 1)
}

// moment returns when the run has ended.
func moment(w *record.Write, f *fixture) time.Time {
	run, err := f.store.Run(f.ctx, w.RunID)
	must(f, err)
	return run.EndedAt
}

// testAdminLooks checks that a list with runs that the query does not want looks through
// all of them, with an empty page where there is none.
func testAdminLooks(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	const many = 4100 // more than twice as many as a request looks through
	first := f.begin("first", at("rare", start.Add(-time.Hour)))
	f.mustCommit(first)
	f.mustCommit(f.finish(first, "a"))
	for range 41 {
		var begun, done []*record.Write
		for range many / 41 {
			w := f.begin("q", at("frequent", start))
			begun, done = append(begun, w), append(done, f.finish(w, "a"))
		}
		f.mustCommit(begun...)
		f.mustCommit(done...)
	}
	q := record.AdminRunQuery{State: "completed", Owner: f.owner, Page: "rare", Limit: 10}
	list, err := f.store.AdminRuns(f.ctx, q)
	must(t, err)
	if len(list.Items) > 0 || list.NextCursor == "" {
		t.Errorf("the first page has %d runs and the cursor %q, want none and a cursor", len(list.Items), list.NextCursor)
	}
	equal(t, "the rare run", f.adminIDs(q), []string{first.RunID})
	if got := len(f.adminIDs(record.AdminRunQuery{Page: "frequent", Limit: 200})); got != many {
		t.Errorf("%d frequent runs, want %d", got, many)
	}
}

// testAdminAttempts checks which replica had which attempt of a run.
func testAdminAttempts(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	w := f.begin("moves", of("a"))
	queue := f.begin("waits", of("a"), queued)
	f.mustCommit(w)
	queue.Begin.ConversationID = w.Begin.Run.ConversationID
	f.mustCommit(queue)
	must(t, f.store.BeginAttempt(f.ctx, w.RunID, 2, "a"))
	f.take("b", "a")
	f.take("c", "b")
	_, attempts, err := f.store.AdminRun(f.ctx, w.RunID)
	must(t, err)
	equal(t, "attempts", attempts, []schemas.AdminAttempt{
		{Number: 1, Replica: "a"}, {Number: 2, Replica: "a"}, {Number: 3, Replica: "b"}, {Number: 4, Replica: "c"},
	})
	run, attempts, err := f.store.AdminRun(f.ctx, queue.RunID)
	must(t, err)
	equal(t, "attempts of a queued run", attempts, []schemas.AdminAttempt{})
	equal(t, "its replica", run.Replica, "c")
}

// testAdminStats checks the totals by day, model, page, user and error.
func testAdminStats(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	other := f.anotherUser()
	day := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	spend := func(f *fixture, page, replica string, ended time.Time, change func(*record.Finish), used ...record.ModelUsage) {
		t.Helper()
		w := f.begin("q", at(page, ended), of(replica))
		f.mustCommit(w)
		end := f.finish(w, "a")
		end.Finish.EndedAt, end.Finish.Spent = ended, used
		change(end.Finish)
		f.mustCommit(end)
		f.mustCommit(end) // one that is committed again counts once
	}
	plain := func(*record.Finish) {}
	spend(f, "reports", "a", day, plain, spent("large", 1, 100, 10, 50), spent("small", 0, 5, 1, 1))
	spend(f, "reports", "b", day, plain, spent("large", 1, 100, 10, 50))
	spend(other, "", "a", day.AddDate(0, 0, 1), func(fin *record.Finish) { fin.Fallback = true }, spent("small", 1, 7, 3, 2))
	spend(other, "streams", "a", day.AddDate(0, 0, 1), func(fin *record.Finish) {
		fin.State, fin.Model, fin.Error = schemas.RunFailed, "large", &schemas.MessageFailure{Code: schemas.CodeUpstreamError}
	})
	spend(other, "streams", "a", day.AddDate(0, 0, 1), func(fin *record.Finish) { fin.State, fin.Model = schemas.RunCancelled, "large" }, spent("large", 1, 1, 1, 1))
	spend(other, "streams", "a", day.AddDate(0, 0, 9), plain, spent("large", 1, 1000, 1000, 1000))

	stats, err := f.store.AdminStats(f.ctx, record.AdminStatsQuery{From: "2026-11-20", To: "2026-11-21", Top: 10})
	must(t, err)
	equal(t, "totals", stats, schemas.AdminStats{
		From: "2026-11-20", To: "2026-11-21",
		Days: []schemas.AdminTotal{
			{Name: "2026-11-20", Runs: 2, InputTokens: 205, OutputTokens: 21, CostUSD: 101},
			{Name: "2026-11-21", Runs: 3, Failed: 1, Cancelled: 1, Fallbacks: 1, InputTokens: 8, OutputTokens: 4, CostUSD: 3},
		},
		Models: []schemas.AdminTotal{
			{Name: "large", Runs: 4, Failed: 1, Cancelled: 1, InputTokens: 201, OutputTokens: 21, CostUSD: 101},
			{Name: "small", Runs: 1, Fallbacks: 1, InputTokens: 12, OutputTokens: 4, CostUSD: 3},
		},
		Pages: []schemas.AdminTotal{
			{Name: "reports", Runs: 2, InputTokens: 205, OutputTokens: 21, CostUSD: 101},
			{Name: "", Runs: 1, Fallbacks: 1, InputTokens: 7, OutputTokens: 3, CostUSD: 2},
			{Name: "streams", Runs: 2, Failed: 1, Cancelled: 1, InputTokens: 1, OutputTokens: 1, CostUSD: 1},
		},
		Users: []schemas.AdminTotal{
			{Name: f.owner, Runs: 2, InputTokens: 205, OutputTokens: 21, CostUSD: 101},
			{Name: other.owner, Runs: 2, InputTokens: 8, OutputTokens: 4, CostUSD: 3},
		},
		Errors: []schemas.AdminTotal{{Name: "upstream_error", Runs: 1, Failed: 1}},
	})
	stats, err = f.store.AdminStats(f.ctx, record.AdminStatsQuery{From: "2026-11-20", To: "2026-12-31", Top: 1})
	must(t, err)
	if len(stats.Days) != 3 || len(stats.Models) != 1 || len(stats.Pages) != 1 || len(stats.Users) != 1 || stats.Users[0].Name != other.owner {
		t.Errorf("the first ones are %+v", stats)
	}
}

// testMemberList checks the list of the processes and their leases.
func testMemberList(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	r := f.store.Replicas()
	for _, lease := range []struct {
		id   string
		time time.Duration
	}{{"a", time.Hour}, {"b", -time.Second}, {"c", time.Hour}} {
		_, err := r.Join(f.ctx, record.Replica{ID: lease.id, Name: "host " + lease.id}, lease.time)
		must(t, err)
	}
	f.mustCommit(f.begin("q", of("a")), f.begin("q", of("a")))
	_, err := r.Drain(f.ctx, "a")
	must(t, err)
	must(t, r.Leave(f.ctx, "c"))
	list, err := r.List(f.ctx)
	must(t, err)
	for i := range list {
		if list[i].StartedAt == nil || list[i].ExpiresAt == nil {
			t.Errorf("%s has no times", list[i].ID)
		}
		list[i].StartedAt, list[i].ExpiresAt = nil, nil
	}
	equal(t, "processes", list, []schemas.AdminReplica{
		{ID: "c", Name: "host c"}, {ID: "b", Name: "host b"}, {ID: "a", Name: "host a", Live: true, Draining: true, OpenRuns: 2},
	})
}
