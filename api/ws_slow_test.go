package api_test

import (
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
)

// A websocket waits for a slow client as long as a stream, not as other answers.
func TestSocketWaitsAsAStream(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.WriteWait, o.StreamWait = time.Nanosecond, patience })
	conn := dialSocket(t, ts)
	if got := exchange(t, conn, pause); got.Type != schemas.ChunkStatus {
		t.Errorf("the socket answers with %q, want %q", got.Type, schemas.ChunkStatus)
	}
}
