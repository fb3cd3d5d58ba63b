package evaluations

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/evaluate"
)

// lab is what evaluations run with: a scripted model, and tools on a server.
type lab struct {
	*testing.T
	model   *upstream.Server
	environ []string
	dir     string
	looks   atomic.Int64
	books   atomic.Int64
}

const labPage = `identity: You help in the lab.
http_tools:
  - name: look
    description: Looks something up.
    url: TOOLS/look?key={{.key}}
    input_schema: {type: object, required: [key], properties: {key: {type: string}}}
  - name: book
    description: Books a place.
    method: POST
    url: TOOLS/book
    body: '{"key": {{.key}}}'
    input_schema: {type: object, required: [key], properties: {key: {type: string}}}
    idempotent: false
`

func newLab(t *testing.T, more ...string) *lab {
	t.Helper()
	l := &lab{T: t, model: upstream.New(), dir: t.TempDir()}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/book" {
			l.books.Add(1)
		} else {
			l.looks.Add(1)
		}
		_, _ = w.Write([]byte(`"from the server"`))
	}))
	t.Cleanup(server.Close)
	t.Cleanup(l.model.Close)
	pages := filepath.Join(l.dir, "lab")
	if err := os.Mkdir(pages, 0o700); err != nil {
		t.Fatal(err)
	}
	l.file("lab/lab.yaml", strings.ReplaceAll(labPage, "TOOLS", server.URL))
	l.environ = append([]string{
		"CHATTRAY_OPENAI_BASE_URL=" + l.model.URL(), "CHATTRAY_OPENAI_API_KEY=key", "CHATTRAY_PAGES=" + pages, "CHATTRAY_MODEL=small",
		"CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(l.dir, "never.db"), "CHATTRAY_DATABASE_TIMEOUT=2m", "CHATTRAY_MODEL_CONNECT_TIMEOUT=2m",
	}, more...)
	return l
}

// file writes a file and returns its path.
func (l *lab) file(name, content string) string {
	l.Helper()
	path := filepath.Join(l.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		l.Fatal(err)
	}
	return path
}

// folder makes a folder NAME.json, and returns NAME with its path.
func (l *lab) folder(name string) string {
	l.Helper()
	if err := os.Mkdir(filepath.Join(l.dir, name), 0o700); err != nil {
		l.Fatal(err)
	}
	return filepath.Join(l.dir, strings.TrimSuffix(name, ".json"))
}

// records writes records into a file and returns its path.
func (l *lab) records(list ...*evaluate.Record) string {
	l.Helper()
	lines := ""
	for _, r := range list {
		lines += jsonText(r) + "\n"
	}
	return l.file("answers.jsonl", lines)
}

// rec returns a record of the page lab.
func rec(question, answer string, checks ...evaluate.Check) *evaluate.Record {
	return &evaluate.Record{
		Version: 1, RunID: "run-" + question, MessageID: "m", Page: "lab", Context: schemas.Object{"current_page": json.RawMessage(`"lab"`)}, Question: question,
		Model: "old", SystemPrompt: "The recorded prompt.", Tools: []string{"look", "book", "gone"}, Answer: answer, Status: schemas.MessageComplete,
		Feedback: schemas.Feedback{Rating: "down"}, Usage: schemas.Usage{InputTokens: 8, OutputTokens: 2, TotalTokens: 10}, DurationMS: 1500, Checks: checks,
	}
}

// run evaluates a file and returns the report and what the command prints.
func (l *lab) run(file string, args ...string) (*evaluate.Report, string) {
	l.Helper()
	name := filepath.Join(l.dir, "report")
	out, err := apptest.Command(l.T, l.environ, append([]string{"eval", "run", file, "--parallel=1", "--output", name}, args...)...)
	if err != nil {
		l.Fatalf("eval run %v: %v", args, err)
	}
	return l.report(name), out
}

