package apptest

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chattray/chattray/api/apitest"
	"github.com/chattray/chattray/schemas"
)

// ToolMark is the marker of a tool call in a text.
var ToolMark = regexp.MustCompile(`\[\[tool:(\d+)\]\]`)

// anyEvent has the fields of all events of the dialect chat that the checks
// need.
type anyEvent struct {
	Type     string  `json:"type"`
	Message  string  `json:"message"`
	Text     *string `json:"text"`
	Tool     string  `json:"tool"`
	Index    int     `json:"index"`
	Stage    string  `json:"stage"`
	Progress float64 `json:"progress"`
	Attempt  int     `json:"attempt"`
	Kept     int64   `json:"kept_through"`
	Denied   bool    `json:"denied"`
	Payload  schemas.ChatResponsePayload
}

// counting returns the events that count: those of the last attempt, and the events
// of earlier attempts that were kept.
func counting(frames []apitest.Frame) []anyEvent {
	var events []anyEvent
	var ids []int64
	for _, f := range frames {
		var e anyEvent
		_ = json.Unmarshal(f.Data, &e) // the contract check has decoded it before
		if e.Attempt > 1 {
			n := 0
			for n < len(ids) && ids[n] <= e.Kept {
				n++
			}
			events, ids = events[:n], ids[:n]
		}
		events, ids = append(events, e), append(ids, f.ID)
	}
	return events
}

// JoinedText returns the text of a run: the text that a recovery has kept, and
// the text of its text_delta events.
func JoinedText(frames []apitest.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		var e anyEvent
		_ = json.Unmarshal(f.Data, &e) // the contract check has decoded it before
		switch {
		case e.Attempt > 1:
			b.Reset()
			b.WriteString(*e.Text)
		case e.Type == schemas.TypeTextDelta:
			b.WriteString(*e.Text)
		}
	}
	return strings.TrimSpace(b.String())
}

// CheckUnion checks that the frames of a stream are a piece of the log, without a
// gap.
func CheckUnion(t testing.TB, log, live []apitest.Frame) {
	t.Helper()
	if len(live) == 0 {
		return
	}
	from := 0
	for from < len(log) && log[from].ID < live[0].ID {
		from++
	}
	for i, f := range live {
		if from+i >= len(log) || log[from+i].ID != f.ID || !bytes.Equal(log[from+i].Data, f.Data) {
			t.Errorf("event %d of a stream is %s, want the event that the log has at its place", f.ID, f.Data)
			return
		}
	}
}

// CheckFrames checks the whole log of a run: the rules of apitest.CheckRun, and
// how tools are shown.
func CheckFrames(t testing.TB, frames []apitest.Frame) {
	t.Helper()
	events := counting(frames)
	last := events[len(events)-1]
	if e := events[0]; e.Type != schemas.TypeStatus || e.Message != "Thinking..." {
		t.Errorf("the first event is %+v, want the status Thinking...", e)
	}
	if frames[0].ID != 1 {
		t.Errorf("the first event has id %d, want 1", frames[0].ID)
	}
	text := JoinedText(frames)
	if last.Type == schemas.TypeComplete && last.Payload.Message != text {
		t.Errorf("payload.message is %q, want the text %q", last.Payload.Message, text)
	}
	tools := toolsShown(t, events)
	if last.Type == schemas.TypeComplete {
		checkComplete(t, last.Payload, tools)
	}
	at := ToolMark.FindAllStringSubmatchIndex(text, -1)
	for n, m := range at {
		if text[m[2]:m[3]] != strconv.Itoa(n) {
			t.Errorf("marker %d of the text is %s, want [[tool:%d]]", n, text[m[0]:m[1]], n)
		}
		before, after := text[:m[0]], text[m[1]:]
		if before != "" && !strings.HasSuffix(before, "\n\n") || after != "" && !strings.HasPrefix(after, "\n\n") {
			t.Errorf("the text around marker %d is %q, want a blank line before and after it", n, text)
		}
		if strings.HasSuffix(before, "\n\n\n") || strings.HasPrefix(after, "\n\n\n") {
			t.Errorf("the text around marker %d is %q, want no more than one blank line", n, text)
		}
	}
	if last.Type == schemas.TypeComplete && len(at) != len(tools) {
		t.Errorf("the text has %d markers, want %d, one for each tool", len(at), len(tools))
	}
}

