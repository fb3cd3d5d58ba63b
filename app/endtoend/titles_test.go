package endtoend

import (
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// TestTitleOfAMessage asks a question whose sixtieth character is in the middle of an
// emoji. The title of its chat ends before it.
func TestTitleOfAMessage(t *testing.T) {
	client := apptest.Serve(t)
	words := strings.Repeat("a", 58)
	client.Must("POST", "/api/chat", map[string]any{"message": words + "👨‍👩‍👧 and more"})
	got := apptest.Decode[schemas.ChatList](t, client.Must("GET", "/api/chats", nil))
	if len(got.Items) != 1 || got.Items[0].Title != words {
		t.Errorf("the list is %+v, want a chat with the title %q", got.Items, words)
	}
}
