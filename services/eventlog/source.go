package eventlog

// Source reads the events of a log as segments, for the Feed of another process. It is
// used by one goroutine at a time.
type Source struct {
	log *Log
	at  place // after the last event that was read
}

// Source returns a reader of the events after the number.
func (l *Log) Source(after int64) *Source {
	l.mu.Lock()
	s := &Source{log: l, at: place{part: l.packed.with(after + 1)}}
	var p part
	if s.at.part < len(l.packed.parts) {
		p = l.packed.parts[s.at.part]
	}
	l.mu.Unlock()
	for d := (decoder{rest: p.data}); ; {
		e, ok := d.next()
		if !ok || e.seq > after {
			return s
		}
		s.at.seq, s.at.time, s.at.at = e.seq, e.time, len(p.data)-len(d.rest)
	}
}

// Last returns the number of the last event that was read.
func (s *Source) Last() int64 { return max(s.at.seq, s.log.base) }

// Append appends the next events to dst, as segments that are joined, of about that many
// bytes. More reports that there are others. If the next event alone is larger, it is
// skipped, and Append returns large.
func (s *Source) Append(dst []byte, most int) (_ []byte, large, more bool) {
	for begin := len(dst); ; {
		s.log.mu.Lock()
		p, time := s.log.packed.move(&s.at), s.log.packed.end.time // that of p's last event if p may grow
		s.log.mu.Unlock()
		if p.last <= s.at.seq {
			return dst, false, false
		}
		size := len(p.data) - s.at.at
		if p.whole != nil {
			size = packedSize(p.whole)
		}
		if used := len(dst) - begin; used > 0 && used+size > most {
			return dst, false, true
		}
		switch {
		case p.whole != nil && size > most:
			large = true
		case p.whole == nil && s.at.at > 0:
			dst = appendRest(dst, p.data[s.at.at:], s.at)
		default:
			dst = p.appendTo(dst)
		}
		s.at = place{seq: p.last, part: s.at.part, at: len(p.data), time: time}
		if large {
			return dst, true, true
		}
	}
}
