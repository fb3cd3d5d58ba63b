// Package relaytest carries messages in tests: it starts NATS servers, each in a process of
// its own, and has a carrier within one process.
package relaytest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas/porttest"
)

// startWait bounds the start of a server.
const startWait = 30 * time.Second

// Server is a NATS server that can be killed and started again under its address.
type Server struct {
	URL string
	// Config is the text of the server's file of settings, of its next start; empty for none.
	Config string

	t       testing.TB
	cmd     *exec.Cmd
	file    string // with Config
	monitor string // the address of its own figures
}

// built is the server's program, which is built once.
var built = sync.OnceValues(func() (string, error) {
	module, err := exec.CommandContext(context.Background(), "go", "env", "GOMOD").Output()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "nats-server")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "nats-server")
	build := exec.CommandContext(context.Background(), "go", "build", "-o", program, "github.com/nats-io/nats-server/v2")
	build.Dir = filepath.Join(filepath.Dir(string(module)), "relay", "server") // a module of its own
	build.Stderr = os.Stderr
	return program, build.Run()
})

// Start starts a server on a free port. It is killed at the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{URL: "nats://" + porttest.Address(t), monitor: porttest.Address(t), t: t}
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// Start starts the server, and waits until it takes connections.
func (s *Server) Start() {
	s.t.Helper()
	program, err := built()
	if err != nil {
		s.t.Fatalf("build the NATS server: %v", err)
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "nats://"))
	if err != nil {
		s.t.Fatal(err)
	}
	_, monitor, err := net.SplitHostPort(s.monitor)
	if err != nil {
		s.t.Fatal(err)
	}
	args := []string{"-a", host, "-p", port, "-m", monitor}
	if s.Config != "" {
		s.file = filepath.Join(s.t.TempDir(), "nats.conf")
		s.write()
		args = append(args, "-c", s.file)
	}
	s.cmd = exec.CommandContext(context.Background(), program, args...)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for deadline := time.Now().Add(startWait); ; <-time.After(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", net.JoinHostPort(host, port))
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the NATS server takes no connections after %v: %v", startWait, err)
		}
	}
}

func (s *Server) write() {
	s.t.Helper()
	if err := os.WriteFile(s.file, []byte(s.Config), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Reload makes the server, which was started with a Config, use the present one. It keeps
// its connections.
func (s *Server) Reload() {
	s.t.Helper()
	s.write()
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		s.t.Fatal(err)
	}
}

// Kill ends the server at once.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Connections returns how many connections there have been to the server.
func (s *Server) Connections() (total int) {
	s.t.Helper()
	resp, err := http.Get("http://" + s.monitor + "/varz")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	all := struct {
		Total int `json:"total_connections"`
	}{}
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		s.t.Fatal(err)
	}
	return all.Total
}

// Subscriptions returns how many subscriptions each connection to the server has.
func (s *Server) Subscriptions() []int {
	s.t.Helper()
	resp, err := http.Get("http://" + s.monitor + "/connz")
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var all struct {
		Connections []struct{ Subscriptions int }
	}
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		s.t.Fatal(err)
	}
	list := make([]int, len(all.Connections))
	for i, c := range all.Connections {
		list[i] = c.Subscriptions
	}
	return list
}
