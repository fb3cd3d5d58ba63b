package exchange

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
)

// wire is a carrier that keeps what is sent, decoded.
type wire struct {
	mu      sync.Mutex
	sent    []Message
	bytes   int
	id      string
	receive func(message []byte)
}

func (w *wire) Up() bool { return true }

func (w *wire) Send(_ string, raw []byte) error {
	m, err := Decode([]byte(string(raw))) // the message is not kept
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, m)
	if m.Kind == Events {
		w.bytes += len(raw)
	}
	return nil
}

func (w *wire) SendAll(raw []byte) error { return w.Send("", raw) }

func (w *wire) Receive(id string, f func(message []byte)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id, w.receive = id, f
	return nil
}

// settle lets the exchange send all that waits.
func settle() {
	<-time.After(gatherFor + 1)
	synctest.Wait()
}

// take returns what was sent since the last call.
func (w *wire) take() []Message {
	settle()
	return w.soFar()
}

// soFar returns what was sent without waiting since the last call.
func (w *wire) soFar() []Message {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.sent
	w.sent = nil
	return sent
}

// eventBytes returns how many bytes of events were sent in all.
func (w *wire) eventBytes() int {
	settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}

// gets gives the exchange a message.
func (w *wire) gets(m Message) {
	w.mu.Lock()
	receive := w.receive
	w.mu.Unlock()
	receive(m.Append(nil))
	settle()
}

// world is the exchange of a process, and the logs of its runs.
type world struct {
	*wire
	*Exchange
	mu   sync.Mutex
	me   string
	logs map[string]*eventlog.Log
}

// inWorld runs a test in a bubble with the exchange of process a.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{wire: new(wire), me: "a", logs: make(map[string]*eventlog.Log)}
		w.Exchange = New(Options{
			Carrier: w.wire, Logger: slog.New(slog.DiscardHandler),
			Me: func() string {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.me
			},
			Own: func(id string) *eventlog.Log {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.logs[id]
			},
		})
		ctx, cancel := context.WithCancel(context.Background())
		var work sync.WaitGroup
		work.Go(func() {
			w.Run(ctx, Handlers{Events: func(string, []Item) {}, Rows: func([]string) {}, Hint: func(Kind, []Item) {}})
		})
		defer work.Wait()
		defer cancel()
		synctest.Wait()
		test(t, w)
	})
}

// owns gives the process a run at an attempt.
func (w *world) owns(id string, attempt int) *eventlog.Log {
	log := eventlog.New(attempt, func() int64 { return 1 })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.logs[id] = log
	return log
}

// asks is b's question for a run.
func asks(total int64, items ...Item) Message {
	return Message{Kind: Ask, From: "b", Total: total, Items: items}
}

func write(t *testing.T, log *eventlog.Log, bytes int) {
	t.Helper()
	const piece = 10_000
	for n := 0; n < bytes; n += piece {
		if err := log.AppendText(runlog.Level{}, fmt.Sprintf("%*d", min(piece, bytes), n)); err != nil {
			t.Fatal(err)
		}
	}
	settle()
}

// events returns the events in messages, by run, as "number:text".
func events(t *testing.T, sent []Message) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, m := range sent {
		for _, it := range m.Items {
			list, err := eventlog.Decode(it.Data)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range list {
				found[it.ID] += fmt.Sprintf(" %d:%s", e.Seq, strings.TrimSpace(e.Body.(*runlog.Text).Text))
			}
		}
	}
	return found
}

// What is held because too much is under way is sent when a process says that it has
// arrived, or when nothing was sent for a second: then the rest was lost.
func TestHeldIsSent(t *testing.T) {
	for name, again := range map[string]func(w *world){
		"it has arrived": func(w *world) { w.gets(asks(int64(w.eventBytes()))) },
		"it was lost":    func(w *world) { <-time.After(silence + time.Millisecond); w.gets(asks(0)) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				log := w.owns("r", 1)
				w.gets(asks(0, Item{ID: "r", Attempt: 1}))
				write(t, log, 2*maxUnderWay)
				first := w.eventBytes()
				if first < maxUnderWay || first > maxUnderWay+maxMessage+ackEvery {
					t.Fatalf("%d bytes are under way, want about %d", first, maxUnderWay)
				}
				again(w)
				if more := w.eventBytes() - first; more < maxUnderWay/2 {
					t.Errorf("%d more bytes were sent, want the rest", more)
				}
			})
		})
	}
}

