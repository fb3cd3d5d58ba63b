package readers_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/relay/relaytest"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/readers"
)

// web carries messages between the processes of a test. It may lose some, send some twice
// and some later than others, and damage the end of some, where their events are.
type web struct {
	relaytest.Memory
	lost, doubled, late, damaged float64

	mu     sync.Mutex
	random *rand.Rand
}

// port is the carrier of one process.
type port struct {
	*relaytest.Port
	web *web
}

func (w *web) port() *port {
	if w.random == nil {
		w.random = rand.New(rand.NewPCG(1, 1))
	}
	return &port{w.Port(), w}
}

// happens reports whether something happens that has that likelihood.
func (w *web) happens(likely *float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.Float64() < *likely
}

// loses sets how many messages are lost from now on.
func (w *web) loses(share float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = share
}

func (p *port) Send(to string, message []byte) error {
	message = slices.Clone(message)
	if p.web.happens(&p.web.lost) {
		return nil
	}
	if p.web.happens(&p.web.damaged) {
		for i := max(len(message)-12, 0); i < len(message); i++ {
			message[i] = 0xff
		}
	}
	if p.web.happens(&p.web.doubled) {
		_ = p.Port.Send(to, message) // as a lost one
	}
	if p.web.happens(&p.web.late) {
		time.AfterFunc(30*time.Millisecond, func() { _ = p.Port.Send(to, message) })
		return nil
	}
	return p.Port.Send(to, message)
}

// sender sends the events of a process's runs.
type sender struct {
	*exchange.Exchange
	port *port

	mu  sync.Mutex
	own map[string]*owner
}

func (s *sender) owns(o *owner) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own[o.id] = o
}

func (s *sender) find(id string) *eventlog.Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.own[id]; o != nil {
		return o.log
	}
	return nil
}

// owner returns what sends the events of a process.
func (w *web) owner(t *testing.T, name string) *sender {
	s := &sender{port: w.port(), own: map[string]*owner{}}
	s.Exchange = exchange.New(exchange.Options{Carrier: s.port, Me: func() string { return name }, Own: s.find, Logger: slog.New(slog.DiscardHandler)})
	running(t, func(ctx context.Context) {
		s.Run(ctx, exchange.Handlers{Events: func(string, []exchange.Item) {}, Rows: func([]string) {}})
	})
	return s
}

// reader returns what asks for the events of others.
func (w *web) reader(name string) *exchange.Exchange {
	return exchange.New(exchange.Options{
		Carrier: w.port(), Me: func() string { return name }, Own: func(string) *eventlog.Log { return nil }, Logger: slog.New(slog.DiscardHandler),
	})
}

// connected starts a process that reads runs of a, over a web.
func connected(t *testing.T, w *web) (d *database, a process, b *elsewhere, counts *counter) {
	t.Helper()
	d, counts = newDatabase(), &counter{}
	a = process{d: d, name: "a", sender: w.owner(t, "a")}
	b = start(t, d, func(o *readers.Options) { o.Bus, o.Metrics = w.reader("b"), counts })
	return d, a, b, counts
}

// Events that the owner of a run sends come within a millisecond, before they are stored. The database
// is asked only for the rows of the runs, now and then.
func TestCarried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, a, b, counts := connected(t, &web{})
		o := a.begin("r")
		o.write(t, 5)
		o.flush()
		var all []*reader
		for after := range int64(8) {
			all = append(all, b.read(t, t.Context(), "r", after, 0))
		}
		pass(1100 * time.Millisecond) // at no instant at which the database is asked
		d.asked()
		for range 100 {
			o.write(t, 2)
			pass(100 * time.Millisecond)
		}
		if n := d.asked(); n > 5 {
			t.Errorf("the database was asked %d times in 10 s, want every 2 s", n)
		}
		if got, carried := counts.mirrors.get(), counts.carried.get(); got != 1 || carried != 1 {
			t.Errorf("%d mirrors, %d of them fed by the owner, want 1 and 1", got, carried)
		}
		o.finish()
		for after, r := range all {
			r.wants(t, [2]int64{int64(after) + 1, 206})
			if r.late > time.Millisecond && after >= 5 {
				t.Errorf("an event came %v late, want within a millisecond", r.late)
			}
		}
		pass(5 * time.Second)
		if got := counts.mirrors.get(); got != 0 || counts.carried.get() != 0 {
			t.Errorf("%d mirrors are left, want none", got)
		}
	})
}

