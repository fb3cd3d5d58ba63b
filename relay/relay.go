// Package relay carries messages between the processes that serve one database, over
// NATS. It is the only package that knows NATS. A message may be lost, repeated or late:
// what must not be lost is in the database.
package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/chattray/chattray/schemas/seldom"
)

const (
	// pingEvery and pingsLost are how a connection is found dead that does not say so.
	pingEvery = time.Second
	pingsLost = 2
	// retryMin and retryMax are between two attempts to connect.
	retryMin, retryMax = 100 * time.Millisecond, time.Second
	// maxPending and maxPendingBytes bound what has arrived and was not taken; more is
	// lost.
	maxPending, maxPendingBytes = 64 << 10, 64 << 20
	// writeWait bounds a write to a connection that takes nothing, and flushWait bounds
	// Close.
	writeWait, flushWait = time.Second, time.Second
	// dialWait bounds an attempt to connect.
	dialWait = 2 * time.Second
	// refusedWait is the time until a subscription that the server has refused is made again:
	// a server that gets other permissions while it runs keeps the connections, and tells nobody.
	refusedWait = 2 * time.Second
)

// away is what is logged when there is no connection.
const away = "nats is away; other processes' runs are read from the database"

// ErrDown is the error of a message that cannot be sent now.
var ErrDown = errors.New("relay: there is no connection")

// Options configure a NATS carrier.
type Options struct {
	// URL are the servers, comma separated; Creds is a file with credentials, empty for
	// none.
	URL, Creds string
	// Service names the database: processes of different ones do not hear each other.
	Service string
	Logger  *slog.Logger
}

// NATS carries messages over NATS core. It is safe for concurrent use.
type NATS struct {
	service string
	url     string
	options []nats.Option
	fault   func(err error) // says what is wrong with the connection or a message, from time to time
	closing chan struct{}   // closed by Close

	conn atomic.Pointer[nats.Conn]

	refused atomic.Bool // a subscription, which will be made again

	mu         sync.Mutex
	me         string
	all, inbox *nats.Subscription // of conn
	receive    func([]byte)
}

// Connect returns a carrier, which connects as soon as a server can be reached, and again
// whenever it has lost the connection. The error is about the options.
func Connect(o Options) (*NATS, error) {
	var faults seldom.Log
	n := &NATS{service: o.Service, url: o.URL, closing: make(chan struct{}), receive: func([]byte) {}, fault: func(err error) { // such as one for each message that may not be sent
		faults.About(context.Background(), err.Error(), o.Logger, slog.LevelWarn, "nats", slog.Any("error", err))
	}}
	var reasons atomic.Pointer[seldom.Log] // since the last connection, why there is none
	reasons.Store(new(seldom.Log))
	lost := func(_ *nats.Conn, err error) {
		if err != nil && !errors.Is(err, nats.ErrNoServers) { // that is no reason; the next attempt has one
			reasons.Load().About(context.Background(), err.Error(), o.Logger, slog.LevelWarn, away, slog.Any("error", err))
		}
	}
	connected := func(message string) nats.ConnHandler {
		return func(*nats.Conn) {
			reasons.Store(new(seldom.Log))
			o.Logger.Info(message)
		}
	}
	n.options = []nats.Option{
		nats.Name("chattray"), nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsLost), nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), nats.ReconnectBufSize(-1), nats.FlusherTimeout(0), nats.SetCustomDialer(dialer{}), nats.NoEcho(),
		nats.CustomReconnectDelay(func(int) time.Duration { return retryMin + rand.N(retryMax-retryMin) }), //nolint:gosec // it guards nothing
		nats.ConnectHandler(connected("nats is connected")), nats.ReconnectHandler(connected("nats is connected again")),
		nats.DisconnectErrHandler(lost), nats.ReconnectErrHandler(lost),
		nats.ClosedHandler(func(conn *nats.Conn) {
			lost(conn, conn.LastError())
			n.closed(conn)
		}), nats.NoCallbacksAfterClientClose(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			n.fault(err)
			if errors.Is(err, nats.ErrPermissionViolation) && strings.Contains(err.Error(), "Subscription") && !n.refused.Swap(true) {
				time.AfterFunc(refusedWait, n.subscribeAgain)
			}
		}),
	}
	if err := CheckCreds(o.Creds); err != nil {
		return nil, err
	}
	if o.Creds != "" {
		n.options = append(n.options, nats.UserCredentials(o.Creds))
	}
	if err := n.open(); err != nil {
		return nil, err
	}
	if conn := n.conn.Load(); !conn.IsConnected() {
		lost(conn, conn.LastError())
	}
	return n, nil
}