// Events that come soon after others are sent with those of other runs, those of enough runs
// at once, and those that come alone without waiting.
func TestGathered(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var logs []*eventlog.Log
		ask := asks(0)
		for n := range gatherEnough {
			id := fmt.Sprint(n)
			logs = append(logs, w.owns(id, 1))
			ask.Items = append(ask.Items, Item{ID: id, Attempt: 1})
		}
		w.gets(ask)
		w.take()
		for range 3 {
			<-time.After(gatherFor)
			put(t, logs[0])
			if sent := w.soFar(); len(sent) != 1 || len(sent[0].Items) != 1 {
				t.Errorf("an event that comes alone is sent as %v, want it at once", sent)
			}
		}
		<-time.After(gatherFor / 4)
		put(t, logs[0])
		<-time.After(gatherFor / 4)
		put(t, logs[1])
		if sent := w.soFar(); len(sent) > 0 {
			t.Errorf("sent %v soon after others, want that they wait for more", sent)
		}
		<-time.After(gatherFor / 2)
		if sent := w.soFar(); len(sent) != 1 || len(sent[0].Items) != 2 {
			t.Errorf("sent %v, want the events of both runs in one message", sent)
		}
		for _, log := range logs {
			put(t, log)
		}
		if sent := w.soFar(); len(sent) != 1 || len(sent[0].Items) != gatherEnough {
			t.Errorf("sent %v at once, want the events of %d runs in one message", sent, gatherEnough)
		}
	})
}

// put appends an event to a log.
func put(t *testing.T, log *eventlog.Log) {
	t.Helper()
	if err := log.AppendText(runlog.Level{}, "x"); err != nil {
		t.Fatal(err)
	}
}

// A process that follows a run whose log is given up reads its row again; of one that has
// ended it gets the end.
func TestGivenUp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		log := w.owns("r", 1)
		write(t, log, 1)
		w.gets(asks(0, Item{ID: "r", Attempt: 1}))
		w.take()
		log.Close()
		sent := w.take()
		if len(sent) == 0 || sent[len(sent)-1].Kind != NotMine || sent[len(sent)-1].Items[0].ID != "r" {
			t.Errorf("sent %v, want that the run is not this process's", sent)
		}
		w.gets(asks(0, Item{ID: "r", Attempt: 1}, Item{ID: "unknown"}))
		if sent := w.take(); len(sent) != 1 || sent[0].Kind != NotMine || len(sent[0].Items) != 2 {
			t.Errorf("an ask for it is answered by %v, want that it is not this process's", sent)
		}
	})
}

// A process that is at an earlier attempt gets what follows now: the rest of its own
// attempt and the beginning of this one are in the database.
func TestLaterAttempt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		log := w.owns("r", 2)
		write(t, log, 1)
		w.gets(asks(0, Item{ID: "r", Attempt: 1, After: 5}))
		sent := w.take()
		if len(events(t, sent)) > 0 || len(sent) != 1 || sent[0].Items[0].Attempt != 2 {
			t.Errorf("sent %v, want the attempt without events", sent)
		}
		write(t, log, 1)
		if got := events(t, w.take())["r"]; got != " 1000002:0" {
			t.Errorf("sent %q, want the new event", got)
		}
		w.gets(asks(0, Item{ID: "r", Attempt: 3}))
		if sent := w.take(); len(sent) != 1 || sent[0].Kind != NotMine {
			t.Errorf("one that is at a later attempt gets %v, want that it is not this process's", sent)
		}
	})
}

// A run that is a new attempt is followed in its new log.
func TestNewLog(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.owns("r", 1)
		w.gets(asks(0, Item{ID: "r", Attempt: 1}))
		w.take()
		log := w.owns("r", 2)
		w.gets(asks(0, Item{ID: "r", Attempt: 2, After: 1_000_000}))
		w.take()
		write(t, log, 1)
		if got := events(t, w.take())["r"]; got != " 1000001:0" {
			t.Errorf("sent %q, want the event of the new log", got)
		}
	})
}