// A run moves while it is read for its mirror, and that is said here. It is read again at once,
// where it is now.
func TestMovesWhileItIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, a, b, _ := connected(t, &web{})
		o := a.begin("r")
		o.write(t, 5)
		o.flush()
		r := b.read(t, t.Context(), "r", 0, 0)
		pass(1100 * time.Millisecond) // at no instant at which the database is asked
		var second *owner
		d.during = func() {
			second = process{d: d, name: "c"}.begin("r", a)
			b.LookAt([]string{"r"})
		}
		b.LookAt([]string{"r"})
		synctest.Wait()
		second.write(t, 1)
		second.flush()
		pass(500 * time.Millisecond)
		synctest.Wait()
		if want := []int64{1, 2, 3, 4, 5, 1_000_001}; !slices.Equal(r.seqs, want) {
			t.Errorf("half a second after the run has moved: got %v, want %v", r.seqs, want)
		}
		second.finish()
		r.wants(t, [2]int64{1, 5}, [2]int64{1_000_001, 1_000_002})
	})
}

// The first reader of a run gets all events of its attempt from the owner, also those that
// are not stored, and the journal is not read. If the owner does not answer, they are read
// from the database soon.
func TestFirstEventsOfTheOwner(t *testing.T) {
	for name, silent := range map[string]bool{"it answers": false, "it is silent": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &web{}
				d, a, b, _ := connected(t, w)
				before := a.begin("r")
				before.write(t, 3)
				before.flush()
				a.tidy()
				before.log.Close()
				o := a.begin("r")
				o.write(t, 5)
				o.flush()
				o.write(t, 2)
				if silent {
					w.loses(1)
				}
				pass(1100 * time.Millisecond) // at no instant at which the database is asked
				d.asked()
				r := b.read(t, t.Context(), "r", 1, 0)
				late, want := time.Duration(0), []int64{2, 3, 1_000_001, 1_000_002, 1_000_003, 1_000_004, 1_000_005, 1_000_006, 1_000_007}
				if silent {
					late, want = firstLate, want[:7]
				}
				pass(late)
				synctest.Wait()
				if !slices.Equal(r.seqs, want) {
					t.Errorf("after %v: got %v, want %v", late, r.seqs, want)
				}
				if n := d.asked(); !silent && n > 5 {
					t.Errorf("the database was asked %d times, want for the run and for the attempt before", n)
				}
				o.flush()
				w.loses(0)
				o.finish()
				r.wants(t, [2]int64{2, 3}, [2]int64{1_000_001, 1_000_008})
			})
		})
	}
}

// firstLate is how late the first events are if the owner of a run does not answer.
const firstLate = 400 * time.Millisecond

// While messages do not arrive, events are read from the database, at most half a second
// late once that is known; afterwards they come by messages again. The reader does not
// notice.
func TestCarrierAway(t *testing.T) {
	for name, silent := range map[string]bool{"which says so": false, "without a word": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &web{}
				_, a, b, counts := connected(t, w)
				o := a.begin("r")
				r := b.read(t, t.Context(), "r", 0, 0)
				write := func(seconds int) {
					for range 10 * seconds {
						o.write(t, 1)
						pass(100 * time.Millisecond)
						o.flush()
					}
				}
				write(2)
				for round := range 3 {
					if n := counts.carried.get(); n != 1 {
						t.Errorf("round %d: %d mirrors are fed by the owner, want 1", round, n)
					}
					if silent {
						w.loses(1)
					} else {
						a.port.Cut(true)
					}
					write(4)
					if n := counts.carried.get(); n != 0 {
						t.Errorf("round %d: %d mirrors are fed by the owner while messages are lost, want none", round, n)
					}
					w.loses(0)
					a.port.Cut(false)
					write(3)
				}
				o.finish()
				r.wants(t, [2]int64{1, 231})
				if r.late > 3500*time.Millisecond {
					t.Errorf("an event came %v late, want at most 3.5 s", r.late)
				}
			})
		})
	}
}

