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
