package agui

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
)

// TestContextOfAnInput has what an input says about the page: what its forwardedProps say of
// the same counts, and the agent default is no page.
func TestContextOfAnInput(t *testing.T) {
	for _, tt := range []struct{ agent, input, want string }{
		{"default", `{}`, `{}`},
		{"lab", `{}`, `{"current_page":"lab"}`},
		{"lab", `{"forwardedProps":{"context":{"current_page":"home"}}}`, `{"current_page":"home"}`},
		{"", `{"state":{"n":1},"context":[{"description":"d","value":"v"}]}`, `{"readables":[{"description":"d","value":"v"}],"state":{"n":1}}`},
		{"", `{"state":{"n":1},"context":[{"description":"d","value":"v"}],"forwardedProps":{"context":{"readables":[],"state":2}}}`, `{"readables":[],"state":2}`},
		{"", `{"state":{ },"context":[]}`, `{}`},
	} {
		c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/api/agui", http.NoBody), Body: []byte(`{"threadId":"t","runId":"r",` + tt.input[1:])}
		if tt.input == "{}" {
			c.Body = []byte(`{"threadId":"t","runId":"r"}`)
		}
		in, err := decode(c)
		if err != nil {
			t.Fatal(err)
		}
		in.agent = tt.agent
		req, err := in.request(c, schemas.Chat{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(schemas.Encode(req.Context)); got != tt.want {
			t.Errorf("agent %q, %s: the context is %s, want %s", tt.agent, tt.input, got, tt.want)
		}
	}
}

// TestFilesOfParts has the forms of files, of which some came before version 1.0, and the
// content of activities, which is no text.
func TestFilesOfParts(t *testing.T) {
	const list = `[{"type":"binary","mimeType":"text/plain","data":"aGk=","url":"https://example.org/a"},{"type":"binary","mimeType":"text/plain","url":"data:,hi"},` +
		`{"type":"document","source":{"type":"data","value":"aGk=","mimeType":"text/plain"},"metadata":{"filename":"a.txt"}},{"type":"document","source":{"type":"url","value":"data:,hi"},"metadata":{"name":"b.txt"}}]`
	in, err := decode(&wires.Call{Body: []byte(`{"threadId":"t","runId":"r","messages":[{"role":"activity","content":{"n":1}},{"role":"reasoning","content":{"n":1}},{"id":"m","role":"user","content":` + list + `}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	var req schemas.ChatRequest
	if err := in.ask(&req, 2); err != nil {
		t.Fatal(err)
	}
	file := func(name string) schemas.Attachment {
		return schemas.Attachment{Name: name, MIME: "text/plain", Content: "hi"}
	}
	if d := cmp.Diff([]schemas.Attachment{file("file-1"), file("file-2"), file("a.txt"), file("b.txt")}, req.Attachments); d != "" {
		t.Errorf("the files (-want +got):\n%s", d)
	}
}

// TestKeysOfRuns has ids of runs of every length: their keys are short enough for an
// Idempotency-Key, and long ids are found without their thread.
func TestKeysOfRuns(t *testing.T) {
	for length, want := range map[int]int{1: 1, 15: 1, 16: 2, 100: 2, 101: 2, 200: 2, 201: 2, 1000: 2} {
		list := keys(strings.Repeat("t", 64), strings.Repeat("r", length))
		if len(list) != want {
			t.Errorf("an id of %d characters has the keys %q, want %d", length, list, want)
		}
		for _, key := range list {
			if len(key) > 255 {
				t.Errorf("an id of %d characters has a key of %d bytes, want 255 at most", length, len(key))
			}
		}
	}
}
