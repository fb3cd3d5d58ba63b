package outage

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/relay/relaytest"
)

// both is a transport which sends each request that may change something to two processes at
// once.
type both struct {
	http.RoundTripper
	t     *testing.T
	hosts []string
	rest  sync.WaitGroup // reads the answers that the client does not get
}

// RoundTrip returns one of the answers: that of the process which has done what can be done once.
func (b *both) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet || !slices.Contains(b.hosts, r.URL.Host) {
		return b.RoundTripper.RoundTrip(r)
	}
	var answers [2]*http.Response
	var errs [2]error
	var sent sync.WaitGroup
	for i, host := range b.hosts {
		one := r.Clone(b.t.Context())
		one.URL.Host = host
		if r.GetBody != nil {
			one.Body, errs[i] = r.GetBody()
		}
		sent.Go(func() { answers[i], errs[i] = b.RoundTripper.RoundTrip(one) })
	}
	sent.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	first, other := answers[0], answers[1]
	if other.StatusCode < first.StatusCode {
		first, other = other, first
	}
	done := first.StatusCode == http.StatusNoContent && other.StatusCode == http.StatusNotFound || first.StatusCode == http.StatusOK && other.StatusCode == http.StatusConflict &&
		strings.HasPrefix(r.URL.Path, "/api/documents")
	if !done && other.Header.Get("Retry-After") == "" && (first.StatusCode != other.StatusCode || first.Header.Get("X-Run-Id") != other.Header.Get("X-Run-Id")) {
		b.t.Errorf("%s %s: status %d, run %q, and of the other process status %d, run %q", r.Method, r.URL.Path,
			first.StatusCode, first.Header.Get("X-Run-Id"), other.StatusCode, other.Header.Get("X-Run-Id"))
	}
	b.rest.Go(func() {
		defer other.Body.Close()
		_, _ = io.Copy(io.Discard, other.Body)
	})
	return first, nil
}

// Scenarios end as if one process had got each request, also if two get it at once.
func TestScenariosAtTwoProcesses(t *testing.T) {
	for _, d := range apptest.Databases() {
		if d.Name != "postgres" {
			continue
		}
		t.Parallel()
		system := apptest.NewSystem(t, d.Fresh(t))
		system.Pause, system.Here = time.Millisecond, new(relaytest.Memory)
		b := &both{RoundTripper: system.Client.Transport}
		for range 2 {
			b.hosts = append(b.hosts, strings.TrimPrefix(system.StartReplica(apptest.LongLease, nil).URL, "http://"))
		}
		system.Client.Transport = b
		for name, scenario := range scenarios {
			t.Run(name, func(t *testing.T) {
				b.t = t
				t.Cleanup(b.rest.Wait)
				s := &scene{T: t, system: system, chat: "chat-" + strconv.Itoa(system.Mark())}
				scenario(s)
				s.check()
			})
		}
	}
}
