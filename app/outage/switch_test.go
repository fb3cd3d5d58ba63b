package outage

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/store"
)

// outage takes the database of a service away and gives it back.
type outage interface {
	begin()
	end()
	// refused counts what the service has tried meanwhile.
	refused() int64
	// options puts it between the service and its database.
	options(*runs.Options)
}

// breakable is a database that can be taken away.
func breakable(t *testing.T, d apptest.Database) (url string, o outage) {
	t.Helper()
	if d.Name == "sqlite" {
		return d.Fresh(t), &switchedStore{}
	}
	p := newProxy(t, d.Fresh(t))
	return p.url, p
}

// switchedStore is a store that can be switched off.
type switchedStore struct {
	*store.Store
	away  atomic.Bool
	tries atomic.Int64
}

func (s *switchedStore) begin() { s.away.Store(true) }

func (s *switchedStore) end() { s.away.Store(false); s.tries.Store(0) }

func (s *switchedStore) refused() int64 { return s.tries.Load() }

func (s *switchedStore) options(o *runs.Options) {
	real, ok := o.Store.Runs.(*store.Store)
	if !ok {
		panic("the store is another one")
	}
	s.Store, o.Store = real, app.StoresOf(s)
}

// gone is the error of a store that is switched off.
func (s *switchedStore) gone() error {
	if !s.away.Load() {
		return nil
	}
	s.tries.Add(1)
	return errors.Join(record.ErrUnavailable, errors.New("switched off"))
}

func (s *switchedStore) Commit(ctx context.Context, writes []*record.Write) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.Commit(ctx, writes)
}

func (s *switchedStore) Run(ctx context.Context, id string) (record.Run, error) {
	if err := s.gone(); err != nil {
		return record.Run{}, err
	}
	return s.Store.Run(ctx, id)
}

func (s *switchedStore) NextQueued(ctx context.Context, conversationID int64) (record.Run, error) {
	if err := s.gone(); err != nil {
		return record.Run{}, err
	}
	return s.Store.NextQueued(ctx, conversationID)
}

func (s *switchedStore) Claim(ctx context.Context, id string, attempt int) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.Claim(ctx, id, attempt)
}

func (s *switchedStore) RequestCancel(ctx context.Context, id string) error {
	if err := s.gone(); err != nil {
		return err
	}
	return s.Store.RequestCancel(ctx, id)
}

func (s *switchedStore) Segments(ctx context.Context, id string, after int64) ([]record.Segment, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Segments(ctx, id, after)
}

func (s *switchedStore) NextSegment(ctx context.Context, id string, after int64) (record.Segment, error) {
	if err := s.gone(); err != nil {
		return record.Segment{}, err
	}
	return s.Store.NextSegment(ctx, id, after)
}

func (s *switchedStore) Checkpoints(ctx context.Context, id string) ([]record.Checkpoint, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Checkpoints(ctx, id)
}

func (s *switchedStore) ToolCalls(ctx context.Context, id string) ([]record.ToolCall, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.ToolCalls(ctx, id)
}

func (s *switchedStore) Payloads(ctx context.Context, owner string, id int64, except string) ([]schemas.CustomPayload, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Payloads(ctx, owner, id, except)
}

func (s *switchedStore) Trace(ctx context.Context, id string) (json.RawMessage, error) {
	if err := s.gone(); err != nil {
		return nil, err
	}
	return s.Store.Trace(ctx, id)
}

// proxy forwards connections to a server and can cut all of them.
type proxy struct {
	t      testing.TB
	url    string
	server string
	tries  atomic.Int64

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

func newProxy(t testing.TB, database string) *proxy {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, server: u.Host, conns: map[net.Conn]bool{}}
	q := u.Query()
	if host := q.Get("host"); host != "" {
		p.server = net.JoinHostPort(host, q.Get("port"))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q.Del("host")
	q.Del("port")
	u.Host, u.RawQuery = listener.Addr().String(), q.Encode()
	p.url = u.String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(conn)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		p.begin()
	})
	return p
}

// dial connects to the server, or to its socket if the host is a folder.
func (p *proxy) dial() (net.Conn, error) {
	if host, port, err := net.SplitHostPort(p.server); err == nil && strings.HasPrefix(host, "/") {
		return net.Dial("unix", host+"/.s.PGSQL."+port)
	}
	return net.Dial("tcp", p.server)
}

func (p *proxy) serve(near net.Conn) {
	defer near.Close()
	far, err := p.dial()
	if err != nil {
		p.t.Error(err)
		return
	}
	defer far.Close()
	if !p.keep(near, far) {
		return
	}
	done := make(chan struct{}, 2)
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // ends when either side does
		done <- struct{}{}
	}
	go pipe(near, far)
	go pipe(far, near)
	<-done
}

// keep takes connections into the proxy, unless it is cut.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		p.tries.Add(1)
		return false
	}
	for _, c := range conns {
		p.conns[c] = true
	}
	return true
}

func (p *proxy) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = true
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *proxy) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = false
	p.tries.Store(0)
}

func (p *proxy) refused() int64 { return p.tries.Load() }

func (p *proxy) options(*runs.Options) {}
