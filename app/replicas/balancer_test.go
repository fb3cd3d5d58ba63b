package replicas

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas/porttest"
)

// caddyfile is the file of Caddy in docker-compose.replicas.yml, for these addresses.
func caddyfile(t *testing.T, listen string, replicas ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", "docker-compose.replicas.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var compose struct {
		Configs map[string]struct{ Content string }
	}
	if err := yaml.Unmarshal(content, &compose); err != nil {
		t.Fatal(err)
	}
	file := strings.NewReplacer(":8080 {\n", "http://"+listen+" {\n", "chattray:8080 chattray-b:8080", strings.Join(replicas, " ")).Replace(compose.Configs["caddy"].Content)
	path := filepath.Join(t.TempDir(), "Caddyfile")
	if err := os.WriteFile(path, []byte("{\nadmin off\nauto_https off\n}\n"+file), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Two processes behind Caddy, as in docker-compose.replicas.yml, are replaced one after
// the other. Clients know only Caddy, which sometimes hangs up on a process while the
// client still reads; no answer fails, and no step runs twice.
func TestReplacedBehindCaddy(t *testing.T) {
	caddy, err := exec.LookPath("caddy")
	if err != nil {
		t.Skip("no Caddy")
	}
	over(t, []carrier{overNATS}, func(t *testing.T, system *apptest.System) {
		addresses := []string{porttest.Address(t), porttest.Address(t)}
		start := func(n int) *apptest.Process {
			return system.StartReplica(apptest.TakerLease, nil, "ADDR="+addresses[n], "SHUTDOWN_DELAY=3s")
		}
		processes := []*apptest.Process{start(0), start(1)}
		listen := porttest.Address(t)
		proxy := exec.CommandContext(t.Context(), caddy, "run", "--adapter", "caddyfile", "--config", caddyfile(t, listen, addresses...))
		proxy.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
		if err := proxy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = proxy.Process.Kill(); _ = proxy.Wait() })
		front := &apptest.Process{URL: "http://" + listen}
		system.OnlyUse(front)
		apptest.Eventually(t, "Caddy answers", func() bool {
			resp, err := http.Get(front.URL + "/readyz")
			if err == nil {
				_ = resp.Body.Close()
			}
			return err == nil && resp.StatusCode == http.StatusOK
		})
		ctx, cancel := context.WithTimeout(t.Context(), apptest.Limit)
		defer cancel()
		var clients sync.WaitGroup
		var enough atomic.Bool
		var ended atomic.Int64
		for n := range 4 {
			clients.Go(func() {
				for chat := 0; !enough.Load() && !t.Failed(); chat++ {
					c := system.NewConversation("chat-"+strconv.Itoa(n)+"-"+strconv.Itoa(chat), "queue")
					c.Patient, c.Proxied = true, true
					if err := c.Run(ctx); err != nil {
						t.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
						return
					}
					for _, err := range c.Check(ctx) {
						t.Errorf("%s, run %s: %v", c.Question, c.RunID, err)
					}
					ended.Add(1)
				}
			})
		}
		for n := range processes {
			before := ended.Load()
			apptest.Eventually(t, "some runs have ended", func() bool { return t.Failed() || ended.Load() >= before+3 })
			stop(t, processes[n])
			processes[n] = start(n)
			system.OnlyUse(front)
		}
		enough.Store(true)
		clients.Wait()
		t.Logf("%d runs ended", ended.Load())
		apptest.CheckInvariants(t, system)
		system.CheckScripted()
		noFailedAttempts(t, system)
	})
}
