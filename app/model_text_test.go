package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/settings"
)

// A model that writes too much, in a reply, in a run or in all runs together,
// ends its run with an error that says so; what was shown is kept.
func TestModelTextIsBounded(t *testing.T) {
	const piece, pieces = "0123456789abcdef", 1000
	for name, c := range map[string]struct {
		limits settings.Limits
		code   string
	}{
		"reply": {settings.Limits{ReplyText: 4096}, "upstream_error"},
		"run":   {settings.Limits{RunText: 4096}, "upstream_error"},
		"all":   {settings.Limits{AllText: 4096}, "too_many_runs"},
	} {
		t.Run(name, func(t *testing.T) {
			up := upstream.NewMemory()
			t.Cleanup(up.Close)
			s := serviceOver(t, up, piece, pieces, c.limits)
			ask := func(method, path, body string) string {
				request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
				request.Host = "localhost"
				request.Header.Set("Content-Type", "application/json")
				answer := httptest.NewRecorder()
				s.handler.ServeHTTP(answer, request)
				if answer.Code != http.StatusOK {
					t.Fatalf("%s %s gives %d: %s", method, path, answer.Code, answer.Body)
				}
				return answer.Body.String()
			}
			for _, chat := range []string{"1", "2"} { // the run's count is released
				stream := ask(http.MethodPost, "/api/chat/stream", `{"message":"go"}`)
				if shown := strings.Count(stream, piece); shown == 0 || shown > 4096/len(piece) {
					t.Errorf("%d pieces are shown", shown)
				} else if !strings.Contains(stream, `"type":"error"`) || !strings.Contains(stream, `"code":"`+c.code+`"`) {
					t.Errorf("the stream ends with %.300s", stream[max(0, len(stream)-300):])
				} else if kept := strings.Count(ask(http.MethodGet, "/api/chats/"+chat, ""), piece); kept < shown {
					t.Errorf("%d pieces are kept of %d", kept, shown)
				}
			}
			s.runs.Shutdown(t.Context()) // each run has ended, not just its stream
			if left := s.runs.ModelText(); left != 0 {
				t.Errorf("%d bytes are counted at the end", left)
			}
		})
	}
}
