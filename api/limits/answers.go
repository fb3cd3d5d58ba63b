package limits

import (
	"context"
	"math"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
)

// Answers counts the bytes of answers that clients have not read yet, per user and in
// total. While a user has perUser of them, no further request of the user is answered;
// while all users have all of them, none that may have a large answer. A request is
// refused before it does anything, so a limit may be exceeded by the answers that are
// being made: one large one for each user. It is safe for concurrent use.
type Answers struct {
	perUser, all int64
	turns        concurrent.Locks // users for whom a large answer is being made
	unread       Bytes
}

// NewAnswers returns a limit of so many unread bytes of each user, and of all.
func NewAnswers(perUser, all int64) *Answers {
	return &Answers{perUser: perUser, all: all}
}

var (
	errUserAnswers = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many bytes of your answers have not been read; read some first", RetryAfter: 1}
	errAllAnswers  = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many bytes of answers have not been read; try again soon", RetryAfter: 1}
)

// atOnce is the size of the largest answer that does not count: the kernel takes it.
const atOnce = 64 << 10

// Answer is the answer to one request, from before it is made until Release. Nil is one
// that does not count.
type Answer struct {
	in      *Answers
	user    string
	counts  int64
	endTurn func()
}

// Begin returns the answer to a request of the user, or the limit that refuses it.
func (a *Answers) Begin(user string) (*Answer, error) {
	if err := a.room(user, math.MaxInt64); err != nil {
		return nil, err
	}
	return &Answer{in: a, user: user}, nil
}

// BeginLarge does what Begin does, for an answer that may be large. It waits until no other
// one of the user is being made: until then its size is not known.
func (a *Answers) BeginLarge(ctx context.Context, user string) (*Answer, error) {
	end, err := a.turns.Lock(ctx, user)
	if err != nil {
		return nil, err
	}
	if err := a.room(user, a.all); err != nil {
		end()
		return nil, err
	}
	return &Answer{in: a, user: user, endTurn: end}, nil
}

// room refuses an answer if the user has too many bytes, or all have most or more.
func (a *Answers) room(user string, most int64) error {
	return a.unread.Add(user, 0, func(own, all int64) error {
		switch {
		case own >= a.perUser:
			return errUserAnswers
		case all >= most:
			return errAllAnswers
		}
		return nil
	})
}

func (a *Answers) add(user string, n int64) { _ = a.unread.Add(user, n, nil) } // nothing refuses

// Made counts an answer of n bytes that is about to be sent.
func (h *Answer) Made(n int) {
	if h == nil {
		return
	}
	if n > atOnce {
		h.counts += int64(n)
		h.in.add(h.user, int64(n))
	}
	h.leaveTurn()
}

func (h *Answer) leaveTurn() {
	if h.endTurn != nil {
		h.endTurn()
		h.endTurn = nil
	}
}

// Release ends the answer. It may be called more than once.
func (h *Answer) Release() {
	if h == nil {
		return
	}
	h.leaveTurn()
	h.in.add(h.user, -h.counts)
	h.counts = 0
}
