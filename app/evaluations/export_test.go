// Package evaluations tests chattray eval from a rating to the report.
package evaluations

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/evaluate"
	"github.com/chattray/chattray/store"
)

func TestMain(m *testing.M) { apptest.Main(m) }

// rated is a service with rated answers, and what its commands need.
type rated struct {
	*testing.T
	client  *apptest.Client
	model   *upstream.Server
	environ []string
}

// newRated starts a service on a database, with a page that has tools.
func newRated(t *testing.T, d apptest.Database) *rated {
	t.Helper()
	url, pages := d.Fresh(t), t.TempDir()
	page := "identity: You help in the lab.\nhttp_tools:\n" +
		"  - {name: look, description: Looks something up., url: 'http://127.0.0.1:1/look?key={{.key}}', input_schema: {type: object, required: [key], properties: {key: {type: string}}}}\n"
	if err := os.WriteFile(filepath.Join(pages, "lab.yaml"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	fixed := apptest.Database{Name: d.Name, Fresh: func(testing.TB) string { return url }}
	up := upstream.New()
	t.Cleanup(up.Close)
	more := []string{"CHATTRAY_REQUESTS_PER_MINUTE=0", "CHATTRAY_OPENAI_BASE_URL=" + up.URL(), "CHATTRAY_OPENAI_API_KEY=key", "CHATTRAY_PAGES=" + pages}
	return &rated{
		T: t, client: apptest.ServeOn(t, fixed, app.Options{}, more), model: up,
		environ: append(more, "CHATTRAY_DATABASE_URL="+url),
	}
}

// ask asks a question and rates its answer, if rating is not empty.
func (s *rated) ask(user, chat, question string, f schemas.Feedback, more map[string]any) schemas.ChatResponsePayload {
	s.Helper()
	body := map[string]any{"message": question, "chat_id": chat, "context": map[string]any{"current_page": "lab", "shelf": 7}}
	maps.Copy(body, more)
	got := s.client.Ask(user, "POST", "/api/chat", "", body)
	if got.Status != 200 {
		s.Fatalf("status %d: %s", got.Status, got.Body)
	}
	var p schemas.ChatResponsePayload
	if err := json.Unmarshal([]byte(got.Body), &p); err != nil {
		s.Fatal(err)
	}
	if f.Rating != "" {
		path := "/api/chats/" + jsonText(p.ConversationID) + "/messages/" + p.MessageID + "/feedback"
		if got := s.client.Ask(user, "POST", path, "", f); got.Status >= 300 {
			s.Fatalf("feedback: status %d: %s", got.Status, got.Body)
		}
	}
	return p
}

func jsonText(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

// export returns the records of an export.
func (s *rated) export(args ...string) []*evaluate.Record {
	s.Helper()
	out, err := apptest.Command(s.T, s.environ, append([]string{"eval", "export"}, args...)...)
	if err != nil {
		s.Fatalf("eval export %v: %v", args, err)
	}
	if out == "" {
		return nil
	}
	list, err := evaluate.Read(strings.NewReader(out), nil, 0)
	if err != nil {
		s.Fatal(err)
	}
	return list
}

func questions(list []*evaluate.Record) (texts []string) {
	for _, r := range list {
		texts = append(texts, r.Question)
	}
	return texts
}

// Rated answers are exported with everything that is known of them, by a filter, and
// without what is no longer stored.
func TestExport(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			s := newRated(t, d)
			s.model.Push(upstream.Text("Hello."))
			s.ask("ann", "one", "hi", schemas.Feedback{}, nil)
			s.model.Push(
				upstream.Stream(upstream.Call(0, "call_1", "look", `{"key":"a"}`), upstream.Finish("tool_calls")),
				upstream.Stream(upstream.Say("It is on ", "shelf 7."), upstream.Finish("stop"), upstream.Usage(10, 5)),
			)
			start := time.Now()
			p := s.ask("ann", "one", "where is a?", schemas.Feedback{Rating: "down", Reasons: []string{"sources"}, Comment: "No source."}, map[string]any{
				"attachments": []schemas.Attachment{{Name: "a.txt", MIME: "text/plain", Content: "the file"}},
			})
			s.model.Push(upstream.Text("Yes."))
			s.ask("bob", "two", "is it?", schemas.Feedback{Rating: "up"}, map[string]any{"context": map[string]any{"current_page": "other"}})

			all := s.export()
			if got := questions(all); !slices.Equal(got, []string{"where is a?", "is it?"}) {
				t.Fatalf("got the questions %q, want the two rated ones", got)
			}
			r := all[0]
			if r.RunID != p.RunID || r.MessageID != p.MessageID || r.UserID == "" || r.Page != "lab" || r.Context.Int("shelf") != 7 || r.Model == "" ||
				!strings.Contains(r.SystemPrompt, "You help in the lab.") || len(r.PromptDigest) != 64 || !slices.Contains(r.Tools, "look") ||
				r.Answer != "It is on shelf 7." || r.Status != schemas.MessageComplete || r.Usage.TotalTokens == 0 || r.CreatedAt.Before(start.Add(-time.Minute)) || r.Missing != nil {
				t.Errorf("got %s", jsonText(r))
			}
			want := []schemas.HistoryMessage{{Role: "user", Content: "hi"}, {Role: "assistant", Content: "Hello."}}
			if d := cmp.Diff(r.History, want); d != "" {
				t.Errorf("the history differs (-got +want):\n%s", d)
			}
			if len(r.Calls) != 1 || r.Calls[0].Tool != "look" || string(r.Calls[0].Input) != `{"key":"a"}` || !r.Calls[0].IsError || r.Calls[0].Output == "" {
				t.Errorf("got the calls %s, want the one with its result", jsonText(r.Calls))
			}
			if d := cmp.Diff(r.Feedback, schemas.Feedback{Rating: "down", Reasons: []string{"sources"}, Comment: "No source."}); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(r.Attachments, []schemas.Attachment{{Name: "a.txt", MIME: "text/plain", Content: "the file"}}); d != "" {
				t.Error(d)
			}

			for filter, want := range map[string][]string{
				"--rating=up": {"is it?"}, "--rating=down": {"where is a?"}, "--page=lab": {"where is a?"}, "--limit=1": {"where is a?"},
				"--since=1h": {"where is a?", "is it?"}, "--since=2999-01-01": nil, "--since=2999-01-01T00:00:00Z": nil, "--anonymous": {"where is a?", "is it?"},
			} {
				if got := questions(s.export(filter)); !slices.Equal(got, want) {
					t.Errorf("%s: got %q, want %q", filter, got, want)
				}
			}
			if r := s.export("--anonymous")[0]; r.UserID != "" {
				t.Errorf("an anonymous record has the user %q", r.UserID)
			}
			for _, wrong := range []string{"--rating=good", "--since=soon", "--limit=-1"} {
				if _, err := apptest.Command(t, s.environ, "eval", "export", wrong); err == nil {
					t.Errorf("%s is accepted", wrong)
				}
			}

			file := filepath.Join(t.TempDir(), "answers.jsonl")
			for n, wrong := range []bool{false, true} {
				_, err := apptest.Command(t, s.environ, "eval", "export", "--output", file)
				if (err != nil) != wrong {
					t.Errorf("export %d into a file: %v, want an error only for one that exists", n+1, err)
				}
			}
			if info, err := os.Stat(file); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
				t.Errorf("got the file %v, %v, want one that only its owner reads", info, err)
			}

			s.dropLogs()
			r = s.export()[0]
			if !slices.Equal(r.Missing, []string{"trace"}) || r.SystemPrompt != "" || len(r.Calls) != 1 || r.Answer == "" {
				t.Errorf("without a trace got %s, want it said, and the rest", jsonText(r))
			}
			if d := cmp.Diff(r.History, want); d != "" {
				t.Errorf("without a trace the history differs (-got +want):\n%s", d)
			}
		})
	}
}

