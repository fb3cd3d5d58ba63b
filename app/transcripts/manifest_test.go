package transcripts

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// manifestModel makes calls that end in another order than they begin, then a
// reply with its own payload and with calls, one of which is interrupted by a
// restart.
const manifestModel = `call late_chart {"seconds": 9}
call late_chart {"seconds": 1}
call late_chart {"seconds": 5}
finish tool_calls

say "Three charts."
finish stop

say "First a query.\nQUERY_SUGGESTION: {\"query\": \"gold\"}\n"
call late_chart {"seconds": 9}
call late_chart {"seconds": 1}
finish tool_calls

say "Two more."
finish stop

say "That is all."
finish stop
`

// The payloads in the prompt of the next question are in the order of the calls, as in
// the answer. A restart changes neither them nor the prompt of the run.
func TestPayloadManifest(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			database := sampled(t, d)(t)
			archive := &txtar.Archive{Files: []txtar.File{
				{Name: "settings", Data: []byte("CHATTRAY_DRAIN=1s")},
				{Name: "upstream", Data: []byte(manifestModel)},
				{Name: "pages/lab.yaml", Data: []byte("tools: [late_chart]\npayloads: [query_suggestion]\n")},
			}}
			pages := pagesDir(t, archive)
			synctest.Test(t, func(t *testing.T) {
				s := newFixture(t, database, pages, archive)
				s.start()
				defer s.stop()
				askManifest(s)
			})
		})
	}
}

func askManifest(s *fixture) {
	ask := func(name, message string) {
		s.do(step{verb: http.MethodPost, arg: "/api/chat/stream", user: "una", name: name, body: `{"message":"` + message + `","chat_id":"c","context":{"current_page":"lab"}}`})
	}
	pass := func(d time.Duration) { s.do(step{verb: "pass", arg: d.String()}) }
	ask("", "Draw")
	first := s.payloadsOfChat()
	ask("a", "More")
	pass(3 * time.Second)
	s.do(step{verb: "restart"})
	pass(time.Minute)
	s.do(step{verb: "read", arg: "a"})
	all := s.payloadsOfChat()
	ask("", "And?")
	synctest.Wait()
	if len(first) != 3 || len(all) != 6 {
		s.t.Fatalf("the chat has %v and then %v, want 3 payloads and then 6", first, all)
	}
	var got [][]string
	for _, r := range s.up.Requests() {
		got = append(got, manifestOf(r.Messages[0].Text()))
	}
	for i, want := range [][]string{nil, nil, first, first, all} {
		if i >= len(got) || !slices.Equal(got[i], want) {
			s.t.Errorf("request %d: the prompts list %v, want %v in this one", i+1, got, want)
		}
	}
	for _, id := range all {
		if response := s.do(step{verb: http.MethodGet, arg: "/api/chats/1/payloads/" + s.aliases.real(id), user: "una"}); !strings.HasPrefix(response, "200 ") {
			s.t.Errorf("the payload %s is %s", id, response)
		}
	}
}

// payloadsOfChat are the ids of the chat's payloads, in the order of its messages.
func (s *fixture) payloadsOfChat() []string {
	s.t.Helper()
	response := s.do(step{verb: http.MethodGet, arg: "/api/chats/1", user: "una"})
	var chat schemas.Chat
	if err := json.Unmarshal([]byte(response[strings.Index(response, "{"):]), &chat); err != nil {
		s.t.Fatal(err)
	}
	var ids []string
	for _, m := range chat.Messages {
		for _, p := range m.Payloads {
			ids = append(ids, p.PayloadID)
		}
	}
	return ids
}

var manifestLine = regexp.MustCompile(`(?m)^- ([0-9a-f]{8}) \(`)

// manifestOf are the ids of the payloads that a system prompt lists.
func manifestOf(system string) []string {
	var ids []string
	for _, m := range manifestLine.FindAllStringSubmatch(system, -1) {
		ids = append(ids, m[1])
	}
	return ids
}
