package openai

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
)

// The waits between attempts: doubled from the first, with jitter. A
// Retry-After longer than maxRetryAfter ends the attempts.
const (
	firstPause    = 500 * time.Millisecond
	longestPause  = 8 * time.Second
	maxRetryAfter = 30 * time.Second
)

// pause returns how long to wait before the next attempt, and whether there is
// one: a busy or unreachable upstream may recover, and a fault may have a chance.
func pause(err error, attempt, attempts int) (time.Duration, bool) {
	if attempt >= attempts {
		return 0, false
	}
	var after time.Duration
	chance := false
	if f, ok := errors.AsType[*fault](err); ok {
		if f.unpaid() {
			return 0, false
		}
		after, chance = f.retryAfter, f.chance
	}
	if code := category(err); !chance && code != schemas.CodeRateLimited && code != schemas.CodeUpstreamUnavailable {
		return 0, false
	}
	if after > maxRetryAfter {
		return 0, false
	}
	if after > 0 {
		return after + jitter(firstPause), true
	}
	wait := min(firstPause<<min(attempt-1, 10), longestPause)
	return wait/2 + jitter(wait/2), true
}

// retryAfter reads the header: seconds, a date, or the common milliseconds.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e7 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// jitter returns a random duration below d.
func jitter(d time.Duration) time.Duration {
	return rand.N(max(d, 1)) //nolint:gosec // spreads load, guards nothing
}
