package endtoend

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// A search ignores the case of all letters, on Postgres also if its database knows only a to z,
// and whatever its settings are.
func TestSearchIgnoresCase(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			if d.Name == "postgres" {
				d.Fresh = freshInC
			}
			up := upstream.NewMemory()
			up.On(upstream.Any, upstream.Text("an answer"))
			client := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted())
			for _, question := range []string{"caseprobe Über", "caseprobe über", "caseprobe uber"} {
				client.Must("POST", "/api/chat", map[string]any{"message": question})
			}
			for text, want := range map[string]int{"caseprobe über": 2, "ÜBER": 2, "Ü": 2, "caseprobe": 3} {
				list := apptest.Decode[schemas.ChatList](t, client.Must("GET", "/api/chats?q="+url.QueryEscape(text), nil))
				if len(list.Items) != want {
					t.Errorf("%q finds %d chats, want %d", text, len(list.Items), want)
				}
			}
		})
	}
}

// freshInC makes a Postgres database of the locale C in which a backslash escapes a quote.
func freshInC(t testing.TB) string {
	t.Helper()
	server := apptest.PostgresURL()
	admin, err := sql.Open("pgx", server)
	if err != nil {
		t.Fatal(err)
	}
	name := "chattray_test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	run := func(statement string) {
		if _, err := admin.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	run("CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'")
	t.Cleanup(func() {
		run("DROP DATABASE " + name + " WITH (FORCE)")
		_ = admin.Close()
	})
	run("ALTER DATABASE " + name + " SET standard_conforming_strings = off")
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}
