package exchange

import "time"

// sender is a process from which events come: how many bytes it says that it has sent,
// and how many of them it was told have arrived.
type sender struct {
	total, acked int64
	at           time.Time
}

// received notes that events have come, and tells their sender after many.
func (x *Exchange) received(m *Message) {
	x.mu.Lock()
	s := x.senders[m.From]
	if s == nil {
		if len(x.senders) >= maxPeers {
			x.mu.Unlock()
			return
		}
		s = &sender{}
		x.senders[m.From] = s
	}
	if m.Total < s.acked { // it counts from 0 again, or the message is late
		s.acked = 0
	}
	s.total, s.at = m.Total, time.Now()
	due := s.total-s.acked >= ackEvery
	if due {
		s.acked = s.total
	}
	x.mu.Unlock()
	if due {
		x.put(m.From, Ask, nil)
	}
}

// acked returns what to tell a sender that has arrived.
func (x *Exchange) acked(to string) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.senders[to]
	if s == nil {
		return 0
	}
	s.acked = s.total
	return s.total
}
