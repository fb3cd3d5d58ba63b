package sockets

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// A question that is sent again shows its answer to the socket that asks, and to no other
// one: those that watch the chat have it already.
func TestRepeatedQuestionIsShownOnce(t *testing.T) {
	d, up := apptest.ServeScripted(t)
	watcher := watching(d, "c1")
	up.Push(upstream.Text("Once. "))
	const question = `{"name":"message","id":"m1","message":{"content":"Go"},"chat_id":"c1"}`
	asking := d.Dial("ann")
	asking.Send(question)
	asking.Until(apptest.IsRunEnd)
	watcher.Until(apptest.IsRunEnd)

	back := d.Dial("ann")
	back.Send(question)
	if got := apptest.JoinContent(back.Until(apptest.IsRunEnd), ""); got != "Once. " {
		t.Errorf("the socket that asks again gets %q, want the answer", got)
	}
	up.Push(upstream.Text("Over HTTP. "))
	for range 3 {
		again(d)
	}
	up.Push(upstream.Text("Last."))
	d.Must("POST", "/api/chat", map[string]any{"message": "End", "chat_id": "c1"})
	last := func(c schemas.Chunk) bool { return apptest.IsContent(c) && *c.Content == "Last." }
	for name, socket := range map[string]*apptest.Socket{"another socket": watcher, "the socket that asks again": back} {
		socket.Until(last)
		if got, want := apptest.JoinContent(socket.Seen, ""), "Once. Over HTTP. Last."; got != want {
			t.Errorf("%s shows %q, want %q", name, got, want)
		}
	}
}

// again asks over HTTP, each time under the same key.
func again(d *apptest.Client) {
	d.Helper()
	req, err := http.NewRequestWithContext(d.Context(), http.MethodPost, d.URL+"/api/chat", strings.NewReader(`{"message":"And","chat_id":"c1"}`))
	if err != nil {
		d.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+d.Tokens["ann"])
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", "k1")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		d.Fatalf("asking again: status %d", answer.StatusCode)
	}
}

// watching is a socket that watches a chat.
func watching(d *apptest.Client, chat string) *apptest.Socket {
	s := d.Dial("ann")
	s.Send(fmt.Sprintf(`{"name":"resume","id":"watch","chat_id":%q}`, chat))
	s.Until(func(c schemas.Chunk) bool { return c.Type == schemas.ChunkAck })
	return s
}

// A socket that comes back after many answers gets all of them, in their order, and then
// the next one.
func TestSocketComesBackAfterManyRuns(t *testing.T) {
	const missed = 70
	d, up := apptest.ServeScripted(t)
	up.On(upstream.Any, upstream.Text("Answer."))
	ask := func(n int) { d.Must("POST", "/api/chat", map[string]any{"message": fmt.Sprint(n), "chat_id": "c1"}) }
	first := watching(d, "c1")
	ask(0)
	run := first.Until(apptest.IsRunEnd)[0].RunID
	for n := range missed {
		ask(n + 1)
	}
	back := d.Dial("ann")
	back.Send(fmt.Sprintf(`{"name":"resume","id":"back","run_id":%q,"after":1}`, run))
	back.Until(func(c schemas.Chunk) bool { return c.Type == schemas.ChunkAck })
	ask(missed + 1)
	for range missed + 1 {
		first.Until(apptest.IsRunEnd)
	}
	want := ended(first)
	back.Until(func(c schemas.Chunk) bool { return apptest.IsRunEnd(c) && c.RunID == want[len(want)-1] })
	got := ended(back)
	if !slices.Equal(got, want) {
		t.Errorf("the socket that comes back shows %d runs\n%s\nwant %d\n%s", len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
	}
}

// ended returns the runs whose ends a socket has got.
func ended(s *apptest.Socket) (runs []string) {
	for _, c := range s.Seen {
		if apptest.IsRunEnd(c) {
			runs = append(runs, c.RunID)
		}
	}
	return runs
}
