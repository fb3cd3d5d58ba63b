package exchange

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
)

// A long list is told in parts, so that no message is longer than others take.
func TestLongListsAreToldInParts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		ids := make([]string, 2*maxItems+1)
		for i := range ids {
			ids[i] = fmt.Sprint(i)
		}
		w.Tell(Free, ids...)
		var got []string
		for _, m := range w.take() {
			if m.Kind != Free || len(m.Items) > maxItems {
				t.Errorf("a message of the kind %v with %d items, want at most %d", m.Kind, len(m.Items), maxItems)
			}
			for _, item := range m.Items {
				got = append(got, item.ID)
			}
		}
		if len(got) != len(ids) || got[len(got)-1] != ids[len(ids)-1] {
			t.Errorf("%d items were told, want %d", len(got), len(ids))
		}
	})
}

// What is said right before the end is sent.
func TestLastWordsAreSent(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 { // the wake or the end may be seen first
		w := &wire{}
		x := New(Options{Carrier: w, Logger: slog.New(slog.DiscardHandler), Me: func() string { return "a" }})
		x.Tell(Loose)
		x.Run(ctx, Handlers{})
		if len(w.sent) != 1 || w.sent[0].Kind != Loose {
			t.Fatalf("sent %+v, want what was told", w.sent)
		}
	}
}
