package relay_test

import (
	"testing"

	"github.com/chattray/chattray/relay/relaytest"
)

// A message is on its way when Send returns: it does not wait for another goroutine.
func TestSendWrites(t *testing.T) {
	n := connect(t, relaytest.Start(t).URL, "s")
	for range 1000 {
		if err := n.Send("other", []byte("message")); err != nil {
			t.Fatal(err)
		}
		if waits, err := n.Waiting(); waits > 0 || err != nil {
			t.Fatalf("%d bytes wait, %v; want none", waits, err)
		}
	}
}
