package completions

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// oneWait is a run with one call that waits.
type oneWait struct {
	wires.Runs

	wait     schemas.Wait
	outcome  error
	answered []int
}

func (o *oneWait) Waits(context.Context, schemas.User, string) ([]schemas.Wait, error) {
	return []schemas.Wait{o.wait}, nil
}

func (o *oneWait) Answer(_ context.Context, _ schemas.User, _ string, list []record.CallAnswer) ([]error, error) {
	for _, a := range list {
		o.answered = append(o.answered, a.Index)
	}
	return []error{o.outcome}, nil
}

// TestApprovalsAreDenied denies an approval for which the client has no way to ask its user.
// One that is answered elsewhere meanwhile is no error; a store that is away is one.
func TestApprovalsAreDenied(t *testing.T) {
	conflict, away := schemas.NewError(schemas.CodeConflict, "answered"), schemas.NewError(schemas.CodeStoreUnavailable, "away")
	waits := schemas.Wait{Index: 1, Kind: schemas.WaitApproval}
	answered := schemas.Wait{Index: 1, Kind: schemas.WaitApproval, Answer: schemas.WaitDenied}
	for _, tt := range []struct {
		name    string
		wait    schemas.Wait
		outcome error
		denies  bool
		want    error
	}{
		{"it waits", waits, nil, true, nil},
		{"it is answered meanwhile", waits, conflict, true, nil},
		{"the store is away", waits, away, true, away},
		{"it was answered before", answered, away, false, nil},
		{"another call waits", schemas.Wait{Index: 2, Kind: schemas.WaitApproval}, away, false, nil},
		{"the client's tool waits", schemas.Wait{Index: 1, Kind: schemas.WaitClientTool}, away, false, nil},
	} {
		runs := &oneWait{wait: tt.wait, outcome: tt.outcome}
		c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Service: &wires.Service{Runs: runs}}
		if err := deny(c, "r", 1); !errors.Is(err, tt.want) || len(runs.answered) > 0 != tt.denies {
			t.Errorf("%s: %v, and the calls %v are denied; want %v, and one: %t", tt.name, err, runs.answered, tt.want, tt.denies)
		}
	}
}
