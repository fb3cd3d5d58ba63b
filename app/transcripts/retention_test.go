package transcripts

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/app/apptest"
)

// Logs and traces of ended runs go after their time, and chats after theirs. An answer
// whose log has gone is still there.
func TestRetention(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			withFixtureOn(t, d, "CHATTRAY_RETENTION_LOGS=2h CHATTRAY_RETENTION_CHATS=5h\n", strings.Repeat("say \"The \"\nsay \"answer.\"\nfinish stop\n\n", 3), func(s *fixture) {
				do := func(verb, arg, body string) string {
					return s.aliases.plain(s.do(step{verb: verb, arg: arg, user: "una", roles: []string{"admin"}, body: body}))
				}
				ask := func(chat string) { do(http.MethodPost, "/api/chat/stream", `{"message":"What?","chat_id":"`+chat+`"}`) }
				pass := func(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // the time of the bubble: it passes at once
				has := func(what, got string, wants ...string) {
					t.Helper()
					for _, want := range wants {
						without, isNot := strings.CutPrefix(want, "!")
						if strings.Contains(got, without) == isNot {
							t.Errorf("%s: got %s, want %q", what, got, want)
						}
					}
				}
				log := func(n, after string) string {
					return do(http.MethodGet, "/api/chat/runs/RUN"+n+"/stream?after="+after, "")
				}

				ask("old")
				ask("used")
				run := strings.ReplaceAll(s.runs[0].id, "-", "")
				for begin := range 12 { // the run never waited
					want := map[bool]string{true: `"status": "completed"`, false: "404"}[begin == 0]
					has(fmt.Sprintf("a response that begins after the event %d", begin), do(http.MethodGet, fmt.Sprintf("/v1/responses/resp_%s_%d", run, begin), ""), want)
				}
				pass(time.Hour + 30*time.Minute)
				has("the log after an hour and a half", log("1", "0"), `"text":"The "`)
				has("the trace then", do(http.MethodGet, "/api/chat/runs/RUN1/diagnostics", ""), "200")
				ask("used")
				pass(2 * time.Hour)
				has("the log after its time", log("1", "0"), `"kept_through":0`, `"text":"The answer."`, `"type":"complete"`, `!"text":"The "`)
				has("the log for one who has seen a part of it", log("1", "4"), `"kept_through":0`, `"text":"The answer."`, `"type":"complete"`)
				has("the log for one who has seen all", log("1", "1000000"), "204")
				has("the run for a client of AG-UI", do(http.MethodGet, "/api/agui?offset=-1&runId=RUN1", ""), `"delta":"The answer."`, `"type":"RUN_FINISHED"`, `!"delta":"The "`)
				has("the response for a client of OpenAI", do(http.MethodGet, "/v1/responses/resp_"+run+"_0?stream=true", ""), `"delta":"The answer."`, `"type":"response.completed"`)
				has("the trace", do(http.MethodGet, "/api/chat/runs/RUN1/diagnostics", ""), "404")
				has("the log of another run", log("3", "0"), `"text":"The "`)
				has("the chat", do(http.MethodGet, "/api/chats/1", ""), `"The answer."`)
				pass(2*time.Hour + 30*time.Minute)
				has("the chat after its time", do(http.MethodGet, "/api/chats/1", ""), "404")
				has("the chat that was used since", do(http.MethodGet, "/api/chats/2", ""), `"The answer."`)
				has("the metrics", do(http.MethodGet, "/metrics", ""), `chattray_deleted_total{kind="chats"} 1`, `chattray_deleted_total{kind="logs"} 3`)
			})
		})
	}
}