// open makes a connection, with its subscriptions, and uses it from now on.
func (n *NATS) open() error {
	conn, err := nats.Connect(n.url, n.options...)
	if err != nil {
		return fmt.Errorf("relay: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	all, inbox, err := n.listen(conn)
	select {
	case <-n.closing:
		err = ErrDown
	default:
	}
	if err != nil {
		conn.Close()
		return err
	}
	n.all, n.inbox = all, inbox
	n.conn.Store(conn)
	return nil
}

// listen subscribes to what is for all and, once it is known who this process is, for it.
func (n *NATS) listen(conn *nats.Conn) (all, inbox *nats.Subscription, err error) {
	all, err = n.subscribe(conn, n.subject("all"))
	if err == nil && n.me != "" {
		inbox, err = n.subscribe(conn, n.inboxOf(n.me))
	}
	return all, inbox, err
}

// subscribeAgain replaces the subscriptions, because the server has refused one.
func (n *NATS) subscribeAgain() {
	n.refused.Store(false)
	n.mu.Lock()
	defer n.mu.Unlock()
	all, inbox, err := n.listen(n.conn.Load())
	if err != nil {
		return // there is no connection; the next one begins with both
	}
	_ = n.all.Unsubscribe() // at worst a message comes twice
	if n.inbox != nil {
		_ = n.inbox.Unsubscribe()
	}
	n.all, n.inbox = all, inbox
}

// closed makes another connection after the library has closed one for good, because of an
// error of the server that it does not expect. One that is not used yet is left to open's
// caller, so that there are never two.
func (n *NATS) closed(conn *nats.Conn) {
	n.mu.Lock()
	used := n.conn.Load() == conn
	n.mu.Unlock()
	for used {
		select {
		case <-n.closing:
			return
		case <-time.After(retryMax):
		}
		err := n.open()
		if err == nil {
			return
		}
		n.fault(err)
	}
}

// maxCreds is the size of a file of credentials, in bytes.
const maxCreds = 64 << 10

// CheckCreds returns an error unless the file at path can be that of credentials: a regular
// file, because it is read for each connection. An empty path is none.
func CheckCreds(path string) error {
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxCreds:
		err = fmt.Errorf("%s is larger than %d bytes", path, maxCreds)
	default:
		return nil
	}
	return fmt.Errorf("relay: the file with the credentials of NATS: %w", err)
}

// subject returns a subject of this database.
func (n *NATS) subject(name string) string { return "chattray." + n.service + "." + name }

// inboxOf returns the subject of one process.
func (n *NATS) inboxOf(id string) string { return n.subject("r." + id) }

// subscribe takes messages off the library's queue at once.
func (n *NATS) subscribe(conn *nats.Conn, subject string) (*nats.Subscription, error) {
	s, err := conn.Subscribe(subject, func(m *nats.Msg) {
		n.mu.Lock()
		receive := n.receive
		n.mu.Unlock()
		receive(m.Data)
	})
	if err == nil {
		err = s.SetPendingLimits(maxPending, maxPendingBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("relay: subscribe: %w", err)
	}
	return s, nil
}

// Receive sets who gets the messages to all and to the process with this id, those of each
// kind one at a time. It replaces what was set before.
func (n *NATS) Receive(id string, f func(message []byte)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	same, before := n.me == id, n.inbox
	n.receive = f
	if same {
		return nil
	}
	inbox, err := n.subscribe(n.conn.Load(), n.inboxOf(id))
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return err
	}
	n.me, n.inbox = id, inbox // a connection that is made after a closed one begins with it
	if err == nil && before != nil {
		return before.Unsubscribe()
	}
	return nil
}

// Send sends a message to one process.
func (n *NATS) Send(to string, message []byte) error { return n.publish(n.inboxOf(to), message) }

// SendAll sends a message to all other processes.
func (n *NATS) SendAll(message []byte) error { return n.publish(n.subject("all"), message) }

func (n *NATS) publish(subject string, message []byte) error {
	if !n.Up() {
		return ErrDown
	}
	if err := n.conn.Load().Publish(subject, message); err != nil {
		n.fault(err)
		return fmt.Errorf("relay: send: %w", err)
	}
	return nil
}

// Up reports whether there is a connection.
func (n *NATS) Up() bool { return n.conn.Load().IsConnected() }

// Close ends the connection after what was sent.
func (n *NATS) Close() {
	n.mu.Lock()
	select {
	case <-n.closing:
	default:
		close(n.closing)
	}
	conn := n.conn.Load()
	n.mu.Unlock()
	_ = conn.FlushTimeout(flushWait) // nobody relies on the last messages
	conn.Close()
}