// shownTool is the state of a tool call in the events.
type shownTool struct {
	name      string
	progress  float64
	completed bool
}

// toolsShown checks the events of tools and returns the tools by index.
func toolsShown(t testing.TB, events []anyEvent) map[int]*shownTool {
	t.Helper()
	tools := map[int]*shownTool{}
	for i, e := range events {
		if e.Attempt > 1 { // calls that were not done begin again
			maps.DeleteFunc(tools, func(_ int, t *shownTool) bool { return !t.completed })
		}
		tool := tools[e.Index]
		switch e.Type {
		case schemas.TypeToolStart:
			if tool != nil {
				t.Errorf("tool %d starts twice, want one tool_start", e.Index)
			}
			tools[e.Index] = &shownTool{name: e.Tool}
			if before := events[i-1]; e.Denied && before.Type == schemas.TypeStatus {
				t.Errorf("the event before tool_start of %s, which was denied, is %+v", e.Tool, before)
			} else if !e.Denied && (before.Type != schemas.TypeStatus || before.Message != "Running "+e.Tool+"...") {
				t.Errorf("the event before tool_start of %s is %+v, want the status that it runs", e.Tool, before)
			}
		case schemas.TypeToolProgress, schemas.TypeToolComplete:
			if tool == nil && e.Type == schemas.TypeToolProgress && e.Stage == schemas.StageWriting {
				continue // the model still writes the call
			}
			if tool == nil || tool.completed || tool.name != e.Tool {
				t.Errorf("%s of tool %d %s comes in the state %+v, want it started and not completed", e.Type, e.Index, e.Tool, tool)
				continue
			}
			if e.Type == schemas.TypeToolProgress && (e.Progress < tool.progress || e.Progress > 1) {
				t.Errorf("progress of tool %d goes from %v to %v, want it to grow up to 1", e.Index, tool.progress, e.Progress)
			}
			tool.progress, tool.completed = e.Progress, e.Type == schemas.TypeToolComplete
		case schemas.TypeTextDelta:
			m := ToolMark.FindStringSubmatch(*e.Text)
			if m == nil {
				continue
			}
			n, _ := strconv.Atoi(m[1]) // the expression allows only digits
			if *e.Text != m[0] || tools[n] == nil || !tools[n].completed && !stops(events[i:]) {
				t.Errorf("marker %q comes when tool %d is %+v, want it completed", *e.Text, n, tools[n])
			}
		}
	}
	return tools
}

// stops reports whether only text comes until the run fails or is cancelled. The markers
// of the calls that this interrupts come there.
func stops(events []anyEvent) bool {
	for _, e := range events {
		switch e.Type {
		case schemas.TypeTextDelta:
		case schemas.TypeCancelled, schemas.TypeError:
			return true
		default:
			return false
		}
	}
	return false
}

// checkComplete checks how the parts of complete fit.
func checkComplete(t testing.TB, p schemas.ChatResponsePayload, tools map[int]*shownTool) {
	t.Helper()
	for index, tool := range tools {
		if !tool.completed {
			t.Errorf("tool %d has 0 tool_complete events, want 1", index)
		}
		if index >= len(p.ToolHistory) || p.ToolHistory[index].ToolName != tool.name {
			t.Errorf("call %d of tool_history is not %s, want the tool that the events show", index, tool.name)
		}
	}
	if len(p.ToolHistory) != len(tools) {
		t.Errorf("tool_history has %d calls, want %d", len(p.ToolHistory), len(tools))
	}
	want := ""
	if len(tools) > 0 {
		want = "tool_history"
	}
	for _, source := range []string{"llm", "tool"} { // tools take precedence
		for _, made := range p.Payloads {
			if made.Source == source {
				want = made.Type + made.PayloadID
			}
		}
	}
	got := ""
	if p.CustomPayload != nil {
		got = p.CustomPayload.Type + p.CustomPayload.PayloadID
	}
	if got != want {
		t.Errorf("custom_payload is %q, want %q", got, want)
	}
}
