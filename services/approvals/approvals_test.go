package approvals_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/approvals"
)

// oneRun is a run of the user u with its waits.
type oneRun struct {
	waits  []record.Wait
	over   bool
	behind time.Duration // of the database's clock
	writes int
	lost   bool // what a write has done
	woken  []int
}

func (r *oneRun) Waits(context.Context, string) ([]record.Wait, error) {
	return slices.Clone(r.waits), nil
}

func (r *oneRun) AnswerWaits(_ context.Context, answers []record.Wait) ([]record.Wait, error) {
	r.writes++
	stored := make([]record.Wait, len(answers))
	for i, a := range answers {
		w := &r.waits[a.Index]
		early := a.Answer == schemas.WaitExpired && time.Now().Add(-r.behind).Before(w.ExpiresAt)
		if w.Answer == "" && !r.over && !early {
			*w = a
		}
		stored[i] = *w
	}
	if r.lost {
		r.lost = false
		return nil, record.ErrUnavailable
	}
	return stored, nil
}

func (r *oneRun) Owned(_ context.Context, user schemas.User, _ string) (record.Run, error) {
	if user.ID != "u" {
		return record.Run{}, schemas.ErrNotFound
	}
	return record.Run{}, nil
}

func (r *oneRun) Run(context.Context, schemas.User, string) (schemas.Run, error) {
	return schemas.Run{RunID: "r"}, nil
}

func (r *oneRun) Wake(_ string, call int) { r.woken = append(r.woken, call) }

func codes(errs []error) []schemas.Code {
	list := make([]schemas.Code, len(errs))
	for i, err := range errs {
		if e, ok := errors.AsType[*schemas.Error](err); ok {
			list[i] = e.Code
		} else if err != nil {
			list[i] = "?"
		}
	}
	return list
}

// Answers that come together are stored by one write and have one moment; an answer that
// cannot be given does not keep the others from it.
func TestAnswersThatComeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(time.Minute)
		r := &oneRun{waits: []record.Wait{
			{RunID: "r", Index: 0, Kind: schemas.WaitApproval, ID: "p", ExpiresAt: end},
			{RunID: "r", Index: 1, Kind: schemas.WaitClientTool, ToolUseID: "c", ExpiresAt: end},
			{RunID: "r", Index: 2, Kind: schemas.WaitClientTool, Answer: schemas.WaitResult, Output: "Basel", ExpiresAt: end},
			{RunID: "r", Index: 3, Kind: schemas.WaitClientTool, ExpiresAt: time.Now()},
			{RunID: "r", Index: 4, Kind: schemas.WaitClientTool, ExpiresAt: end},
		}}
		a := approvals.New(r, r, nil, nil)
		list := []record.CallAnswer{
			{Index: 0, Approved: new(true)},
			{Index: 1, Output: []byte(`{"at": 1}`), IsError: true},
			{Index: 2, Output: []byte(`"Rome"`)},
			{Index: 3, Output: []byte(`"late"`)},
			{Index: 4}, // without an output
			{Index: 0, Output: []byte(`"not an approval"`)},
			{Index: 9, Output: []byte(`"no call"`)},
		}
		if _, err := a.Answer(t.Context(), schemas.User{ID: "v"}, "r", list); !errors.Is(err, schemas.ErrNotFound) {
			t.Errorf("another user gets %v", err)
		}
		errs, err := a.Answer(t.Context(), schemas.User{ID: "u"}, "r", list)
		want := []schemas.Code{"", "", schemas.CodeConflict, schemas.CodeConflict, schemas.CodeInvalid, schemas.CodeNotFound, schemas.CodeNotFound}
		if diff := cmp.Diff(want, codes(errs)); err != nil || diff != "" {
			t.Fatalf("%v, errors (-want +got):\n%s", err, diff)
		}
		if r.writes != 1 || !slices.Equal(r.woken, []int{0, 1, 3}) {
			t.Errorf("%d writes, the calls %v woken; want one write, and those that got an answer", r.writes, r.woken)
		}
		at := r.waits[0].AnsweredAt
		stored := []record.Wait{
			{RunID: "r", Index: 0, Kind: schemas.WaitApproval, ID: "p", ExpiresAt: end, Answer: schemas.WaitApproved, AnsweredAt: at},
			{RunID: "r", Index: 1, Kind: schemas.WaitClientTool, ToolUseID: "c", ExpiresAt: end, Answer: schemas.WaitResult, AnsweredAt: at, Output: `{"at":1}`, IsError: true},
			{RunID: "r", Index: 2, Kind: schemas.WaitClientTool, Answer: schemas.WaitResult, Output: "Basel", ExpiresAt: end},
			{RunID: "r", Index: 3, Kind: schemas.WaitClientTool, ExpiresAt: at, Answer: schemas.WaitExpired, AnsweredAt: at},
			{RunID: "r", Index: 4, Kind: schemas.WaitClientTool, ExpiresAt: end},
		}
		if diff := cmp.Diff(stored, r.waits); diff != "" || at.IsZero() {
			t.Errorf("the waits (-want +got):\n%s", diff)
		}
		<-time.After(time.Second)
		if errs, err = a.Answer(t.Context(), schemas.User{ID: "u"}, "r", list[:2]); err != nil || errs[0] != nil || errs[1] != nil || !r.waits[0].AnsweredAt.Equal(at) {
			t.Errorf("the same answers again: %v, %v", errs, err)
		}
	})
}

