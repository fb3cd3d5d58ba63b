package apptest

import (
	"errors"
	"slices"
)

// strike ends a connection of a way.
type strike struct {
	kind          FaultKind
	after, refuse int
	request       []byte // nil until a connection was ended
	passed        int    // requests after it
}

var errStruck = errors.New("the way has ended this connection")

// Strike ends the connection on which the next request after some others is sent, and
// refuses some connections then. A request of the kind Lost reaches the server, whose answer
// does not arrive.
func (w *Way) Strike(kind FaultKind, after, refuse int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.strike = &strike{kind: kind, after: after, refuse: refuse}
}

// Struck ends Strike, and returns the request whose connection was ended; nil for none.
func (w *Way) Struck() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.strike
	w.strike = nil
	if s == nil {
		return nil
	}
	w.passed = s.passed
	return s.request
}

// Passed returns how many requests were sent after that one, until Struck.
func (w *Way) Passed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passed
}

// refuses reports whether a new connection is refused.
func (s *strike) refuses() bool {
	if s == nil || s.request == nil || s.refuse == 0 {
		return false
	}
	s.refuse--
	return true
}

// struck reports whether bytes pass. An error ends their connection.
func (s stalled) struck(p []byte) (pass bool, err error) {
	switch {
	case s.direction == toServer && !s.ends.Load():
		kind := s.way.strikes(p)
		s.ends.Store(kind == Lost)
		if kind == Refused {
			return false, errStruck
		}
	case s.direction == toClient && s.ends.Load():
		if n := len(p); p[0] == 'R' || n >= len(committed) && p[n-len(committed)] == committed[0] {
			return false, errStruck // the server has answered
		}
		return false, nil
	}
	return true, nil
}

// strikes returns what happens to a request, "" for nothing.
func (w *Way) strikes(request []byte) FaultKind {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.strike
	switch {
	case s == nil:
		return ""
	case s.request != nil:
		s.passed++
		return ""
	}
	if s.after > 0 {
		s.after--
		return ""
	}
	s.request = slices.Clone(request)
	return s.kind
}
