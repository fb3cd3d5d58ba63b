package exchange

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/meters"
)

const (
	// tickEvery is how often the exchange looks at its own id and at who no longer asks.
	tickEvery = 250 * time.Millisecond
	// maxMessage bounds a message of events in bytes, and maxWaiting the messages that
	// wait to be sent; those beyond it are dropped.
	maxMessage, maxWaiting = 512 << 10, 1024
	// ackEvery is after how many received bytes of events their sender is told, and
	// maxUnderWay how many it sends before it is told.
	ackEvery, maxUnderWay = 1 << 20, 4 << 20
	// silence is after how long without messages what is under way has arrived or is lost.
	silence = time.Second
	// forgetAfter is how long a run is sent to a process that does not ask for it again.
	forgetAfter = 10 * time.Second
	// gatherFor is how long after a message of events the next one waits for those of more
	// runs, and gatherEnough for how many of them: a message costs more than ten events, at
	// three processes. Events that are rarer do not wait.
	gatherFor, gatherEnough = 700 * time.Microsecond, 4
	// maxPeers bounds the processes that are sent events, and maxFollowed their runs.
	maxPeers, maxFollowed = 256, 20_000
)

// Carrier carries messages between processes. Every one of them may be lost, repeated
// or late. A message is not kept after Send or SendAll.
type Carrier interface {
	// Up reports whether messages can be sent now. It may wait for Send.
	Up() bool
	// Send sends a message to the process with the id, SendAll to all others. They may wait
	// seconds for a connection that takes nothing.
	Send(to string, message []byte) error
	SendAll(message []byte) error
	// Receive sets the id of this process and who gets its messages, and those to all.
	Receive(id string, f func(message []byte)) error
}

// Options configure an Exchange.
type Options struct {
	Carrier Carrier
	// Me is the id under which runs are this process's now.
	Me func() string
	// Own returns the log of a run of this process, nil for any other one.
	Own     func(id string) *eventlog.Log
	Metrics meters.Bus
	Logger  *slog.Logger
}

// Handlers get what other processes say. They return at once and may be called
// concurrently.
type Handlers struct {
	// Events gets events of the sender's runs.
	Events func(from string, items []Item)
	// Rows gets runs whose rows have to be read again, because they have moved.
	Rows func(runs []string)
	// Hint gets what there is to look for.
	Hint func(kind Kind, items []Item)
}

// Exchange sends the events of this process's runs to the processes that ask for them,
// and hints to all. Its methods return at once: one goroutine sends. It is safe for
// concurrent use; a nil one is without others.
type Exchange struct {
	Options
	handlers Handlers
	wake     chan struct{}
	up       atomic.Bool // what the carrier said last: to ask it may take as long as a write

	// waiting guards what there is to send. A log's ring holds the log's lock when it
	// takes this one, so nothing else is locked under it.
	waiting sync.Mutex
	outbox  []outgoing
	news    []*followed
	last    time.Time // when news were last taken from there

	mu      sync.Mutex
	peers   map[string]*peer
	senders map[string]*sender

	// Only the sending goroutine uses these.
	me         string
	raw, piece []byte
	before     []*followed
}

// outgoing is a message that waits to be sent; to all others if To is empty.
type outgoing struct {
	to string
	Message
}

// New returns the exchange of a process; nil without a carrier. It does nothing before
// Run.
func New(o Options) *Exchange {
	if o.Carrier == nil {
		return nil
	}
	if o.Metrics == nil {
		o.Metrics = meters.None{}
	}
	return &Exchange{Options: o, wake: make(chan struct{}, 1), peers: make(map[string]*peer), senders: make(map[string]*sender)}
}

// Up reports whether messages could be sent a moment ago.
func (x *Exchange) Up() bool { return x != nil && x.up.Load() }

// Ask asks the owner of runs for their events.
func (x *Exchange) Ask(owner string, items []Item) { x.put(owner, Ask, items) }

// Leave tells the owner of runs that nobody reads them here any more.
func (x *Exchange) Leave(owner string, runs ...string) { x.put(owner, Leave, itemsOf(runs)) }

// Tell says to all others that there is something to look for.
func (x *Exchange) Tell(kind Kind, ids ...string) { x.put("", kind, itemsOf(ids)) }

// TellStarted says to all others that a run was accepted in a chat of the owner.
func (x *Exchange) TellStarted(owner, chat string) {
	x.put("", Started, []Item{{ID: chat, Data: []byte(owner)}})
}