// An answer to a run that has ended meanwhile says so.
func TestAnswerToAnEndedRun(t *testing.T) {
	r := &oneRun{over: true, waits: []record.Wait{{RunID: "r", Kind: schemas.WaitApproval, ID: "p", ExpiresAt: time.Now().Add(time.Hour)}}}
	_, err := approvals.New(r, r, nil, nil).Approve(t.Context(), schemas.User{ID: "u"}, "r", "p", schemas.ApprovalAnswer{Approved: true})
	if e, ok := errors.AsType[*schemas.Error](err); !ok || e.Code != schemas.CodeConflict || e.Message != "the run has ended" {
		t.Errorf("got %v, want a conflict", err)
	}
}

// An answer is stored, and the database is away before it says so. The call looks for it:
// nobody may give it again, because it is there.
func TestAnswerWhoseStoringHasNoAnswer(t *testing.T) {
	r := &oneRun{lost: true, waits: []record.Wait{{RunID: "r", Kind: schemas.WaitApproval, ID: "p", ExpiresAt: time.Now().Add(time.Hour)}}}
	_, err := approvals.New(r, r, nil, nil).Approve(t.Context(), schemas.User{ID: "u"}, "r", "p", schemas.ApprovalAnswer{Approved: true})
	if !errors.Is(err, record.ErrUnavailable) || r.waits[0].Answer != schemas.WaitApproved || !slices.Equal(r.woken, []int{0}) {
		t.Errorf("got %v, the answer %q, and %v woken, want %v, an approval and call 0", err, r.waits[0].Answer, r.woken, record.ErrUnavailable)
	}
}

// A call takes an answer until its time is up by the clock of the database, although that of
// the process is ahead.
func TestAnswerByTheClockOfTheDatabase(t *testing.T) {
	for name, tt := range map[string]struct {
		behind time.Duration
		want   schemas.Code
		stored schemas.WaitAnswer
	}{
		"in time": {2 * time.Minute, "", schemas.WaitApproved},
		"late":    {0, schemas.CodeConflict, schemas.WaitExpired},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &oneRun{behind: tt.behind, waits: []record.Wait{
					{RunID: "r", Index: 0, Kind: schemas.WaitApproval, ID: "p", ExpiresAt: time.Now().Add(-time.Minute)},
				}}
				errs, err := approvals.New(r, r, nil, nil).Answer(t.Context(), schemas.User{ID: "u"}, "r", []record.CallAnswer{{Index: 0, Approved: new(true)}})
				if got := codes(errs); err != nil || got[0] != tt.want || r.waits[0].Answer != tt.stored || !slices.Equal(r.woken, []int{0}) {
					t.Errorf("the answer is %q, with the error %q, %v, and %v woken; want %q, %q and call 0", r.waits[0].Answer, got, err, r.woken, tt.stored, tt.want)
				}
			})
		})
	}
}

// The result of a tool of the page may have 256 KiB, and is told from another one by each of
// its parts.
func TestResultsOfThePage(t *testing.T) {
	user := schemas.User{ID: "u"}
	give := func(r *oneRun, output string, isError bool) schemas.Code {
		_, err := approvals.New(r, r, nil, nil).ToolResult(t.Context(), user, "r", schemas.ClientToolResult{ToolUseID: "c", Output: []byte(output), IsError: isError})
		return codes([]error{err})[0]
	}
	waits := func() *oneRun {
		return &oneRun{waits: []record.Wait{{RunID: "r", Kind: schemas.WaitClientTool, ToolUseID: "c", ExpiresAt: time.Now().Add(time.Hour)}}}
	}
	if got := give(waits(), `"`+strings.Repeat("x", 256<<10-2)+`"`, false); got != "" {
		t.Errorf("256 KiB: got %q, want no error", got)
	}
	if got := give(waits(), `"`+strings.Repeat("x", 256<<10-1)+`"`, false); got != schemas.CodeInvalid {
		t.Errorf("one byte more: got %q, want %q", got, schemas.CodeInvalid)
	}
	r := waits()
	for _, tt := range []struct {
		output  string
		isError bool
		want    schemas.Code
	}{{`"Basel"`, false, ""}, {`"Basel"`, false, ""}, {`"Basel"`, true, schemas.CodeConflict}, {`"Rome"`, false, schemas.CodeConflict}} {
		if got := give(r, tt.output, tt.isError); got != tt.want {
			t.Errorf("%s, an error %t: got %q, want %q", tt.output, tt.isError, got, tt.want)
		}
	}
}

// The same approval with a changed input may be given again although the tool is no longer
// offered; another input is another answer.
func TestApprovalWithAnInputAgain(t *testing.T) {
	r := &oneRun{waits: []record.Wait{{
		RunID: "r", Kind: schemas.WaitApproval, ID: "p", Input: []byte(`{"item":"tea"}`), ExpiresAt: time.Now().Add(time.Hour),
		Answer: schemas.WaitApproved, Edited: []byte(`{"item":"coffee"}`),
	}}}
	for input, want := range map[string]schemas.Code{
		`{"item": "coffee"}`: "", `{"item": "milk"}`: schemas.CodeConflict, `{"item": "tea"}`: schemas.CodeConflict, `["coffee"]`: schemas.CodeInvalid,
	} {
		_, err := approvals.New(r, r, nil, nil).Approve(t.Context(), schemas.User{ID: "u"}, "r", "p", schemas.ApprovalAnswer{Approved: true, Input: []byte(input)})
		if got := codes([]error{err})[0]; got != want {
			t.Errorf("%s: got %q, want %q", input, got, want)
		}
	}
}
