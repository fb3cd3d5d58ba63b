// Package limits counts what each user asks for and has under way: requests a minute, open
// streams, and bytes. It knows users by their ids, and nothing of requests.
package limits

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

// Rate bounds the requests a minute of each user. A user may use up a
// minute's requests immediately; they refill evenly. Zero means no limit. It is
// safe for concurrent use.
type Rate struct {
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

// NewRate returns a limit of so many requests a minute, with that clock.
func NewRate(perMinute int, now func() time.Time) *Rate {
	return &Rate{perMinute: perMinute, now: now, order: list.New(), users: map[string]*list.Element{}}
}

// Allow counts a request of the user; the error says when to try again.
func (l *Rate) Allow(user string) error {
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

func (l *Rate) bucket(user string) *rate.Limiter {
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

// Streams bounds the open streams of each user. Zero means no limit. It is
// safe for concurrent use.
type Streams struct {
	limit int

	mu   sync.Mutex
	open map[string]int
}

// NewStreams returns a limit of so many open streams of each user.
func NewStreams(limit int) *Streams {
	return &Streams{limit: limit, open: map[string]int{}}
}

// Acquire counts a stream of the user until release is called, exactly once.
func (n *Streams) Acquire(user string) (release func(), err error) {
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

// Bytes counts bytes, per user and in total. The zero value is ready; it is safe for
// concurrent use.
type Bytes struct {
	mu    sync.Mutex
	total int64
	users map[string]int64
}

// Add counts n more bytes of the user, or n less if n is negative, unless refuse returns an
// error for what the user and all have. A nil refuse refuses nothing.
func (t *Bytes) Add(user string, n int64, refuse func(user, all int64) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if refuse != nil {
		if err := refuse(t.users[user], t.total); err != nil {
			return err
		}
	}
	if t.users == nil {
		t.users = map[string]int64{}
	}
	t.total += n
	if t.users[user] += n; t.users[user] <= 0 {
		delete(t.users, user)
	}
	return nil
}
