// Package porttest gives tests ports of this machine that they may close and open again,
// or name before a program listens on them. The system gives nobody a port of this range
// who does not ask for that one; it would do so with the ports that it chooses itself.
// Until the test ends no other test is given its port: its UDP port of the same number,
// which nothing else uses, is held as the sign of that.
package porttest

import (
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// The range of the ports, and how many of them are tried.
const (
	first, count = 10_000, 20_000
	tries        = 1_000
	// blocked is the port of the range to which browsers, and fetch of others, send nothing.
	blocked = 10_080
)

// Listen listens on a port of 127.0.0.1. The test closes it.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	var failed error
	for range tries {
		port := first + rand.IntN(count) //nolint:gosec // it guards nothing
		if port == blocked {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		sign, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", address)
		if err != nil {
			failed = err
			continue
		}
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err == nil {
			t.Cleanup(func() { sign.Close() })
			return listener
		}
		sign.Close()
		failed = err
	}
	t.Fatalf("no port is free: %v", failed)
	return nil
}

// Address returns an address of 127.0.0.1 on which nothing listens.
func Address(t testing.TB) string {
	t.Helper()
	listener := Listen(t)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}
