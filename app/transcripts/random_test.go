package transcripts

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/chattray/chattray/app/apptest"
)

// randomRuns is how many runs TestRandomRuns generates; fewer with -short.
const randomRuns = 100

// TestRandomRuns checks random runs with the checks of transcripts. Each run is followed in
// both dialects by several clients, some of which reconnect, and completes, fails or is
// cancelled. Both dialects give the same text and every level is closed. A failure names
// its seed.
func TestRandomRuns(t *testing.T) {
	database := sampled(t, apptest.SQLite)
	runs := uint64(randomRuns)
	if testing.Short() {
		runs /= 5
	}
	for seed := range runs {
		t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
			t.Parallel()
			archive, steps := madeUp(rand.New(rand.NewPCG(seed, 4)))
			url, pages := database(t), pagesDir(t, archive)
			synctest.Test(t, func(t *testing.T) { playMadeUp(t, url, pages, archive, steps) })
			if t.Failed() {
				t.Logf("the run:\n%s\n%s", txtar.Format(archive), steps)
			}
		})
	}
}

// TestRandomWaits checks random runs that wait for the user and for the page: they are
// granted, denied, answered or left to expire, several at once, also after a restart, until
// the run is cancelled. Every wire pauses for each of them and for nothing else.
func TestRandomWaits(t *testing.T) {
	database := sampled(t, apptest.SQLite)
	runs := uint64(randomRuns)
	if testing.Short() {
		runs /= 5
	}
	for seed := range runs {
		t.Run(fmt.Sprintf("seed_%d", seed), func(t *testing.T) {
			t.Parallel()
			archive, steps := madeUpWaits(rand.New(rand.NewPCG(seed, 5)))
			url, pages := database(t), pagesDir(t, archive)
			synctest.Test(t, func(t *testing.T) { playMadeUp(t, url, pages, archive, steps) })
			if t.Failed() {
				t.Logf("the run:\n%s\n%s", txtar.Format(archive), steps)
			}
		})
	}
}

// madeUpWaits generates replies that call what waits, and answers to that.
func madeUpWaits(r *rand.Rand) (*txtar.Archive, string) {
	var up, steps strings.Builder
	calls := 0
	for range 1 + r.IntN(3) {
		speak(r, &up)
		waits := []string{"call reserve {\"seat\": \"12A\"}\n", "call where {}\n"}[r.IntN(2)]
		for range 1 + r.IntN(3) {
			calls++
			up.WriteString([]string{waits, waits, "call wait {\"seconds\": 2}\n", "call panic {}\n", "call chart {}\n"}[r.IntN(5)])
		}
		up.WriteString("finish tool_calls\n\n")
	}
	speak(r, &up)
	up.WriteString("say \"Done.\"\nfinish stop\n")
	steps.WriteString("> &a POST /api/chat/stream\n> {\"message\": \"Go on\", \"context\": {\"current_page\": \"lab\"}, \"client_tools\": [{\"name\": \"where\", \"description\": \"x\", \"input_schema\": {\"type\": \"object\"}}]}\n> read a\n")
	reader := "a"
	for range 3 + r.IntN(6) {
		fmt.Fprintf(&steps, "> pass %dms\n", []int{1, 700, 3000, 100_000}[r.IntN(4)])
		if reader < "d" && r.IntN(5) == 0 {
			fmt.Fprintf(&steps, "> restart\n> read %s\n", reader)
			reader = string(reader[0] + 1)
			fmt.Fprintf(&steps, "> &%s GET /api/chat/runs/RUN1/stream\n", reader)
		} else if r.IntN(2) == 0 {
			fmt.Fprintf(&steps, "> POST /api/chat/runs/RUN1/approvals/ASK%d\n> {\"approved\": %v}\n", 1+r.IntN(calls), r.IntN(3) > 0)
		} else {
			fmt.Fprintf(&steps, "> POST /api/chat/runs/RUN1/tool_results\n> {\"tool_use_id\": \"call_%d\", \"output\": \"Basel\", \"is_error\": %v}\n", 1+r.IntN(calls), r.IntN(4) == 0)
		}
		steps.WriteString("> read " + reader + "\n")
	}
	steps.WriteString("> pass 10m\n> POST /api/chat/runs/RUN1/cancel\n> pass 2s\n> read " + reader + "\n")
	page := txtar.File{Name: "pages/lab.yaml", Data: []byte("tools: [reserve]\n")}
	return &txtar.Archive{Files: []txtar.File{page, {Name: "upstream", Data: []byte(up.String())}}}, steps.String()
}

// playMadeUp is play for a random run, whose answers are not known in advance.
func playMadeUp(t *testing.T, url, pages string, archive *txtar.Archive, transcript string) {
	steps, err := parseSteps(transcript)
	if err != nil {
		t.Fatal(err)
	}
	s := newFixture(t, url, pages, archive)
	s.start()
	for _, step := range steps {
		if step.verb == "read" && s.open[step.arg] == nil {
			continue // it has been read to its end
		}
		s.aliases.plain(s.do(step))
	}
	s.checkRuns()
	s.closeClients()
	s.stop()
	time.Sleep(leftBehind) //nolint:forbidigo // the time of the bubble: it passes at once
	if len(s.runs) != 1 || s.up.Running() != 0 {
		t.Errorf("%d runs, %d replies of the model's server under way; want 1, 0", len(s.runs), s.up.Running())
	}
}

// madeUp generates random replies of the model's server and random steps of clients.
func madeUp(r *rand.Rand) (*txtar.Archive, string) {
	var up strings.Builder
	for range r.IntN(4) {
		speak(r, &up)
		for range 1 + r.IntN(3) {
			up.WriteString([]string{
				"call count {\"to\": 3}\n", "call wait {\"seconds\": 2}\n", "call panic {}\n", "call chart {}\n", "call wait_alone {\"seconds\": 1}\n",
			}[r.IntN(5)])
		}
		up.WriteString("finish tool_calls\n\n")
	}
	speak(r, &up)
	up.WriteString([]string{"finish stop\n", "finish stop\n", "finish length\n", "say \"And\"\nabort\n", "hang\n"}[r.IntN(5)])
	steps := "> &a POST /api/chat/stream\n> {\"message\": \"Go on\", \"context\": {\"current_page\": \"streams\"}}\n" +
		"> read a\n> &b GET /api/chat/runs/RUN1/stream?dialect=messages\n"
	last := "> read a\n> read b\n"
	if r.IntN(2) == 0 {
		last += "> read c\n"
		steps += fmt.Sprintf("> pass %dms\n> close b\n> &c GET /api/chat/runs/RUN1/stream?dialect=messages&after=%d\n", r.IntN(4000), r.IntN(9))
	}
	steps += fmt.Sprintf("> pass %dms\n> POST /api/chat/runs/RUN1/cancel\n> pass 2s\n", r.IntN(20_000)) + last
	return &txtar.Archive{Files: []txtar.File{{Name: "upstream", Data: []byte(up.String())}}}, steps
}

// speak generates the text of a reply.
func speak(r *rand.Rand, up *strings.Builder) {
	for range r.IntN(4) {
		up.WriteString([]string{
			"say \"It is\" \" so.\"\n", "think \"Hm,\" \" well.\"\n", "delay 1s\n", "say \"\\n\\n[[tool:9]] \"\n", "delay 700ms\n",
			"say \"Then\\n\\nSTREAM_SUGGESTIONS: {\\\"a\\\": [1\" \"]}\\nmore.\"\n",
		}[r.IntN(6)])
	}
}
