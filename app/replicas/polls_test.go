package replicas

import (
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

const (
	// watched is how long statements are counted; the others are how many there may be in a
	// second. Postgres counts some statements late, so one window may have earlier ones, but
	// not all windows do.
	watched     = 6 * time.Second
	windows     = 4
	mostOfIdle  = 20
	mostOfWaits = 30
)

// A replica with nothing to do asks the database at most twenty times a second, and one
// with runs that only wait not much more often.
func TestStatementsOfAnIdleReplica(t *testing.T) {
	onPostgres(t, func(t *testing.T, system *apptest.System) {
		process := apptest.StartProcess(t, append(system.Settings, "REPLICAS=many")...) // with the default lease
		p := pair{T: t, system: system, owner: process, b: process}
		count := func(what string, most float64) {
			t.Helper()
			for range windows {
				began, before := time.Now(), transactions(system)
				<-time.After(watched) // the time of the measurement, not a wait for something
				perSecond := float64(transactions(system)-before) / time.Since(began).Seconds()
				t.Logf("%s: %.1f statements a second", what, perSecond)
				if perSecond <= most {
					return
				}
			}
			t.Errorf("%s: always more statements a second, want at most %v", what, most)
		}
		count("nothing to do", mostOfIdle)

		waits := p.question("chat", "queue", nil)
		waits.Plan([][]string{{"order"}})
		p.begin(process, waits)
		p.becomes("waiting", waits)
		p.asks("chat", "queue", nil)
		client := apptest.Client{T: t, URL: process.URL}
		socket := client.Dial("")
		socket.Send(`{"name":"resume","chat_id":"nothing"}`)
		socket.Until(func(c schemas.Chunk) bool { return c.Type == schemas.ChunkStatus })
		count("a run that waits for its user, one for its turn, and a watched chat", mostOfWaits)
	})
}

// transactions returns the number of transactions that the database has ended. Each
// statement of a poll is one.
func transactions(system *apptest.System) int {
	return system.Number("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()")
}
