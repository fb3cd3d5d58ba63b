package ws_test

import (
	"context"
	"testing"

	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/schemas/record"
)

// longChat is a chat whose newest run has the place 7. It notes the place from which its
// runs are looked for.
type longChat struct{ from int64 }

func (*longChat) LastPlace(context.Context, string, string) (int64, error) { return 7, nil }

func (c *longChat) StartedAfter(_ context.Context, chats []record.ChatPlace) ([]record.Started, error) {
	c.from = chats[0].Place
	return nil, nil
}

// A socket that begins to watch a chat just when the last one that watched it leaves is not
// shown the runs of earlier.
func TestOneSocketLeavesWhenAnotherComes(t *testing.T) {
	chat := &longChat{}
	sockets := ws.NewSockets(chat)
	first, second := ws.NewListener(sockets, "alice"), ws.NewListener(sockets, "alice")
	if err := first.Listen(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	mark, err := second.Mark(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	first.Leave("c")
	if joined, err := second.Join("c", mark); joined || err != nil {
		t.Errorf("it joins with the mark of a chat that is no longer watched: %t, %v", joined, err)
	}
	if err := second.Listen(t.Context(), "c"); err != nil {
		t.Fatal(err)
	}
	if err := sockets.LookForStarts(t.Context()); err != nil || chat.from != 7 {
		t.Errorf("its runs are looked for from the place %d (%v), want 7", chat.from, err)
	}
}