// TellMoved says to all others that runs are this process's now.
func (x *Exchange) TellMoved(runs []record.Taken) {
	items := make([]Item, len(runs))
	for i := range runs {
		items[i].ID = runs[i].ID
	}
	x.put("", Moved, items)
}

func itemsOf(ids []string) []Item {
	items := make([]Item, len(ids))
	for i, id := range ids {
		items[i].ID = id
	}
	return items
}

// put queues a message, in parts if it is long. There is no way to find out whether it
// arrives.
func (x *Exchange) put(to string, kind Kind, items []Item) {
	if x == nil {
		return
	}
	x.waiting.Lock()
	defer x.waiting.Unlock()
	for first := true; len(items) > 0 || first && kind != Moved; first = false {
		if len(x.outbox) >= maxWaiting {
			return
		}
		n := min(len(items), maxItems)
		x.outbox = append(x.outbox, outgoing{to, Message{Kind: kind, Items: items[:n]}})
		items = items[n:]
	}
	x.ring()
}

func (x *Exchange) ring() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Run sends and receives until ctx ends.
func (x *Exchange) Run(ctx context.Context, h Handlers) {
	if x == nil {
		return
	}
	x.handlers = h
	x.tick()
	ticks := time.NewTicker(tickEvery)
	defer ticks.Stop()
	gathered := time.NewTimer(gatherFor) // after which what waits is sent
	defer gathered.Stop()
	for {
		select {
		case <-x.wake:
		case <-gathered.C:
		case <-ticks.C:
			x.tick()
		case <-ctx.Done():
			for x.send() { // what was said last
			}
			x.close()
			return
		}
		if x.send() {
			gathered.Reset(gatherFor)
		}
	}
}

// tick looks whether this process has a new id, and forgets who no longer asks.
func (x *Exchange) tick() {
	if up := x.Carrier.Up(); x.up.Swap(up) != up {
		x.Metrics.BusUp(up)
	}
	if me := x.Me(); me != x.me {
		if err := x.Carrier.Receive(me, x.receive); err != nil {
			x.Logger.Warn("receive messages of other processes", "error", err)
		} else {
			x.me = me
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forget(time.Now())
}

// close forgets all that is followed.
func (x *Exchange) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, p := range x.peers {
		for _, f := range p.runs {
			p.drop(f)
		}
	}
	clear(x.peers)
}

// send sends what there is to send; false if there is nothing.
func (x *Exchange) send() bool {
	x.waiting.Lock()
	out, news := x.outbox, x.news
	x.outbox, x.news = nil, x.before[:0]
	for _, f := range news {
		f.listed = false
	}
	if len(news) > 0 {
		x.last = time.Now()
	}
	x.waiting.Unlock()
	for i := range out {
		x.post(&out[i])
	}
	x.relay(news)
	clear(news)
	x.before = news
	return len(out)+len(news) > 0
}

// post sends a message.
func (x *Exchange) post(m *outgoing) {
	m.From = x.me
	if m.Kind == Ask {
		m.Total = x.acked(m.to)
	}
	x.raw = m.Append(x.raw[:0])
	x.carry(m.to, m.Kind, x.raw)
}

// carry gives an encoded message to the carrier.
func (x *Exchange) carry(to string, kind Kind, raw []byte) {
	var err error
	if to == "" {
		err = x.Carrier.SendAll(raw)
	} else {
		err = x.Carrier.Send(to, raw)
	}
	if err == nil {
		x.Metrics.BusMessage(kind.String(), true, len(raw))
	}
}

// receive takes a message of another process.
func (x *Exchange) receive(raw []byte) {
	m, err := Decode(raw)
	if err != nil {
		x.Logger.Debug("a message of another process", "error", err) // it may be of a newer release
		return
	}
	x.Metrics.BusMessage(m.Kind.String(), false, len(raw))
	switch m.Kind {
	case Ask:
		x.asked(&m)
	case Leave:
		x.left(&m)
	case Events:
		x.received(&m)
		x.handlers.Events(m.From, m.Items)
	case NotMine, Moved:
		runs := make([]string, len(m.Items))
		for i := range m.Items {
			runs[i] = m.Items[i].ID
		}
		x.handlers.Rows(runs)
	default:
		x.handlers.Hint(m.Kind, m.Items)
	}
}
