package wires

import (
	"fmt"
	"testing"

	"github.com/chattray/chattray/schemas"
)

// TestNext places a list of messages that a client has sent, all of its user's texts, in the
// chat that was begun with some of them.
func TestNext(t *testing.T) {
	t.Parallel()
	// chat is one that began with history messages of which the client had dropped more, and
	// asked questions since.
	chat := func(history, asked int) (have []schemas.Message) {
		for i := range history + 2*asked {
			m := schemas.Message{Role: []string{"user", "assistant"}[i%2], Content: fmt.Sprint("text ", i)}
			if i >= history {
				m.RunID = "run"
			}
			have = append(have, m)
		}
		return have
	}
	// texts are those of the user's messages, after some that the chat does not have.
	texts := func(dropped int, have []schemas.Message) (list []string) {
		for i := range dropped {
			list = append(list, fmt.Sprint("dropped ", i))
		}
		for _, m := range have {
			if m.Role == "user" {
				list = append(list, m.Content)
			}
		}
		return list
	}
	for _, c := range []struct{ history, dropped, asked int }{{0, 0, 3}, {10, 0, 1}, {maxHistory, 0, 1}, {maxHistory, 1, 1}, {maxHistory, 70, 1}, {maxHistory, 7, 5}, {0, 300, maxPages * messagePage / 2}} {
		have := chat(c.history, c.asked)
		all := texts(c.dropped, have)
		if next, ok := Next(have, all); !ok || next != -1 {
			t.Errorf("%+v: a new message is placed at %d, %v, want the end", c, next, ok)
		}
		for back := 1; back <= min(c.asked+3, len(all)-c.dropped-1); back++ {
			want := len(have) - 2*back
			if next, ok := Next(have, all[:len(all)-back]); !ok || next != want {
				t.Errorf("%+v: a message %d before the end is placed at %d, %v, want %d", c, back, next, ok, want)
			}
		}
		if c.dropped == 0 {
			if next, ok := Next(have, nil); !ok || next != 0 {
				t.Errorf("%+v: the first message is placed at %d, %v", c, next, ok)
			}
		}
		other := append([]string{"another text"}, all...)
		if next, ok := Next(have, append(other, "one more")); ok {
			t.Errorf("%+v: messages of another chat are placed at %d", c, next)
		}
	}
	if next, ok := Next(chat(10, 2), texts(1, chat(10, 2))); ok {
		t.Errorf("a longer list of a chat that is whole is placed at %d", next)
	}
	if next, ok := Next(chat(0, maxHistory), texts(1, chat(0, maxHistory))); ok {
		t.Errorf("a longer list of a long chat that began with no history is placed at %d", next)
	}
}
