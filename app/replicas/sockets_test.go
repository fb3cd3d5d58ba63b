package replicas

import (
	"slices"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// A websocket that watches a chat shows each run once and in their order, whichever process
// started it, also one that has ended before it is found.
func TestSocketShowsRunsOfOthers(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		p := pair{T: t, system: system, owner: system.StartReplica(apptest.LongLease, nil), b: system.StartReplica(apptest.LongLease, nil)}
		earlier := p.asks("chat", "queue", nil)
		p.ends("completed", earlier)
		client := apptest.Client{T: t, URL: p.b.URL}
		socket := client.Dial("")
		socket.Send(`{"name":"resume","chat_id":"` + p.chat("chat") + `"}`)
		socket.Until(func(c schemas.Chunk) bool { return c.Type == schemas.ChunkStatus })
		var want, got []string
		run := ""
		ends := func(chunk schemas.Chunk) bool {
			if chunk.RunID != "" {
				run = chunk.RunID
			}
			if !apptest.IsRunEnd(chunk) {
				return false
			}
			got = append(got, run)
			return len(got) == len(want)
		}
		for n, at := range []*apptest.Process{p.owner, p.b, p.owner, p.owner, p.b, p.owner} {
			c := p.question("chat", "queue", nil)
			p.begin(at, c)
			p.ends("completed", c)
			if want = append(want, c.RunID); n%2 == 1 {
				socket.Until(ends)
			}
		}
		last := p.asks("chat", "queue", nil) // what would be shown twice comes before it
		p.ends("completed", last)
		want = append(want, last.RunID)
		socket.Until(ends)
		if !slices.Equal(got, want) {
			t.Errorf("the socket shows the runs %q, want %q", got, want)
		}
		_ = socket.Conn.CloseNow() // otherwise the process notices only by a ping that its reader has left
		apptest.CheckInvariants(t, system)
	})
}