func (l *lab) report(name string) *evaluate.Report {
	l.Helper()
	raw, err := os.ReadFile(name + ".json")
	var report evaluate.Report
	if err == nil {
		err = json.Unmarshal(raw, &report)
	}
	if err != nil {
		l.Fatal(err)
	}
	if page, err := os.ReadFile(name + ".html"); err != nil || !strings.Contains(string(page), "</html>") {
		l.Errorf("the HTML report: %v, want it whole", err)
	}
	if left, _ := filepath.Glob(name + "*.part"); len(left) > 0 {
		l.Errorf("the files %v are left", left)
	}
	return &report
}

// say lets the model answer a question.
func (l *lab) say(question, answer string) {
	l.model.On(upstream.LastUser(question), upstream.Text(answer))
}

// Each verdict occurs, the ones to look at first come first, and nothing is written into the
// database of the settings.
func TestVerdicts(t *testing.T) {
	l := newLab(t)
	shelf := evaluate.Check{Contains: "SHELF"}
	file := l.records(
		rec("same?", "On shelf 7.", shelf), rec("better?", "I do not know.", shelf), rec("worse?", "On shelf 7.", shelf),
		rec("unjudged?", "A."), rec("failed?", "A.", shelf),
	)
	l.say("same?", "It is on shelf 8.")
	l.say("better?", "It is on a shelf.")
	l.say("worse?", "Nowhere.")
	l.say("unjudged?", "B.")
	l.model.On(upstream.LastUser("failed?"), upstream.Status(400, `{"error":{"message":"no"}}`))
	report, out := l.run(file)
	var got []string
	for _, i := range report.Items {
		got = append(got, string(i.Verdict)+" "+i.Record.Question)
	}
	want := []string{"worse worse?", "failed failed?", "unjudged unjudged?", "same same?", "better better?"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.HasPrefix(out, "5 questions: 1 worse, 1 failed, 1 unjudged, 1 same, 1 better, 0 left out\n") {
		t.Errorf("the command prints %q", out)
	}
	worse := report.Items[0]
	if worse.New.Text != "Nowhere." || worse.Record.Answer != "On shelf 7." || worse.New.Model != "small" || worse.New.Prompt != "recorded" ||
		worse.Checks[0].Recorded != "" || worse.Checks[0].New == "" || !slices.Equal(worse.New.MissingTools, []string{"gone"}) || worse.New.Usage.TotalTokens == 0 {
		t.Errorf("got %s", jsonText(worse))
	}
	if s := report.Summary; s.Recorded.Usage.TotalTokens != 50 || s.Recorded.DurationMS != 7500 || s.New.Usage.TotalTokens == 0 {
		t.Errorf("got the totals %+v", s)
	}
	if _, err := os.Stat(filepath.Join(l.dir, "never.db")); !os.IsNotExist(err) {
		t.Errorf("the database of the settings: %v, want it untouched", err)
	}
	for _, r := range l.model.Requests() {
		if got := r.Messages[0].Text(); got != "The recorded prompt." {
			t.Errorf("the model got the prompt %q, want the recorded one", got)
		}
	}
	if _, err := apptest.Command(t, l.environ, "eval", "run", file, "--output", filepath.Join(l.dir, "again"), "--fail-on", "better,worse"); err == nil || !strings.Contains(err.Error(), "--fail-on") {
		t.Errorf("got %v, want an error for a verdict of --fail-on", err)
	}
	if len(l.report(filepath.Join(l.dir, "again")).Items) != 5 {
		t.Error("the report is not written before the command fails")
	}
}

// called are two calls of look and one of book.
func (l *lab) called(question string) {
	l.model.On(upstream.LastUser(question).After(0), upstream.Stream(
		upstream.Call(0, "call_1", "look", `{ "key" : "a" }`), upstream.Call(1, "call_2", "book", `{"key":"b"}`), upstream.Finish("tool_calls"), upstream.Usage(5, 5), upstream.Done(),
	))
	l.model.On(upstream.LastUser(question).After(2), upstream.Text("Done."))
}

// told returns the results of tools that the model has got last.
func (l *lab) told() (texts []string) {
	requests := l.model.Requests()
	for _, m := range requests[len(requests)-1].Messages {
		if m.Role == "tool" {
			texts = append(texts, m.Text())
		}
	}
	return texts
}

// Calls get the recorded results. Those without one get a text that the model can read,
// and are counted. Nobody is asked, and no tool runs.
func TestRecordedResults(t *testing.T) {
	l := newLab(t)
	r := rec("where?", "There.", evaluate.Check{ToolCalled: &evaluate.CalledTool{Tool: "look", Arguments: schemas.Object{"key": json.RawMessage(`"a"`)}}})
	r.Calls = []evaluate.Call{{Tool: "look", Input: json.RawMessage(`{"key":"x"}`), Output: "of x"}, {Tool: "look", Input: json.RawMessage(`{"key":"a"}`), Output: "of a"}}
	r.History = []schemas.HistoryMessage{{Role: "user", Content: "hello"}, {Role: "assistant", Content: "Hi."}}
	r.Attachments = []schemas.Attachment{{Name: "a.pdf", MIME: "application/pdf", Content: "the text of the file"}}
	l.called("where?")
	report, out := l.run(l.records(r))
	if got := l.told(); len(got) != 2 || got[0] != "of a" || !strings.Contains(got[1], "no recorded result") {
		t.Errorf("the model got the results %q, want the recorded one and that there is none", got)
	}
	first := l.model.Requests()[0]
	if first.Messages[1].Text() != "hello" || first.Messages[2].Text() != "Hi." || !strings.Contains(first.Messages[3].Text(), "the text of the file") {
		t.Errorf("the model got %s, want the history and the file", jsonText(first.Messages))
	}
	item := report.Items[0]
	if item.New.UnrecordedCalls != 1 || report.Summary.UnrecordedCalls != 1 || item.Verdict != evaluate.Same || item.Record.Attachments[0].Content != "" || !strings.Contains(out, "without a recorded result: 1") {
		t.Errorf("got %s and %q", jsonText(item), out)
	}
	if l.looks.Load()+l.books.Load() > 0 {
		t.Error("a tool has run")
	}
}

// With --live tools run that change nothing; the others only with --live-writes.
func TestLive(t *testing.T) {
	l := newLab(t)
	l.called("where?")
	file := l.records(rec("where?", "There."))
	report, _ := l.run(file, "--live")
	if got := l.told(); len(got) != 2 || !strings.Contains(got[0], "from the server") || !strings.Contains(got[1], "changes are off") || l.books.Load() != 0 {
		t.Errorf("the model got %q, want a result of look, and that book is off", got)
	}
	if report.Summary.RefusedCalls != 1 || report.Setup.Tools != "live" {
		t.Errorf("got %+v, %+v, want a refused call", report.Summary, report.Setup)
	}
	l.called("where?")
	if report, _ := l.run(file, "--live", "--live-writes"); l.books.Load() != 1 || report.Summary.RefusedCalls != 0 {
		t.Errorf("book ran %d times, %+v, want once", l.books.Load(), report.Summary)
	}
}

// judge answers as a judge that sees an answer in A.
func (l *lab) judge(inA, better string) {
	l.model.On(func(r upstream.Request) bool {
		var asked struct{ A struct{ Answer string } }
		return strings.HasPrefix(r.Messages[0].Text(), "You compare two answers") && json.Unmarshal([]byte(r.Last("user").Text()), &asked) == nil && asked.A.Answer == inA
	}, upstream.Text("```json\n"+`{"better":"`+better+`","reason":"It says so."}`+"\n```"))
}

// A judge is asked in both orders; a verdict that depends on the order is none.
func TestJudge(t *testing.T) {
	l := newLab(t)
	file := l.records(rec("better?", "old 1"), rec("worse?", "old 2", evaluate.Check{Judge: "Which is newer?"}), rec("biased?", "old 3"), rec("broken?", "old 4"), rec("checked?", "old 5", evaluate.Check{Contains: "new"}))
	l.judge("old 1", "B")
	l.judge("new 1", "A")
	l.judge("old 2", "A")
	l.judge("new 2", "B")
	l.judge("old 3", "A")
	l.judge("new 3", "A")
	l.judge("old 4", "both")
	for n, question := range []string{"better?", "worse?", "biased?", "broken?", "checked?"} {
		l.say(question, "new "+string(rune('1'+n)))
	}
	report, _ := l.run(file, "--judge", "judge")
	got := map[string]*evaluate.Item{}
	for _, i := range report.Items {
		got[i.Record.Question] = i
	}
	for question, want := range map[string]evaluate.Verdict{"better?": evaluate.Better, "worse?": evaluate.Worse, "biased?": evaluate.Same, "broken?": evaluate.Unjudged, "checked?": evaluate.Better} {
		if got[question].Verdict != want {
			t.Errorf("%s: got %s, want %s", question, jsonText(got[question]), want)
		}
	}
	if j := got["biased?"].Judgements[0]; !j.Disagrees || len(j.Reasons) != 2 {
		t.Errorf("got %+v, want that the orders disagree", j)
	}
	if j := got["broken?"].Judgements[0]; !strings.Contains(j.Error, "neither A, B nor same") {
		t.Errorf("got %+v, want an error", j)
	}
	if got["worse?"].Judgements[0].Rubric != "Which is newer?" || len(got["checked?"].Judgements) != 0 || report.Summary.JudgeUsage.TotalTokens == 0 {
		t.Errorf("got %s, want the rubric, and no judge where the checks decide", jsonText(report))
	}
}

// A prompt file and a page file replace what was recorded.
func TestPromptAndPage(t *testing.T) {
	l := newLab(t)
	other := rec("other?", "A.")
	other.Page = "elsewhere"
	built := rec("built?", "A.")
	built.SystemPrompt = ""
	file := l.records(rec("lab?", "A."), other, built)
	for _, q := range []string{"lab?", "other?", "built?"} {
		l.say(q, "B.")
	}
	prompts := func(args ...string) (texts []string) {
		before := l.model.Calls()
		l.run(file, args...)
		for _, r := range l.model.Requests()[before:] {
			texts = append(texts, r.Messages[0].Text())
		}
		return texts
	}
	got := prompts("--prompt", l.file("prompt.txt", "Be short. {{prompt}}"))
	if len(got) != 3 || got[0] != "Be short. The recorded prompt." || !strings.HasPrefix(got[2], "Be short. ## IDENTITY\nYou help in the lab.") {
		t.Errorf("got the prompts %q, want the file's around the former ones", got)
	}
	got = prompts("--page", l.file("lab.yaml", "identity: You are new here.\n"))
	if len(got) != 2 || !strings.Contains(got[0], "You are new here.") {
		t.Errorf("got the prompts %q, want those of the page file, on its page", got)
	}
	if got := prompts("--limit=1"); len(got) != 1 {
		t.Errorf("got %d questions, want 1", len(got))
	}
}

// An answer that went into a document, and calls of tools that write it, are evaluated in
// the chat.
func TestDocumentAnswers(t *testing.T) {
	l := newLab(t)
	r := rec("write", "Text.")
	r.Page, r.Tools = "document", []string{"write_block", "edit_block"}
	r.Context = schemas.Object{
		"current_page": json.RawMessage(`"document"`), "document_id": json.RawMessage(`"d1"`), "mode": json.RawMessage(`"chat"`), "block_ids": json.RawMessage(`"b1"`),
	}
	r.Calls = []evaluate.Call{{Tool: "write_block", Input: json.RawMessage(`{}`), Output: "written"}}
	l.model.On(upstream.LastUser("write").After(0), upstream.Stream(
		upstream.Call(0, "call_1", "write_block", `{"type":"md","content":"long text"}`), upstream.Finish("tool_calls"), upstream.Usage(5, 5), upstream.Done(),
	))
	l.model.On(upstream.LastUser("write").After(1), upstream.Text("Done."))
	report, _ := l.run(l.records(r))
	if i := report.Items[0]; i.New.Error != nil || i.New.Text != "Done." || len(i.New.Calls) != 1 || i.New.Calls[0].Output != "written" {
		t.Errorf("got %s, want the answer and the recorded result", jsonText(i.New))
	}
}

// The cost ends an evaluation; the report says so.
func TestMaxCost(t *testing.T) {
	l := newLab(t, `CHATTRAY_MODELS=[{"name":"small","price":{"input":1000000,"output":1000000}}]`)
	file := l.records(rec("one?", "A."), rec("two?", "A."))
	l.model.On(upstream.LastUser("one?"), upstream.Stream(upstream.Say("B."), upstream.Finish("stop"), upstream.Usage(3, 2), upstream.Done()))
	report, out := l.run(file, "--max-cost=5")
	if len(report.Items) != 1 || report.Summary.LeftOut != 1 || report.Summary.New.Usage.CostUSD != 5*schemas.Dollar || !strings.Contains(out, "stopped: the limit of the cost, 5.00 US dollars, is reached") {
		t.Errorf("got %+v and %q, want one question left out", report.Summary, out)
	}
}

func TestRefusedRuns(t *testing.T) {
	l := newLab(t)
	good := l.records(rec("q?", "A."))
	judged := l.file("judged.jsonl", jsonText(rec("q?", "A.", evaluate.Check{Judge: "Which?"})))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no file":                {[]string{filepath.Join(l.dir, "none")}, "none"},
		"a wrong line":           {[]string{l.file("bad.jsonl", "{}\n")}, "line 1: has the version 0"},
		"wrong checks":           {[]string{good, "--checks", l.file("checks.json", `[{"contains":"a","matches":"b"}]`)}, "checks.json: check 1 has 2 of"},
		"checks that are none":   {[]string{good, "--checks", l.file("none.json", `{}`)}, "none.json: is not a JSON array of checks"},
		"no judge":               {[]string{judged}, "name a model with --judge"},
		"parallel":               {[]string{good, "--parallel=17"}, "--parallel must be 1 to 16"},
		"timeout":                {[]string{good, "--timeout=0s"}, "--timeout"},
		"limit":                  {[]string{good, "--limit=-1"}, "--limit"},
		"cost":                   {[]string{good, "--max-cost=-1"}, "--max-cost"},
		"cost that is no number": {[]string{good, "--max-cost=NaN"}, "--max-cost must be"},
		"cost without an end":    {[]string{good, "--max-cost=Inf"}, "--max-cost must be"},
		"cost without a price":   {[]string{good, "--max-cost=1"}, "--max-cost needs a price of the model small"},
		"writes without live":    {[]string{good, "--live-writes"}, "goes with --live"},
		"unknown verdict":        {[]string{good, "--fail-on=bad"}, `there is no verdict "bad"`},
		"no output":              {[]string{good, "--output="}, "--output"},
		"folder of the output":   {[]string{good, "--output", filepath.Join(l.dir, "no", "report")}, "no such file"},
		"no folder in the path":  {[]string{good, "--output", l.dir + "/no/../report"}, "--output: "},
		"output is a folder":     {[]string{good, "--output", l.folder("report.json")}, "report.json is a folder"},
		"empty prompt":           {[]string{good, "--prompt", l.file("empty.txt", "\n")}, "is empty"},
		"page without questions": {[]string{good, "--page", l.file("sea.yaml", "identity: x\n")}, "no question is on the page sea"},
		"page with a mistake":    {[]string{good, "--page", l.file("lab.yaml", "identitty: x\n")}, "lab.yaml:1"},
	} {
		t.Run(name, func(t *testing.T) {
			l.say("q?", "B.")
			args := append([]string{"eval", "run"}, c.args...)
			if !slices.Contains(args, "--output") && !slices.Contains(args, "--output=") {
				args = append(args, "--output", filepath.Join(l.dir, "refused"))
			}
			if _, err := apptest.Command(t, l.environ, args...); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if n := len(l.model.Requests()); n > 0 {
		t.Errorf("%d questions were asked, want none", n)
	}
	if _, err := apptest.Command(t, []string{"CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(l.dir, "x.db")}, "eval", "run", good, "--judge=j"); err == nil || !strings.Contains(err.Error(), "demo model cannot judge") {
		t.Errorf("got %v, want that the demo model cannot judge", err)
	}
}
