package relay

import (
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"
)

// There is never a second connection: one that is closed before it is used is made again by
// open's caller alone. An id that is set while the connection is closed is used by the next.
func TestClosedBeforeItIsUsed(t *testing.T) {
	n, err := Connect(Options{URL: "nats://127.0.0.1:1", Service: "one", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	other, err := nats.Connect(n.url, n.options...)
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	used := n.conn.Load()
	if n.closed(other); n.conn.Load() != used {
		t.Error("a connection that was not used is replaced, want the used one to stay")
	}

	used.Close()
	if err := n.Receive("me", func([]byte) {}); err != nil {
		t.Error(err)
	}
	if n.closed(used); n.conn.Load() == used || n.conn.Load().NumSubscriptions() != 2 {
		t.Errorf("the used connection is replaced: %t, with %d subscriptions, want 2", n.conn.Load() != used, n.conn.Load().NumSubscriptions())
	}
}
