package transcripts

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/demo"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/services/runs"
)

// recording is a run that the playground of the page replays and that the tests
// of the web package fold: a question on a page.
type recording struct {
	name, message, context string
	// script is the transcript whose model and page answer; "" is the demo
	// model on the page of the sample data.
	script string
	roles  []string
}

var recordings = []recording{
	{name: "tools", message: "Search articles about mercury and list the reports", context: `{"current_page": "reports"}`},
	{name: "proposal", message: "Propose a schema with base editing", context: `{"current_page": "edit_stream", "active_tab": "semantic", "stream_id": 1}`, roles: []string{"admin"}},
	{name: "threads", message: "What is new?", context: `{"current_page": "lab"}`, script: "messages_5_threads"},
	{name: "reasoning", message: "think", context: `{}`},
	{name: "markdown", message: "markdown", context: `{}`},
	{name: "hostile", message: "hostile", context: `{}`},
	{name: "broken", message: "error late", context: `{}`},
	{name: "refused", message: "tool error", context: `{"current_page": "reports"}`},
}

// recordingsDir is the playground's folder of recordings.
const recordingsDir = "../../web/page/recordings"

// TestRecordings compares the playground's recordings with the service's answers in the
// dialect messages; -update records them again. Ids are written as in transcripts, times
// are those of the synctest bubble.
func TestRecordings(t *testing.T) {
	database := sampled(t, apptest.SQLite) // SQLite
	want := map[string]bool{}
	for _, r := range recordings {
		want[r.name+".json"] = true
		t.Run(r.name, func(t *testing.T) {
			var got []byte
			script := new(txtar.Archive)
			if r.script != "" {
				var err error
				if script, err = txtar.ParseFile("testdata/transcripts/" + r.script + ".txtar"); err != nil {
					t.Fatal(err)
				}
			}
			path, pages := database(t), pagesDir(t, script)
			synctest.Test(t, func(t *testing.T) { got = r.record(t, path, pages, script) })
			if t.Failed() {
				return
			}
			file := filepath.Join(recordingsDir, r.name+".json")
			if *update {
				if err := os.WriteFile(file, got, 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			kept, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(kept), "\n"), strings.Split(string(got), "\n")); d != "" {
				t.Errorf("the recording differs (-want +got; -update records it, then make web):\n%s", d)
			}
		})
	}
	files, err := os.ReadDir(recordingsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !want[f.Name()] {
			t.Errorf("%s has no recording in the table, want one", f.Name())
		}
	}
}

// record asks and returns the run: JSON with a frame in each line. The demo model's
// tools run one after the other, so that their order does not depend on the machine.
func (r recording) record(t *testing.T, database, pages string, script *txtar.Archive) []byte {
	s := newFixture(t, database, pages, script)
	if r.script == "" {
		s.options = func(o *runs.Options) {
			o.Agent = agents.New(agents.Metered(demo.New(15*time.Millisecond)), agents.Options{Parallel: 1})
		}
	}
	s.start()
	ask := step{verb: "POST", arg: "/api/chat/stream?dialect=messages", user: "una", roles: r.roles, body: `{"message": ` + quoted(r.message) + `, "context": ` + r.context + `}`}
	messages := s.frames(ask)
	s.checkRuns()
	s.stop()
	s.checkUpstream()
	s.checkLog([]step{ask})
	var out bytes.Buffer
	out.WriteString(`{"name": ` + quoted(r.name) + `, "message": ` + quoted(r.message) + `, "messages": [` + "\n")
	out.WriteString(strings.Join(messages, ",\n") + "\n]}\n")
	if !json.Valid(out.Bytes()) {
		t.Errorf("the recording is %s, want JSON", out.Bytes())
	}
	return []byte(s.aliases.named(out.String()))
}

// frames returns the frames of the answer to a step.
func (s *fixture) frames(st step) []string {
	s.t.Helper()
	x := s.request(st)
	x.run(s.client)
	s.finished(x)
	s.aliases.named("X-Run-Id: " + x.head.Get("X-Run-Id"))
	var frames []string
	for _, f := range s.contract.CheckFrames(s.t, x.body.Bytes()) {
		frames = append(frames, string(f.Data))
	}
	return frames
}

// quoted returns text as a JSON string.
func quoted(text string) string {
	b, _ := json.Marshal(text) // a string always encodes
	return string(b)
}
