package limits_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/schemas"
)

const mib = 1 << 20

// beginAnswers returns a function that begins answers under a limit for a user and one for
// all.
func beginAnswers(perUser, all int64) func(ctx context.Context, user string, large bool) (made func(bytes int), release func(), err error) {
	a := limits.NewAnswers(perUser, all)
	return func(ctx context.Context, user string, large bool) (made func(int), release func(), err error) {
		var answer *limits.Answer
		if large {
			answer, err = a.BeginLarge(ctx, user)
		} else {
			answer, err = a.Begin(user)
		}
		return answer.Made, answer.Release, err
	}
}

// TestLargeAnswersTakeTurns begins large answers of one user side by side: one is made at a
// time, because its size is known only then. Small ones and those of others do not wait.
func TestLargeAnswersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := beginAnswers(10*mib, 20*mib)
		made, release, err := begin(t.Context(), "alice", true)
		if err != nil {
			t.Fatal(err)
		}
		began := make(chan error, 1)
		go func() {
			_, release, err := begin(t.Context(), "alice", true)
			if began <- err; err == nil {
				release()
			}
		}()
		for user, large := range map[string]bool{"alice": false, "bob": true} {
			if _, release, err := begin(t.Context(), user, large); err != nil {
				t.Errorf("%s, large %t: %v", user, large, err)
			} else {
				release()
			}
		}
		synctest.Wait()
		if len(began) > 0 {
			t.Error("a second large answer is made, want it to wait")
		}
		made(5 * mib)
		if err := <-began; err != nil {
			t.Error(err)
		}
		release()
		release()
	})
}

// A client that disconnects waits no longer for its turn.
func TestTurnOfAnswersEndsWithItsClient(t *testing.T) {
	begin := beginAnswers(mib, mib)
	if _, _, err := begin(t.Context(), "alice", true); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if _, _, err := begin(ctx, "alice", true); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

// TestAnswersAreCounted begins answers one after the other, each of which is then sent and
// not read.
func TestAnswersAreCounted(t *testing.T) {
	begin := beginAnswers(2*mib, 5*mib)
	var ends []func()
	for i, tt := range []struct {
		user    string
		large   bool
		bytes   int
		refused string
	}{
		{"alice", true, 1, ""},
		{"alice", true, 3 * mib, ""},
		{"alice", false, 0, "your answers"},
		{"alice", true, 0, "your answers"},
		{"bob", true, 9 * mib, ""},
		{"carol", true, 0, "bytes of answers"},
		{"carol", false, 1, ""},
	} {
		made, release, err := begin(t.Context(), tt.user, tt.large)
		if tt.refused == "" && err != nil {
			t.Fatalf("answer %d, of %s, is refused: %v", i, tt.user, err)
		}
		if tt.refused == "" {
			made(tt.bytes)
			ends = append(ends, release)
		} else if seen := schemas.Visible(err); seen.Code != schemas.CodeTooManyRequests || seen.RetryAfter == 0 || !strings.Contains(seen.Message, tt.refused) {
			t.Errorf("answer %d, of %s, gives %v, want %q", i, tt.user, err, tt.refused)
		}
	}
	for _, end := range ends {
		end()
	}
	for _, user := range []string{"alice", "carol"} {
		if _, _, err := begin(t.Context(), user, true); err != nil {
			t.Errorf("after all were read, %s gets %v, want an answer", user, err)
		}
	}
}

// An answer that is written at once does not count, however many are unread.
func TestSmallAnswersDoNotCount(t *testing.T) {
	begin := beginAnswers(1, 1)
	for range 3 {
		made, _, err := begin(t.Context(), "alice", true)
		if err != nil {
			t.Fatal(err)
		}
		made(64 << 10)
	}
}
