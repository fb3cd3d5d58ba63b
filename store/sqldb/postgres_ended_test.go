package sqldb

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// lateConn is a connection of which a write returns only when the answer has been
// read in the background, the context has ended, and with it another read: as on a
// machine that is too busy to continue the writer.
type lateConn struct {
	net.Conn
	end            *atomic.Pointer[context.CancelFunc] // ends the context of the next write
	sent, answered atomic.Bool
	again, failed  chan struct{}
}

func (c *lateConn) Write(p []byte) (int, error) {
	end := c.end.Swap(nil)
	if end == nil {
		return c.Conn.Write(p)
	}
	c.again, c.failed = make(chan struct{}), make(chan struct{})
	c.sent.Store(true)
	n, err := c.Conn.Write(p)
	<-c.again
	(*end)()
	<-c.failed
	return n, err
}

func (c *lateConn) Read(p []byte) (int, error) {
	if c.answered.CompareAndSwap(true, false) {
		close(c.again)
	}
	n, err := c.Conn.Read(p)
	if c.sent.Load() && bytes.HasSuffix(p[:n], []byte("Z\x00\x00\x00\x05I")) {
		c.answered.Store(true)
	}
	if err != nil && c.sent.CompareAndSwap(true, false) {
		close(c.failed)
	}
	return n, err
}

// The context of a transaction or a read ends after its answer has come. The next one, over
// the same connection, is not told so.
func TestPostgresContextThatEndsLate(t *testing.T) {
	var end atomic.Pointer[context.CancelFunc]
	d := onOneConnection(t, func(conn net.Conn) net.Conn { return &lateConn{Conn: conn, end: &end} })
	reads := &readPool{ConnPool: d.pool, tries: d.conns + 1}
	for what, use := range map[string]func(ctx context.Context) error{
		"transaction": func(ctx context.Context) error {
			return d.batch(ctx, func(tx Session) error { return tx.Each(ctx, "SELECT 1", [][]any{{}}) })
		},
		"read": func(ctx context.Context) error {
			rows, err := reads.QueryContext(ctx, "SELECT 1")
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			return errors.Join(rows.Err(), rows.Close())
		},
	} {
		if err := use(t.Context()); err != nil { // its statements are prepared then
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		end.Store(&cancel)
		if err := use(ctx); ctx.Err() == nil {
			t.Fatalf("%s: its context did not end: %v", what, err)
		}
		if err := use(t.Context()); err != nil {
			t.Errorf("the next %s: %v", what, err)
		}
	}
}

// onOneConnection opens the tests' Postgres with one connection, which wrap may replace.
func onOneConnection(t *testing.T, wrap func(net.Conn) net.Conn) *postgresDB {
	t.Helper()
	url := os.Getenv("TEST_DATABASE_URL")
	if url == "" {
		t.Skip("TEST_DATABASE_URL is not set")
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	if dial := config.DialFunc; wrap != nil {
		config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return wrap(conn), nil
		}
	}
	d := &postgresDB{config: config, conns: 1, connector: newPostgresConnector(config, limitsOf(0), slog.New(slog.DiscardHandler))}
	d.pool = openPool(d.connector, d.conns)
	t.Cleanup(func() { _ = d.pool.Close() })
	return d
}
