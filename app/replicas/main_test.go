// Package replicas runs several processes of the real program on one Postgres. Its tests
// kill, suspend and disconnect them, and check that the service's promises still hold.
package replicas

import (
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/relay/relaytest"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// onPostgres runs a test in parallel on a fresh database.
func onPostgres(t *testing.T, test func(t *testing.T, system *apptest.System)) {
	t.Helper()
	for _, d := range apptest.Databases() {
		if d.Name == "postgres" {
			t.Parallel()
			test(t, apptest.NewSystem(t, d.Fresh(t)))
			return
		}
	}
	t.Skip("no Postgres")
}

// carrier is a way in which processes send messages to each other.
type carrier struct {
	name string
	use  func(system *apptest.System)
}

var (
	none     = carrier{"none", func(*apptest.System) {}}
	overNATS = carrier{"nats", func(system *apptest.System) {
		system.NATS = relaytest.Start(system.T)
		system.Settings = append(system.Settings, "NATS_URL="+system.NATS.URL)
	}}
	// inMemory runs the services in the test's own process, so they cannot be killed.
	inMemory = carrier{"memory", func(system *apptest.System) { system.Here = new(relaytest.Memory) }}
)

// over runs a test in parallel for each of the carriers, each on a fresh database.
func over(t *testing.T, carriers []carrier, test func(t *testing.T, system *apptest.System)) {
	t.Helper()
	t.Parallel()
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			onPostgres(t, func(t *testing.T, system *apptest.System) {
				c.use(system)
				test(t, system)
			})
		})
	}
}

// one returns a question whose answer the model finishes only after the gate is open.
func one(system *apptest.System, gate <-chan struct{}, tools ...[]string) *apptest.Conversation {
	c := system.Gated("chat", "queue", gate)
	c.Plan(tools)
	return c
}

// ends waits until the conversations have ended, and checks the service's promises for
// each.
func ends(t *testing.T, system *apptest.System, all map[*apptest.Conversation]<-chan error) {
	t.Helper()
	for c, done := range all {
		if err := <-done; err != nil {
			t.Fatalf("%s, run %s: %v", c.Question, c.RunID, err)
		}
		apptest.CheckAll(t, c)
	}
	apptest.CheckInvariants(t, system)
	system.CheckScripted()
}

// attempt returns the number of a run's attempt.
func attempt(system *apptest.System, c *apptest.Conversation) int {
	return system.Number("SELECT attempt FROM runs WHERE id = $1", c.RunID)
}
