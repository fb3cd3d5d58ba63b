//go:build wireclients

package wireclients

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chattray/chattray/app/apptest"
)

// host is a process that runs the cases of one driver, one after the other: host.mjs.
type host struct {
	driver     string
	node       *exec.Cmd
	in         io.WriteCloser
	said       *bufio.Scanner
	complaints apptest.Buffer // what it writes beside its results, of all its cases
}

// hosts are the hosts without a case, the one that was used last at the end.
var hosts struct {
	mu   sync.Mutex
	idle []*host
}

// maxIdle bounds the memory of idle hosts: one with the modules of all clients takes up to
// 200 MiB.
const maxIdle = 8

// hostOf returns an idle host of the driver, or starts one.
func hostOf(t *testing.T, driver string) *host {
	t.Helper()
	hosts.mu.Lock()
	defer hosts.mu.Unlock()
	for i, h := range slices.Backward(hosts.idle) {
		if h.driver == driver {
			hosts.idle = slices.Delete(hosts.idle, i, i+1)
			return h
		}
	}
	node := exec.Command("node", "host.mjs", driver) // it outlives the test, and ends with its input
	h := &host{driver: driver, node: node}
	node.Dir, node.Stderr = clients, &h.complaints
	h.in, h.said = started(t, node)
	return h
}

// started starts a process and returns its input and the lines that it writes.
func started(t *testing.T, c *exec.Cmd) (in io.WriteCloser, said *bufio.Scanner) {
	t.Helper()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return in, bufio.NewScanner(out)
}

// run runs a case with the service at url and returns what the client shows and what the
// chat has. It calls at where the client waits for the test. The client knows the run of
// another user, "" for none.
func (h *host) run(t *testing.T, client, url, name, others string, at func(point string)) (shown, stored []string) {
	t.Helper()
	begin, err := json.Marshal(map[string]string{"client": client, "url": url, "name": name, "run": others})
	if err != nil {
		t.Fatal(err)
	}
	h.say(t, string(begin))
	last := "nothing"
	for h.said.Scan() {
		last = h.said.Text()
		if point, waits := strings.CutPrefix(last, "at "); waits {
			at(point)
			h.say(t, "")
		} else if strings.HasPrefix(last, "done ") || strings.HasPrefix(last, "failed ") {
			break
		}
	}
	result, ok := strings.CutPrefix(last, "done ")
	if !ok {
		h.end() // what a failed case leaves is unknown
		t.Fatalf("the client ended with %q\n%s", last, h.complaints.String())
	}
	var got struct{ Client, Stored []string }
	if err := json.Unmarshal([]byte(result), &got); err != nil {
		t.Fatal(err)
	}
	h.rest()
	return got.Client, got.Stored
}

func (h *host) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		t.Fatalf("the host of %s is gone: %v\n%s", h.driver, err, h.complaints.String())
	}
}

// rest makes the host available to the next case of its client.
func (h *host) rest() {
	hosts.mu.Lock()
	defer hosts.mu.Unlock()
	hosts.idle = append(hosts.idle, h)
	if len(hosts.idle) > maxIdle {
		hosts.idle[0].end()
		hosts.idle = slices.Delete(hosts.idle, 0, 1)
	}
}

// end ends a host that runs no case.
func (h *host) end() {
	_ = h.in.Close()
	_ = h.node.Wait()
}
