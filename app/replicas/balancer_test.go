package replicas

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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
// the other.
func TestReplacedBehindCaddy(t *testing.T) {
	caddy, err := exec.LookPath("caddy")
	if err != nil {
		t.Skip("no Caddy")
	}
	replacedBehind(t, "3s", func(listen string, replicas []string) *exec.Cmd {
		proxy := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", caddyfile(t, listen, replicas...))
		proxy.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
		return proxy
	})
}

// While Caddy has not noticed that a process was killed, requests may fail, but the other
// process stays in use.
func TestKilledBehindCaddy(t *testing.T) {
	caddy, err := exec.LookPath("caddy")
	if err != nil {
		t.Skip("no Caddy")
	}
	serve := func() (*httptest.Server, string) {
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
		t.Cleanup(s.Close)
		return s, s.Listener.Addr().String()
	}
	killed, one := serve()
	_, two := serve()
	listen := porttest.Address(t)
	proxy := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", caddyfile(t, listen, one, two))
	proxy.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_DATA_HOME="+t.TempDir())
	startProxy(t, proxy)
	ask := func() (status int) {
		resp, err := http.Post("http://"+listen+"/api/chat", "application/json", strings.NewReader("{}"))
		if err != nil {
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	apptest.Eventually(t, "a process answers", func() bool { return ask() == http.StatusOK })
	killed.Close()
	for answered := 0; answered < 3; {
		switch ask() {
		case http.StatusOK:
			answered++
		case 0:
			t.Fatal("Caddy does not answer")
		case http.StatusServiceUnavailable:
			t.Fatal("Caddy has no process to ask, want the living one")
		}
	}
}

// startProxy starts a proxy until the test ends. It is told to stop, not killed: nginx's
// workers would outlive it.
func startProxy(t *testing.T, proxy *exec.Cmd) {
	t.Helper()
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Process.Signal(syscall.SIGTERM); _ = proxy.Wait() })
}

// manual returns what docs/operating.md says about a proxy for one process, and what it adds
// for several, with these addresses.
func manual(t *testing.T, proxy string, replicas []string) (one, several string) {
	t.Helper()
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "operating.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```"+proxy+"\n(.*?)```").FindAllSubmatch(doc, -1)
	if len(blocks) != 2 {
		t.Fatalf("docs/operating.md has %d examples of %s, want 2: for one process and for several", len(blocks), proxy)
	}
	return string(blocks[0][1]), strings.NewReplacer(" chattray:8080", " "+replicas[0], " chattray-b:8080", " "+replicas[1]).Replace(string(blocks[1][1]))
}

// nginxConf is the configuration of nginx before these addresses.
func nginxConf(t *testing.T, listen string, replicas ...string) (dir, path string) {
	t.Helper()
	one, several := manual(t, "nginx", replicas)
	upstreams, inLocation, _ := strings.Cut(several, "# in location /, in place of its proxy_pass:\n")
	location := strings.Replace(one, "    proxy_pass http://127.0.0.1:8080;\n", inLocation, 1)
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // of the test's folders
	}
	dir = t.TempDir()
	path = filepath.Join(dir, "config")
	conf := fmt.Sprintf("%s daemon off; pid %s/pid; error_log stderr;\nevents {}\nhttp {\naccess_log off; client_body_temp_path %[2]s/body; proxy_temp_path %[2]s/proxy;\n"+
		"fastcgi_temp_path %[2]s/fastcgi; uwsgi_temp_path %[2]s/uwsgi; scgi_temp_path %[2]s/scgi;\n%[3]sserver { listen %[4]s;\n%[5]s}\n}\n", user, dir, upstreams, listen, location)
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

// Two processes behind nginx, as in docs/operating.md, are replaced one after the other.
// nginx asks nobody for readiness; it sends a request that a process refuses to the other.
func TestReplacedBehindNginx(t *testing.T) {
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("no nginx")
	}
	replacedBehind(t, "0s", func(listen string, replicas []string) *exec.Cmd {
		dir, conf := nginxConf(t, listen, replicas...)
		return exec.Command(nginx, "-p", dir, "-c", conf, "-e", "stderr")
	})
}

// Two processes behind HAProxy, as in docs/operating.md, are replaced one after the other.
func TestReplacedBehindHAProxy(t *testing.T) {
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skip("no haproxy")
	}
	replacedBehind(t, "3s", func(listen string, replicas []string) *exec.Cmd {
		return exec.Command(haproxy, "-db", "-f", haproxyConf(t, listen, replicas...))
	})
}

// haproxyConf is the configuration of HAProxy before these addresses.
func haproxyConf(t *testing.T, listen string, replicas ...string) (path string) {
	t.Helper()
	one, several := manual(t, "haproxy", replicas)
	conf := strings.Replace(one, "    server chattray 127.0.0.1:8080\n", several, 1)
	conf = regexp.MustCompile("bind .*").ReplaceAllString(conf, "bind "+listen)
	path = filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// replacedBehind replaces two processes behind a balancer one after the other. Clients know
// only the balancer, which sometimes hangs up on a process while the client still reads; no
// answer fails, and no step runs twice.
func replacedBehind(t *testing.T, delay string, balancer func(listen string, replicas []string) *exec.Cmd) {
	over(t, []carrier{overNATS}, func(t *testing.T, system *apptest.System) {
		addresses := []string{porttest.Address(t), porttest.Address(t)}
		start := func(n int) *apptest.Process {
			return system.StartReplica(apptest.LongLease, nil, "ADDR="+addresses[n], "SHUTDOWN_DELAY="+delay)
		}
		processes := []*apptest.Process{start(0), start(1)}
		listen := porttest.Address(t)
		proxy := balancer(listen, addresses)
		startProxy(t, proxy)
		front := &apptest.Process{URL: "http://" + listen}
		system.OnlyUse(front)
		apptest.Eventually(t, "the balancer answers", func() bool {
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
