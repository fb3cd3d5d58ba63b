package exchange

import (
	"time"

	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
)

// peer is a process that follows runs of this one.
type peer struct {
	id   string
	runs map[string]*followed
	held []*followed // those with news that may not be sent yet
	// sent and acked count the bytes of events that were sent and have arrived.
	sent, acked int64
	lastSent    time.Time
	items       []byte // of the message that is being made
}

// followed is a run of this process that another one follows.
type followed struct {
	peer    *peer
	id      string
	attempt int
	log     *eventlog.Log
	source  *eventlog.Source
	asked   time.Time
	reply   bool // it was asked for, and is answered even without events
	held    bool // it is in the peer's list
	gone    bool
	leave   func()

	listed bool // it is in Exchange.news; guarded by Exchange.waiting
}

// list notes that there are events of a run to send. Soon after others they wait for those
// of more runs: the next ones that come after gatherFor take them along, and if none come,
// the timer of Run does, which is less exact.
func (x *Exchange) list(f *followed) {
	x.waiting.Lock()
	defer x.waiting.Unlock()
	if !f.listed {
		f.listed = true
		x.news = append(x.news, f)
		if len(x.news) >= gatherEnough || time.Since(x.last) >= gatherFor {
			x.ring()
		}
	}
}

// asked begins or continues to send the runs that a process asks for.
func (x *Exchange) asked(m *Message) {
	now := time.Now()
	var not []Item
	x.mu.Lock()
	p := x.peers[m.From]
	if p == nil && len(m.Items) > 0 && len(x.peers) < maxPeers {
		p = &peer{id: m.From, runs: make(map[string]*followed)}
		x.peers[p.id] = p
	}
	if p != nil {
		x.arrived(p, m.Total, now)
		for i := range m.Items {
			if !x.follow(p, &m.Items[i], now) {
				not = append(not, Item{ID: m.Items[i].ID})
			}
		}
	}
	x.mu.Unlock()
	if len(not) > 0 {
		x.put(m.From, NotMine, not)
	}
}

// arrived notes how much of what was sent has arrived.
func (x *Exchange) arrived(p *peer, total int64, now time.Time) {
	if now.Sub(p.lastSent) > silence { // the rest was lost
		total = p.sent
	}
	p.acked = max(p.acked, min(total, p.sent))
	if p.sent-p.acked < maxUnderWay {
		for _, f := range p.held {
			f.held = false
			x.list(f)
		}
		p.held = nil
	}
}

// follow begins or continues to send a run; false if it is not this process's.
func (x *Exchange) follow(p *peer, ask *Item, now time.Time) bool {
	log := x.Own(ask.ID)
	if log == nil || log.Given() || attemptOf(log) < ask.Attempt {
		return false
	}
	f := p.runs[ask.ID]
	if f != nil && f.log != log {
		p.drop(f)
		f = nil
	}
	after := ask.After
	if attemptOf(log) > ask.Attempt { // it has to read the rest of the attempt before first
		after = log.Last()
	}
	switch {
	case f == nil && len(p.runs) >= maxFollowed:
		return true // it reads the database instead
	case f == nil:
		f = &followed{peer: p, id: ask.ID, attempt: attemptOf(log), log: log, source: log.Source(after)}
		p.runs[f.id] = f
		f.leave = log.Listen(func() { x.list(f) })
	case ask.Flags&Gap != 0, after < f.source.Last() && now.Sub(p.lastSent) > silence:
		f.source = log.Source(after)
	}
	f.asked, f.reply = now, true
	x.list(f)
	return true
}

// attemptOf returns the attempt of a log.
func attemptOf(log *eventlog.Log) int { return int(log.Base()/runlog.AttemptSpan) + 1 }

// left ends the sending of runs to a process.
func (x *Exchange) left(m *Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.peers[m.From]
	if p == nil {
		return
	}
	for i := range m.Items {
		if f := p.runs[m.Items[i].ID]; f != nil {
			p.drop(f)
		}
	}
}

// drop ends the sending of a run.
func (p *peer) drop(f *followed) {
	f.gone = true
	f.leave()
	delete(p.runs, f.id)
}

// forget drops what is not asked for any more, and who has sent nothing for long.
func (x *Exchange) forget(now time.Time) {
	for id, p := range x.peers {
		for _, f := range p.runs {
			if now.Sub(f.asked) > forgetAfter {
				p.drop(f)
			}
		}
		if len(p.runs) == 0 {
			delete(x.peers, id)
		}
	}
	for id, s := range x.senders {
		if now.Sub(s.at) > forgetAfter {
			delete(x.senders, id)
		}
	}
}

// relay sends the news of runs. While the carrier is down they stay where they are, until
// somebody asks again.
func (x *Exchange) relay(news []*followed) {
	if !x.Carrier.Up() {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range news {
		if !f.gone {
			x.gather(f)
		}
	}
	for _, f := range news {
		x.flush(f.peer)
	}
}

// gather adds the news of a run to the message to its peer.
func (x *Exchange) gather(f *followed) {
	p := f.peer
	if p.sent+int64(len(p.items))-p.acked >= maxUnderWay {
		if !f.held {
			f.held = true
			p.held = append(p.held, f)
		}
		return
	}
	over := f.log.Closed() // nothing is added after this
	data, large, more := f.source.Append(x.piece[:0], maxMessage)
	x.piece = data
	if len(p.items)+len(data) > maxMessage {
		x.flush(p)
	}
	if len(data) > 0 || f.reply || large {
		f.reply = false
		it := Item{ID: f.id, Attempt: f.attempt, After: f.source.Last(), Data: data}
		if large {
			it.Flags = Stored
		}
		p.items = it.append(p.items)
	}
	switch {
	case more:
		x.list(f)
		x.ring()
	case over && f.log.Given():
		x.put(p.id, NotMine, []Item{{ID: f.id}})
		p.drop(f)
	case over:
		p.drop(f)
	}
}

// flush sends the message that has been made for a peer.
func (x *Exchange) flush(p *peer) {
	if len(p.items) == 0 {
		return
	}
	p.sent += int64(len(p.items))
	p.lastSent = time.Now()
	head := Message{Kind: Events, From: x.me, Total: p.sent}
	x.raw = append(head.Append(x.raw[:0]), p.items...)
	x.carry(p.id, Events, x.raw)
	p.items = p.items[:0]
}
