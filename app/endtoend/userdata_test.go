package endtoend

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// exported returns how many lines an export has of each kind.
func exported(t *testing.T, body string) map[string]int {
	t.Helper()
	kinds, lines, end := map[string]int{}, 0, -1
	for line := range bytes.Lines([]byte(body)) {
		var v struct {
			Kind string
			Data json.RawMessage
		}
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("the line %q is not JSON: %v", line, err)
		}
		if v.Kind == "end" {
			end = lines
		}
		kinds[v.Kind]++
		lines++
	}
	if end != lines-1 {
		t.Errorf("the export has %d lines, and its end after %d, want it last", lines, end)
	}
	return kinds
}

// A user can export and delete everything, and nothing of others.
func TestUserData(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			url := d.Fresh(t)
			fixed := apptest.Database{Name: d.Name, Fresh: func(testing.TB) string { return url }}
			client := apptest.ServeOn(t, fixed, app.Options{Models: up.Transport()}, apptest.Scripted())
			ask := func(user, chat, question, answer string) {
				t.Helper()
				up.Push(upstream.Text(answer))
				got := client.Ask(user, http.MethodPost, "/api/chat", "", map[string]any{
					"message": question, "chat_id": chat, "attachments": []schemas.Attachment{{Name: "a.txt", MIME: "text/plain", Content: "the file's text"}},
				})
				if got.Status != http.StatusOK {
					t.Fatalf("status %d: %s", got.Status, got.Body)
				}
			}
			ask("ann", "one", "first?", "The first answer.")
			ask("ann", "one", "second?", "The second answer.")
			ask("ann", "two", "third?", "The third answer.")
			ask("bob", "one", "a secret of bob?", "Bob's answer.")
			document := apptest.Decode[schemas.Document](t, client.Must("POST", "/api/documents", map[string]any{"title": "Ann's plan"}))
			client.Must("POST", "/api/documents/"+document.ID+"/blocks", map[string]any{"type": "md", "content": "text of a block"})
			client.Must("POST", "/api/documents/"+document.ID+"/accept", nil)

			size := apptest.Decode[schemas.DataSize](t, client.Must("GET", "/api/me/data", nil))
			if size.Chats != 2 || size.Messages != 6 || size.Documents != 1 || size.Bytes == 0 {
				t.Errorf("got %+v, want 2 chats, 6 messages and a document", size)
			}
			export := client.Must("GET", "/api/me/export", nil)
			kinds := exported(t, export.Body)
			for kind, want := range map[string]int{"user": 1, "usage": 1, "chat": 2, "message": 6, "attachment": 3, "run": 3, "document": 1} {
				if kinds[kind] != want {
					t.Errorf("the export has %d lines of kind %s, want %d", kinds[kind], kind, want)
				}
			}
			for _, want := range []string{"The second answer.", "the file's text", "text of a block", `"request":{`} {
				if !strings.Contains(export.Body, want) {
					t.Errorf("the export lacks %q", want)
				}
			}
			if strings.Contains(strings.ToLower(export.Body), "bob") {
				t.Errorf("the export has something of bob:\n%s", export.Body)
			}
			me := apptest.Decode[schemas.Me](t, client.Must("GET", "/api/me", nil))
			if out, err := apptest.Command(t, []string{"CHATTRAY_DATABASE_URL=" + url}, "user", "export", me.ID); err != nil || exported(t, out)["message"] != 6 || !strings.Contains(out, `"roles":[]`) {
				t.Errorf("the command exports %q, %v, want the same", out, err)
			}

			got := client.Ask("ann", http.MethodDelete, "/api/me/data", "", nil)
			if got.Status != http.StatusConflict || !strings.Contains(got.Body, "2 chats with 6 messages and 1 document forever") {
				t.Errorf("status %d %s, want 409 with how much it is", got.Status, got.Body)
			}
			// An answer that begins after the question how much it is does not hinder the deletion.
			size = apptest.Decode[schemas.DataSize](t, client.Must("GET", "/api/me/data", nil))
			asked, ended := make(chan struct{}, 1), make(chan apptest.Reply, 1)
			up.Push(upstream.Open(upstream.Say("Half an "), upstream.Signal(asked), upstream.Hang()))
			go func() {
				ended <- client.Ask("ann", http.MethodPost, "/api/chat", "", map[string]any{"message": "slow?", "chat_id": "three"})
			}()
			<-asked
			client.Must("DELETE", "/api/me/data?confirm="+size.Confirm, nil)
			if reply := <-ended; reply.Status < http.StatusBadRequest {
				t.Errorf("the running answer ended with status %d, want it cancelled: %s", reply.Status, reply.Body)
			}
			if left := apptest.Decode[schemas.DataSize](t, client.Must("GET", "/api/me/data", nil)); left != (schemas.DataSize{Confirm: "0-0-0"}) {
				t.Errorf("%+v is left, want nothing", left)
			}
			if kinds := exported(t, client.Must("GET", "/api/me/export", nil).Body); len(kinds) != 3 {
				t.Errorf("the export has %v, want the user, the usage of today and the end", kinds)
			}

			other := apptest.Decode[schemas.DataSize](t, client.Ask("bob", "GET", "/api/me/data", "", nil))
			if other.Chats != 1 || other.Messages != 2 {
				t.Errorf("bob has %+v, want everything", other)
			}
			bob := apptest.Decode[schemas.Me](t, client.Ask("bob", "GET", "/api/me", "", nil))
			environ := []string{"CHATTRAY_DATABASE_URL=" + url}
			for _, command := range []string{"export", "delete"} {
				if out, err := apptest.Command(t, environ, "user", command, "nobody"); err == nil || !strings.Contains(err.Error(), `nothing is stored of a user "nobody"`) || out != "" {
					t.Errorf("user %s of nobody prints %q, %v, want an error alone", command, out, err)
				}
			}
			if _, err := apptest.Command(t, environ, "user", "delete", bob.ID); err == nil || !strings.Contains(err.Error(), "1 chat with 2 messages and 0 documents forever; to do it, repeat the command with --confirm "+other.Confirm) {
				t.Errorf("the command says %v, want how much it is", err)
			}
			// The service has written text of a running answer, which the command deletes, too.
			db, gate := apptest.Open(t, url), make(chan struct{})
			journal := func() (rows int) {
				if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM journal").Scan(&rows); err != nil {
					t.Fatal(err)
				}
				return rows
			}
			up.Push(upstream.Open(upstream.Say("A secret "), upstream.Wait(gate), upstream.Say("of bob"), upstream.Finish("stop"), upstream.Done()))
			go func() {
				ended <- client.Ask("bob", http.MethodPost, "/api/chat", "", map[string]any{"message": "slow?", "chat_id": "one"})
			}()
			apptest.Eventually(t, "text of the running answer is in the journal", func() bool { return journal() > 0 })
			other = apptest.Decode[schemas.DataSize](t, client.Ask("bob", "GET", "/api/me/data", "", nil))
			out, err := apptest.Command(t, environ, "user", "delete", bob.ID, "--confirm", other.Confirm)
			if err != nil || out != "deleted 1 chats, 3 messages, 0 documents\n" {
				t.Errorf("the command prints %q, %v, want what it has deleted", out, err)
			}
			if rows := journal(); rows > 0 {
				t.Errorf("%d rows of the journal are left, with text of what was deleted, want none", rows)
			}
			// The model still waits: the service has ended the answer.
			if reply := <-ended; reply.Status < http.StatusBadRequest || !strings.Contains(reply.Body, "cancelled") {
				t.Errorf("the answer ended with status %d, want it cancelled: %s", reply.Status, reply.Body)
			}
			close(gate)
			if got := client.Ask("bob", "GET", fmt.Sprintf("/api/chats/%d", 1), "", nil); got.Status != http.StatusNotFound {
				t.Errorf("status %d, want 404", got.Status)
			}
		})
	}
}
