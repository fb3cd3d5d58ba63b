package runs_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/runs"
)

// A request that is sent twice at once may find the run that the other one has stored and
// not yet registered. It follows the run all the same.
func TestARunIsFollowedAsSoonAsItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runs.New(runs.Options{Store: runs.Stores{Commit: tended{}, Logs: unread{}}})
		defer r.Shutdown(t.Context())
		if r.Follows("run") {
			t.Error("a run that is not here is found")
		}
		r.Begin("run")
		found := make(chan bool, 1)
		go func() { found <- r.Follows("run") }()
		synctest.Wait()
		if len(found) > 0 {
			t.Fatalf("before the run is registered, readers find it here: %t, want that they wait", <-found)
		}
		r.Enlist(t.Context(), "run")
		if !<-found {
			t.Error("readers do not find a run that is here")
		}
	})
}

// A run keeps its request without the content of files, and tells requests with other files apart.
func TestARunKeepsNoFiles(t *testing.T) {
	sent := func(content string) *schemas.ChatRequest {
		return &schemas.ChatRequest{Message: "Look", Attachments: []schemas.Attachment{{Name: "a.txt", MIME: "text/plain", Content: content}}}
	}
	long := strings.Repeat("x", 100_000)
	first := sent(long)
	kept := string(schemas.Encode(runs.Light(first)))
	if len(kept) > 1000 || !strings.Contains(kept, "a.txt") || first.Attachments[0].Content != long {
		t.Errorf("%.2000s is kept, of a request with %d bytes of files", kept, len(first.Attachments[0].Content))
	}
	for _, tt := range []struct {
		content string
		same    bool
	}{{long, true}, {long + "x", false}} {
		if other := string(schemas.Encode(runs.Light(sent(tt.content)))); (other == kept) != tt.same {
			t.Errorf("a file of %d bytes gives %s, the first one %s", len(tt.content), other, kept)
		}
	}
}