// Messages that are lost, doubled, late and damaged delay events by at most three seconds,
// and leave nothing out.
func TestFaultyMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, counts := connected(t, &web{lost: 0.1, doubled: 0.1, late: 0.1, damaged: 0.1})
		o := a.begin("r")
		r := b.read(t, t.Context(), "r", 0, 0)
		for n := range 3000 {
			o.write(t, 1)
			if pass(20 * time.Millisecond); n%5 == 0 {
				o.flush()
			}
		}
		o.finish()
		r.wants(t, [2]int64{1, 3001})
		if r.late > 3*time.Second {
			t.Errorf("an event came %v late, want at most 3 s", r.late)
		}
		if counts.gaps.get() == 0 {
			t.Error("no gap was seen, want some")
		}
	})
}

// An event that is too large for a message is read from the database, and those after it
// come by messages again.
func TestLargeEventCarried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, b, counts := connected(t, &web{})
		o := a.begin("r")
		r := b.read(t, t.Context(), "r", 0, 0)
		pass(time.Second)
		for range 3 {
			if err := o.log.Append(runlog.Level{}, &runlog.Text{Text: strings.Repeat("x", 1<<20)}); err != nil {
				t.Fatal(err)
			}
			o.write(t, 1)
			pass(100 * time.Millisecond)
			o.flush()
			pass(time.Second)
			o.write(t, 1)
			synctest.Wait()
			if n := int64(len(r.seqs)); n != o.log.Last() || counts.carried.get() != 1 {
				t.Errorf("%d of %d events have come, want all at once", n, o.log.Last())
			}
		}
		o.finish()
		r.wants(t, [2]int64{1, 10})
		if r.late > time.Second {
			t.Errorf("an event came %v late, want at most 1 s", r.late)
		}
	})
}

// A process whose messages do not arrive in time is sent no more than is on its way, and
// gets the rest when they do. One that asks no more is sent nothing.
func TestUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var memory relaytest.Memory
		b := memory.Port()
		got, total := 0, int64(0)
		if err := b.Receive("b", func(raw []byte) {
			m, err := exchange.Decode(raw)
			if err != nil {
				t.Error(err)
			}
			got, total = got+len(raw), m.Total
		}); err != nil {
			t.Fatal(err)
		}
		log := eventlog.New(1, func() int64 { return 1 })
		x := exchange.New(exchange.Options{
			Carrier: memory.Port(), Me: func() string { return "a" }, Own: func(string) *eventlog.Log { return log }, Logger: slog.New(slog.DiscardHandler),
		})
		running(t, func(ctx context.Context) { x.Run(ctx, exchange.Handlers{}) })
		synctest.Wait()
		ask := func(total int64) {
			m := exchange.Message{Kind: exchange.Ask, From: "b", Total: total, Items: []exchange.Item{{ID: "r", Attempt: 1}}}
			if err := b.Send("a", m.Append(nil)); err != nil {
				t.Fatal(err)
			}
			pass(time.Millisecond)
		}
		write := func(bytes int) {
			for n := 0; n < bytes; n += 10_000 {
				if err := log.Append(runlog.Level{}, &runlog.Text{Text: fmt.Sprint(n) + strings.Repeat("x", 10_000)}); err != nil {
					t.Fatal(err)
				}
			}
			pass(time.Millisecond)
		}
		ask(0)
		write(10 << 20)
		if got < 4<<20 || got > 5<<20 {
			t.Errorf("%d bytes were sent before the first are acknowledged, want 4 MiB", got)
		}
		ask(total)
		if got < 8<<20 || got > 9<<20 {
			t.Errorf("%d bytes were sent before the second are acknowledged, want 8 MiB", got)
		}
		ask(total)
		if got < 10<<20 {
			t.Errorf("%d bytes were sent in all, want all", got)
		}
		pass(11 * time.Second)
		before := got
		write(1 << 20)
		if got != before {
			t.Errorf("%d more bytes were sent to one that asks no more, want none", got-before)
		}
	})
}
