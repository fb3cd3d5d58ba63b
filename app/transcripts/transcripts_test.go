package transcripts

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/chattray/chattray/app/apptest"
)

var update = flag.Bool("update", false, "write the service's answers into the files")

// A transcript is a whole conversation with the service, in a txtar file of
// testdata/transcripts: a comment that says what it shows, and the parts
//
//	settings    lines NAME=value of the environment, beside the lines of newFixture
//	upstream    what the model's server answers, in order; see parseUpstream
//	stand-ins   names of built-in tools that standIns replaces
//	numbers     the number of the first conversation, if not 1
//	transcript  steps, in lines that begin with ">", and under each the answer
//
// and any number of files pages/NAME.yaml for the setting pages. parseSteps
// says what steps there are. The service is the real one, from the settings to
// the database, with the HTTP server and client of net/http; only the
// connections are in memory and the time is the time of testing/synctest. So
// waits take no time, and time passes only while everything waits.
//
// Ids and times differ from run to run and are written as RUN1, MSG2, TIME …; steps
// may use these names. Go test with -update writes the answers again.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) < leastTranscripts {
		t.Fatalf("%d transcripts, want at least %d (%v)", len(files), leastTranscripts, err)
	}
	for _, d := range apptest.Databases() {
		database := sampled(t, d)
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar")+"/"+d.Name, func(t *testing.T) {
				t.Parallel()
				holdTranscript(t, file, database(t), *update && d.Name == "sqlite")
			})
		}
	}
}

// holdTranscript plays a transcript and compares the answers, or with -update
// writes them.
func holdTranscript(t *testing.T, file, database string, write bool) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(archive.Files, func(f txtar.File) bool { return f.Name == "transcript" })
	if at < 0 || len(bytes.TrimSpace(archive.Comment)) == 0 {
		t.Fatal("the file lacks a transcript or its comment, want both")
	}
	want, got := string(archive.Files[at].Data), ""
	pages := pagesDir(t, archive)
	numberFrom(t, database, archive)
	name := strings.TrimSuffix(filepath.Base(file), ".txtar")
	synctest.Test(t, func(t *testing.T) { got = play(t, database, pages, archive, want, name, write) })
	if got == want || t.Failed() && !write {
		return
	}
	if !write {
		t.Errorf("the transcript differs (-want +got; -update writes it):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		return
	}
	archive.Files[at].Data = []byte(got)
	if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	// leastTranscripts guards against a pattern that finds nothing.
	leastTranscripts = 60
	// leftBehind is the time in which a tool that ignores its cancel ends.
	leftBehind = time.Minute
)

// play goes through the steps of a transcript and returns it with the answers.
func play(t *testing.T, database, pages string, archive *txtar.Archive, transcript, name string, write bool) string {
	steps, err := parseSteps(transcript)
	if err != nil {
		t.Fatal(err)
	}
	s := newFixture(t, database, pages, archive)
	s.start()
	var out strings.Builder
	for _, step := range steps {
		out.WriteString(strings.Join(step.lines, "\n") + "\n")
		output := s.aliases.plain(s.do(step))
		if output = strings.TrimRight(output, "\n"); output != "" {
			out.WriteString(output + "\n\n")
		}
	}
	s.checkRuns()
	s.holdFrames(name, write)
	s.closeClients()
	s.stop()
	time.Sleep(leftBehind) //nolint:forbidigo // the time of the bubble: it passes at once
	s.checkUpstream()
	s.checkLog(steps)
	return strings.TrimRight(out.String(), "\n") + "\n"
}
