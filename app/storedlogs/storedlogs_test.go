// Package storedlogs tests that logs stored by an earlier version are shown as
// that version showed them.
package storedlogs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/tools/txtar"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
)

// The files of testdata. The database on SQLite and the streams were made by a program
// whose segments have version 1: with the demo model, without settings, it had
// the runs that runs.json names (tools with markers, a failed call, reasoning,
// payloads of the text and of tools, an approval given, denied and cancelled, a
// tool of the page, a document changed, answers into blocks and into documents,
// a failed run, a cancelled one, one that reached its limit of tokens). Those
// called resumed-… were killed with their process and continued by the next
// one; those called left-… were running when the last process was killed. Data
// that no log needs was deleted: the sample data, the payloads and tool calls
// of ended runs, and the traces of all but the runs in traced; the approval
// that left-approval waits for was made to expire. The dump of Postgres has the tables of
// that version and the same rows. The streams were recorded by this test in that version,
// with -update.
const (
	stored   = "testdata/version1." // and the kind of the database, and .gz
	recorded = "testdata/version1.txtar.gz"
	names    = "testdata/runs.json"
)

// traced are the runs that have a trace.
var traced = []string{"approved", "columns", "failed-late", "cancelled", "resumed-approval"}

// wait bounds each request.
const wait = time.Minute

var update = flag.Bool("update", false, "record the streams again")

func TestStoredLogsOfVersion1(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) { compareStreams(t, d) })
	}
}

func compareStreams(t *testing.T, d apptest.Database) {
	t.Helper()
	runs := readRuns(t)
	got := new(txtar.Archive)
	for _, diagnostics := range []string{"admin", "off"} {
		base := start(t, d, diagnostics)
		for _, name := range slices.Sorted(maps.Keys(runs)) {
			if strings.HasPrefix(name, "left-") || diagnostics == "admin" && !slices.Contains(traced, name) {
				continue
			}
			for _, dialect := range []string{"chat", "messages"} {
				shown := apptest.Get(t, base+"/api/chat/runs/"+runs[name]+"/stream?dialect="+dialect)
				got.Files = append(got.Files, txtar.File{Name: name + "/" + dialect + "/diagnostics-" + diagnostics, Data: []byte(shown)})
			}
			if diagnostics == "off" {
				got.Files = append(got.Files, txtar.File{Name: name + "/blocks", Data: chunks(t, base, runs[name])})
			}
		}
	}
	if *update {
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level exists
		_, err := w.Write(txtar.Format(got))
		if err := errors.Join(err, w.Close(), os.WriteFile(recorded, packed.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	want := txtar.Parse(apptest.Unpacked(t, recorded))
	if len(want.Files) != len(got.Files) {
		t.Fatalf("got %d streams, want %d", len(got.Files), len(want.Files))
	}
	for i, w := range want.Files {
		g := txtar.Parse(txtar.Format(&txtar.Archive{Files: got.Files[i : i+1]})).Files[0]
		if g.Name != w.Name || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("%s: got %d bytes, want %d; they differ first at\n got %s\nwant %s", w.Name, len(g.Data), len(w.Data), at(g.Data, w.Data), at(w.Data, g.Data))
		}
	}
}

// TestRunsOfVersion1Continue continues runs whose logs were begun by an earlier
// version.
func TestRunsOfVersion1Continue(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) { continueRuns(t, d) })
	}
}

func continueRuns(t *testing.T, d apptest.Database) {
	t.Helper()
	runs, base := readRuns(t), start(t, d, "off")
	for name, wanted := range map[string]string{
		"left-text": `"text":"30"`, "left-approval": "did not approve", "left-tools": "[[tool:1]]",
	} {
		t.Run(name, func(t *testing.T) {
			stream := apptest.Get(t, base+"/api/chat/runs/"+runs[name]+"/stream")
			text, end := "", ""
			for line := range strings.Lines(stream) {
				data, ok := strings.CutPrefix(line, "data: ")
				var e struct {
					Type, Text string
					Payload    struct{ Message string }
				}
				if !ok || json.Unmarshal([]byte(data), &e) != nil {
					continue
				}
				switch e.Type {
				case "text_delta":
					text += e.Text
				case "status":
					if strings.Contains(data, `"kept_through"`) {
						text = e.Text
					}
				}
				if end = e.Type; end == "complete" && e.Payload.Message != strings.TrimSpace(text) {
					t.Errorf("the text of the events is %q, want %q as in the answer", text, e.Payload.Message)
				}
			}
			if end != "complete" || !strings.Contains(string(stream), `"attempt":2`) || !strings.Contains(string(stream), wanted) {
				t.Errorf("got a stream that ends with %q, want complete, a second attempt and %q in\n%s", end, wanted, stream)
			}
		})
	}
}

// at returns the bytes of a around the first difference from b.
func at(a, b []byte) []byte {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[max(0, n-100):min(len(a), n+200)]
}

// start starts the service over a copy of the database and returns its address.
func start(t *testing.T, d apptest.Database, diagnostics string) string {
	t.Helper()
	return apptest.ServeWith(t, []string{
		"CHATTRAY_DATABASE_URL=" + d.Load(t, apptest.Unpacked(t, stored+d.Name+".gz")), "CHATTRAY_DIAGNOSTICS=" + diagnostics, "CHATTRAY_DRAIN=1s",
		"CHATTRAY_REQUESTS_PER_MINUTE=0", "CHATTRAY_OTHER_REQUESTS_PER_MINUTE=0", "CHATTRAY_RETENTION_LOGS=0", // the logs are old
	}, app.Options{})
}

// chunks returns what the websocket shows of a run, a chunk a line.
func chunks(t *testing.T, base, run string) []byte {
	t.Helper()
	ctx, done := context.WithTimeout(t.Context(), wait)
	defer done()
	conn, answer, err := websocket.Dial(ctx, base+"/api/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer.Body != nil {
		defer answer.Body.Close()
	}
	defer conn.CloseNow() //nolint:errcheck // the run has been read
	conn.SetReadLimit(16 << 20)
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"name":"resume","run_id":"`+run+`"}`)); err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	for {
		_, chunk, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("reading the socket: %v, after\n%s", err, &list)
		}
		list.Write(append(bytes.TrimSpace(chunk), '\n'))
		if bytes.Contains(chunk, []byte(`"run_end"`)) {
			return list.Bytes()
		}
	}
}

// readRuns returns the ids of the runs by their names.
func readRuns(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(names)
	if err != nil {
		t.Fatal(err)
	}
	runs := make(map[string]string)
	if err := json.Unmarshal(data, &runs); err != nil {
		t.Fatal(err)
	}
	return runs
}