// dropLogs deletes the logs and traces as the retention does.
func (s *rated) dropLogs() {
	s.Helper()
	data, err := store.Open(s.Context(), strings.TrimPrefix(s.environ[len(s.environ)-1], "CHATTRAY_DATABASE_URL="), store.Options{})
	if err != nil {
		s.Fatal(err)
	}
	defer data.Close()
	for at, more := int64(0), true; more; more = at > 0 {
		if at, _, err = data.DropLogs(s.Context(), at, time.Now().Add(time.Hour), time.Now()); err != nil {
			s.Fatal(err)
		}
	}
}

// Bad files are refused, with the numbers of their lines.
func TestRead(t *testing.T) {
	const good = `{"version":1,"run_id":"r","message_id":"m","conversation_id":1,"created_at":"2026-01-01T00:00:00Z","question":"q","answer":"a","status":"complete","rating":"up","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2},"duration_ms":1}`
	with := func(more string) string { return strings.TrimSuffix(good, "}") + "," + more + "}" }
	for _, c := range []struct{ file, want string }{
		{good + "\n\n" + good + "\n", ""},
		{"\uFEFF" + good + "\r\n" + good, ""},
		{good + "\n" + with(`"comment":"caf`+"\xe9"+`"`), "line 2: is not text in UTF-8"},
		{"", "the file has no records"},
		{good + "\n{\"a", "line 2: is not a record"},
		{good + "\n" + with(`"colour":1`), `line 2: is not a record: json: unknown field "colour"`},
		{good + " {}", "line 1: has more than one record"},
		{strings.Replace(good, `"version":1`, `"version":2`, 1), "line 1: has the version 2, want 1"},
		{strings.Replace(good, `"question":"q"`, `"question":""`, 1), "line 1: has no question"},
		{with(`"history":[{"role":"system","content":"x"}]`), `line 1: history: message 1 has the role "system"`},
		{"\n" + with(`"checks":[{"contains":"x"},{"matches":"("}]`), "line 2: check 2 error parsing regexp"},
		{with(`"checks":[{}]`), "line 1: check 1 has 0 of contains"},
		{with(`"checks":[{"contains":"x","judge":"y"}]`), "line 1: check 1 has 2 of contains"},
		{with(`"checks":[{"contains":"x","payload":"y"}]`), "line 1: check 1 has payload without json_schema"},
		{with(`"checks":[{"json_schema":[]}]`), "line 1: check 1 json_schema must be a JSON object"},
		{with(`"checks":[{"json_schema":{"type":7}}]`), "line 1: check 1 json_schema is not a schema"},
		{with(`"checks":[{"tool_called":{}}]`), "line 1: check 1 names no tool"},
		{with(`"checks":[` + strings.Repeat(`{"contains":"x"},`, 50) + `{"contains":"x"}]`), "line 1: 51 checks, want at most 50"},
		{"1\n2\n" + good, "line 1: is not a record"},
		{strings.Repeat("1\n", 30), "and there may be more"},
	} {
		list, err := evaluate.Read(iotest.HalfReader(strings.NewReader(c.file)), nil, 0)
		if got := ""; err != nil {
			if got = err.Error(); c.want == "" || !strings.Contains(got, c.want) {
				t.Errorf("%.80q: got %q, want %q", c.file, got, c.want)
			}
		} else if c.want != "" || len(list) != 2 {
			t.Errorf("%.80q: got %d records, want the error %q", c.file, len(list), c.want)
		}
	}
}
