package apptest

import (
	"bytes"
	"sync"
)

// The points at which a Way can be armed, besides those that watch.sql names: what a
// process sends to NATS.
const (
	PointAsked = "asked"
	PointSent  = "sent"
)

// The bytes by which a way knows where its process is: the notice of a point, the end of a
// transaction, and the beginning of messages of the kinds ask and events.
var (
	noticeOf  = func(point string) []byte { return []byte("point:" + point + "\x00") }
	committed = []byte("Z\x00\x00\x00\x05I")
	messages  = map[string][]byte{PointAsked: []byte("\r\n\x01\x01"), PointSent: []byte("\r\n\x01\x03")}
)

// longestMark bounds the bytes of a mark, which may come in two pieces.
const longestMark = 32

// armed waits for its points, one after the other, on the connections of a way.
type armed struct {
	points    []string
	committed bool
	fire      func()
}

// Arm calls fire when the process at the near end has reached the points, one after the
// other: its transaction has written what the last one says, or is committed if committed
// is set. The process has not been told so yet: fire may kill or suspend it first. A
// message of PointAsked and PointSent has not been sent. Each call replaces the one before;
// fire is called once.
func (w *Way) Arm(committed bool, fire func(), points ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = &armed{points: points, committed: committed, fire: sync.OnceFunc(fire)}
}

// Disarm ends Arm. Fire may still be running.
func (w *Way) Disarm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = nil
}

// scanner looks for points in what passes in one direction of a connection.
type scanner struct {
	way    *Way
	rest   []byte // the end of what has passed
	noted  *armed // its last point was noticed here; its transaction is not yet committed
	server bool   // the direction
}

// pass is called with bytes before they pass.
func (s *scanner) pass(p []byte) {
	all := append(s.rest, p...)
	for fire := s.next(&all); fire != nil; fire = s.next(&all) {
		fire()
	}
	s.rest = append(s.rest[:0], all[max(0, len(all)-longestMark):]...)
}

// next looks for what the way waits for, and drops the bytes up to it; nil if it is not
// there.
func (s *scanner) next(all *[]byte) (fire func()) {
	s.way.mu.Lock()
	defer s.way.mu.Unlock()
	a := s.way.armed
	if a == nil {
		s.noted = nil
		return nil
	}
	mark, message := messages[a.points[0]]
	switch {
	case message != s.server:
		return nil
	case s.noted == a:
		mark = committed
	case !message:
		mark = noticeOf(a.points[0])
	}
	_, after, found := bytes.Cut(*all, mark)
	if !found {
		return nil
	}
	*all = after
	switch {
	case len(a.points) > 1:
		a.points = a.points[1:]
	case a.committed && !message && s.noted != a:
		s.noted = a
	default:
		s.way.armed = nil
		return a.fire
	}
	return func() {}
}
