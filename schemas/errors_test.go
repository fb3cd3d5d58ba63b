package schemas_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
)

// A client reads why the database is not available, but not the cause.
func TestUnavailable(t *testing.T) {
	for _, tt := range []struct {
		cause error
		want  string
		after int
	}{
		{errors.New("dial 10.0.0.7"), "the database is not available", 0},
		{fmt.Errorf("dial 10.0.0.7: %w", schemas.ErrTooMuch), schemas.ErrTooMuch.Error(), 0},
		{fmt.Errorf("dial 10.0.0.7: %w", schemas.ErrNoRoom), schemas.ErrNoRoom.Error(), 30},
	} {
		err := schemas.Unavailable(tt.cause)
		seen := schemas.Visible(err)
		if seen.Code != schemas.CodeStoreUnavailable || !strings.HasPrefix(seen.Message, tt.want) || seen.RetryAfter != tt.after || !errors.Is(err, tt.cause) {
			t.Errorf("%v: the client reads %+v of %v", tt.cause, seen, err)
		}
	}
}