// Events whose message was lost, and after which nothing was sent, are sent again when they
// are asked for, but not those that may be under way.
func TestLastMessageLost(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		log := w.owns("r", 1)
		write(t, log, 1)
		ask := asks(0, Item{ID: "r", Attempt: 1})
		w.gets(ask)
		if got := events(t, w.take())["r"]; got != " 1:0" {
			t.Fatalf("sent %q, want the event", got)
		}
		w.gets(ask)
		if got := events(t, w.take())["r"]; got != "" {
			t.Errorf("sent %q at once, want nothing", got)
		}
		<-time.After(silence + time.Millisecond)
		w.gets(ask)
		if got := events(t, w.take())["r"]; got != " 1:0" {
			t.Errorf("sent %q after a silence, want the event again", got)
		}
	})
}

// Who does not ask for a run any more, or says so, is sent nothing.
func TestForgotten(t *testing.T) {
	for name, leave := range map[string]func(w *world){
		"silent": func(*world) { <-time.After(forgetAfter + 2*tickEvery) },
		"left":   func(w *world) { w.gets(Message{Kind: Leave, From: "b", Items: []Item{{ID: "r"}}}) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				log := w.owns("r", 1)
				w.gets(asks(0, Item{ID: "r", Attempt: 1}))
				w.take()
				leave(w)
				write(t, log, 1)
				if sent := w.take(); len(sent) > 0 {
					t.Errorf("sent %v, want nothing", sent)
				}
			})
		})
	}
}

// The sender of many events is told each time that a mebibyte of them has come, also by one
// that has begun to count from 0 again.
func TestArrived(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for _, step := range []struct{ total, want int64 }{
			{100, 0},
			{ackEvery, ackEvery},
			{ackEvery + 100, 0},
			{2 * ackEvery, 2 * ackEvery},
			{50, 0},
			{ackEvery, ackEvery}, // it was started again
		} {
			w.gets(Message{Kind: Events, From: "b", Total: step.total})
			var told int64
			for _, m := range w.take() {
				if m.Kind == Ask && len(m.Items) == 0 {
					told = m.Total
				}
			}
			if told != step.want {
				t.Errorf("after %d bytes the sender is told %d, want %d", step.total, told, step.want)
			}
		}
	})
}

// A process with a new lease gets the messages to its new id.
func TestNewID(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.mu.Lock()
		w.me = "a2"
		w.mu.Unlock()
		<-time.After(2 * tickEvery)
		synctest.Wait()
		w.wire.mu.Lock()
		id := w.id
		w.wire.mu.Unlock()
		if id != "a2" {
			t.Errorf("it receives as %s, want a2", id)
		}
		w.Tell(Look, "r")
		if sent := w.take(); len(sent) != 1 || sent[0].From != "a2" {
			t.Errorf("sent %v, want it from a2", sent)
		}
	})
}

// Messages that wait, processes and their runs are bounded.
func TestBounds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		idle := New(Options{Carrier: w.wire, Me: func() string { return "idle" }})
		for range maxWaiting + 10 {
			idle.Tell(Look, "r")
		}
		if len(idle.outbox) != maxWaiting {
			t.Errorf("%d messages wait, want %d", len(idle.outbox), maxWaiting)
		}
		w.owns("r", 1)
		for n := range maxPeers + 10 {
			w.gets(Message{Kind: Ask, From: fmt.Sprint("peer ", n), Items: []Item{{ID: "r", Attempt: 1}}})
		}
		if n := len(w.peers); n != maxPeers {
			t.Errorf("%d processes are sent events, want %d", n, maxPeers)
		}
		items := make([]Item, maxFollowed+10)
		for i := range items {
			items[i] = Item{ID: fmt.Sprint("run ", i), Attempt: 1}
			w.owns(items[i].ID, 1)
		}
		w.gets(Message{Kind: Ask, From: "peer 0", Items: items})
		w.Exchange.mu.Lock()
		defer w.Exchange.mu.Unlock()
		if n := len(w.peers["peer 0"].runs); n != maxFollowed {
			t.Errorf("%d runs are sent to a process, want %d", n, maxFollowed)
		}
	})
}
