package transcripts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

// In the modes any and race the models that lost are stopped immediately, and
// the threads show which answer counted. The model or the page chooses the
// mode.
func TestModelsThatLose(t *testing.T) {
	fails := upstream.Stream(upstream.Delay(time.Second), upstream.Data(`{"error":{"message":"no","code":"400"}}`))
	answers := upstream.Text("I am here.")
	for _, tt := range []struct {
		name, mode string         // "" is the page's
		one        upstream.Reply // of the model that ends first
		two        upstream.Reply // of the second
		text       string
		statuses   [3]string // of the threads, by model
		takes      time.Duration
	}{
		{"race", "race", late(time.Second, answers), late(5*time.Second, answers), "## one", [3]string{"completed", "cancelled", "cancelled"}, time.Second},
		{"any takes a good answer", "any", fails, late(2*time.Second, answers), "## two", [3]string{"error", "completed", "cancelled"}, 2 * time.Second},
		{"race as the page says", "", late(time.Second, answers), late(5*time.Second, answers), "## one", [3]string{"completed", "cancelled", "cancelled"}, time.Second},
		{"race takes a failure", "race", fails, late(2*time.Second, answers), "no model answered", [3]string{"error", "cancelled", "cancelled"}, time.Second},
	} {
		for _, d := range apptest.Databases() {
			t.Run(tt.name+"/"+d.Name, func(t *testing.T) {
				page, mode := "reports", `, "mode": "`+tt.mode+`"`
				if tt.mode == "" {
					page, mode = "racing", ""
				}
				pages := pagesDir(t, &txtar.Archive{Files: []txtar.File{
					{Name: "pages/racing.yaml", Data: []byte("tools: [compare_models]\narguments: {compare_models: {mode: race}}\n")},
				}})
				first := `call compare_models {"question": "Who?"` + mode + "}\nfinish tool_calls\n"
				withFixtureOn(t, d, "CHATTRAY_MODELS=one,two,three\nCHATTRAY_PAGES="+pages, first, func(s *fixture) {
					of := func(model string) upstream.Match {
						return func(r upstream.Request) bool { return r.Model == model && len(r.Tools) == 0 }
					}
					s.up.On(of("one"), tt.one)
					s.up.On(of("two"), tt.two)
					s.up.On(of("three"), late(time.Hour, answers))
					s.up.On(upstream.Any, upstream.Text("Done."))
					began := time.Now()
					response := s.do(step{
						verb: http.MethodPost, arg: "/api/chat/stream", user: "una", body: `{"message":"Compare","chat_id":"c","context":{"current_page":"` + page + `"}}`,
					})
					if took := time.Since(began).Truncate(time.Second); took != tt.takes {
						t.Errorf("it took %s, want %s", took, tt.takes)
					}
					for i, model := range []string{"one", "two", "three"} {
						want := `"label":"` + model + `","status":"` + tt.statuses[i] + `"`
						if tt.statuses[i] == "cancelled" {
							want += `,"reason":"stopped: another answer came first"`
						}
						if !strings.Contains(response, want) {
							t.Errorf("the stream lacks %s: %s", want, response)
						}
					}
					if !strings.Contains(response, tt.text) {
						t.Errorf("the stream is %s, want %q in it", response, tt.text)
					}
					if n := s.up.Running(); n != 0 {
						t.Errorf("%d calls of models are still open, want 0", n)
					}
					messages := s.do(step{verb: http.MethodGet, arg: "/api/chat/runs/" + runOf(response) + "/stream?dialect=messages", user: "una"})
					for i, status := range tt.statuses {
						if want := strings.Count(strings.Join(tt.statuses[:], " "), status); strings.Count(threadEnds(messages), `"status":"`+status+`"`) != want {
							t.Errorf("thread %d: the threads end with %s, want %v", i, threadEnds(messages), tt.statuses)
						}
					}
				})
			})
		}
	}
}

// late is a reply that comes after a wait.
func late(d time.Duration, reply upstream.Reply) upstream.Reply {
	return upstream.Reply{upstream.Delay(d)}.Then(reply...)
}

// runOf returns the run that the header of an answer names.
func runOf(response string) string {
	_, rest, _ := strings.Cut(response, "X-Run-Id: ")
	id, _, _ := strings.Cut(rest, "\n")
	return id
}

// threadEnds returns the frames that end threads.
func threadEnds(frames string) string {
	var ends []string
	for line := range strings.SplitSeq(frames, "\n") {
		if strings.Contains(line, `"event":"thread_end"`) {
			ends = append(ends, line)
		}
	}
	return strings.Join(ends, "\n")
}
