package api

import (
	"container/list"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// maxRateUsers bounds the users whose rate is remembered; beyond it the user
// without a request for longest is forgotten.
const maxRateUsers = 10_000

// rateLimit bounds the requests a minute of each user. A user may use up a
// minute's requests immediately; they refill evenly. Zero means no limit. It is
// safe for concurrent use.
type rateLimit struct {
	perMinute int
	now       func() time.Time

	mu    sync.Mutex
	order *list.List // *rateUser, the most recent first
	users map[string]*list.Element
}

type rateUser struct {
	id     string
	bucket *rate.Limiter
}

func newRateLimit(perMinute int, now func() time.Time) *rateLimit {
	return &rateLimit{perMinute: perMinute, now: now, order: list.New(), users: map[string]*list.Element{}}
}

// allow counts a request of the user; the error says when to try again.
func (l *rateLimit) allow(user string) error {
	if l.perMinute <= 0 {
		return nil
	}
	now := l.now()
	r := l.bucket(user).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil
	}
	r.CancelAt(now)
	return record.ErrManyRequests(wait)
}

func (l *rateLimit) bucket(user string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if el, ok := l.users[user]; ok {
		l.order.MoveToFront(el)
		return el.Value.(*rateUser).bucket
	}
	if len(l.users) >= maxRateUsers {
		last := l.order.Back()
		delete(l.users, l.order.Remove(last).(*rateUser).id)
	}
	u := &rateUser{id: user, bucket: rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)}
	l.users[user] = l.order.PushFront(u)
	return u.bucket
}

// streamCount bounds the open streams of each user. Zero means no limit. It is
// safe for concurrent use.
type streamCount struct {
	limit int

	mu   sync.Mutex
	open map[string]int
}

func newStreamCount(limit int) *streamCount {
	return &streamCount{limit: limit, open: map[string]int{}}
}

// acquire counts a stream of the user until release is called, exactly once.
func (n *streamCount) acquire(user string) (release func(), err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.limit > 0 && n.open[user] >= n.limit {
		return nil, schemas.NewError(schemas.CodeTooManyStreams, "too many open streams; close one first")
	}
	n.open[user]++
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.open[user]--; n.open[user] <= 0 {
			delete(n.open, user)
		}
	}, nil
}
