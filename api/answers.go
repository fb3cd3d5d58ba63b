package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
)

// answers counts the bytes of answers that clients have not read yet, per user and in
// total. While a user has perUser of them, no further request of the user is answered;
// while all users have all of them, none that may have a large answer. A request is
// refused before it does anything, so a limit may be exceeded by the answers that are
// being made: one large one for each user. It is safe for concurrent use.
type answers struct {
	perUser, all int64
	turns        concurrent.Locks // users for whom a large answer is being made
	unread       limits.Bytes
}

func newAnswers(perUser, all int64) *answers {
	return &answers{perUser: perUser, all: all}
}

var (
	errUserAnswers = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many bytes of your answers have not been read; read some first", RetryAfter: 1}
	errAllAnswers  = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many bytes of answers have not been read; try again soon", RetryAfter: 1}
)

// heldAnswer is the answer to one request, from before it is made until release. Nil is
// one that does not count.
type heldAnswer struct {
	in      *answers
	user    string
	counts  int64
	endTurn func()
}

// answerKey is where guard leaves the heldAnswer for send.
const answerKey = "answer"

// begin returns the answer to a request of the user, or the limit that refuses it. A
// large one waits until no other of the user is being made: until then its size is not
// known.
func (a *answers) begin(ctx context.Context, user string, large bool) (*heldAnswer, error) {
	h := &heldAnswer{in: a, user: user}
	if large {
		end, err := a.turns.Lock(ctx, user)
		if err != nil {
			return nil, err
		}
		h.endTurn = end
	}
	if err := a.room(user, large); err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

func (a *answers) room(user string, large bool) error {
	return a.unread.Add(user, 0, func(own, all int64) error {
		switch {
		case own >= a.perUser:
			return errUserAnswers
		case large && all >= a.all:
			return errAllAnswers
		}
		return nil
	})
}

func (a *answers) add(user string, n int64) { _ = a.unread.Add(user, n, nil) } // nothing refuses

// made counts an answer of n bytes that is about to be sent. One that is written at once
// does not count: the kernel takes it.
func (h *heldAnswer) made(n int) {
	if h == nil {
		return
	}
	if n > maxPiece {
		h.counts += int64(n)
		h.in.add(h.user, int64(n))
	}
	h.leaveTurn()
}

func (h *heldAnswer) leaveTurn() {
	if h.endTurn != nil {
		h.endTurn()
		h.endTurn = nil
	}
}

// release ends the answer. It may be called more than once.
func (h *heldAnswer) release() {
	if h == nil {
		return
	}
	h.leaveTurn()
	h.in.add(h.user, -h.counts)
	h.counts = 0
}

// send answers with a whole body, which counts until the client has taken it.
func send(c echo.Context, media string, raw []byte) error {
	held, _ := c.Get(answerKey).(*heldAnswer)
	held.made(len(raw))
	return c.Blob(http.StatusOK, media, raw)
}
