package levels_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/levels"
)

// newLevels returns the levels of an attempt and the log that they write.
func newLevels(attempt int) (*levels.Levels, *[]runlog.Event) {
	var log []runlog.Event
	return levels.New(levels.Options{
		Emit:    func(at runlog.Level, b runlog.Body) { log = append(log, runlog.Event{At: at, Body: b}) },
		Lookup:  func(name string) turn.Tool { return turn.Tool{Name: name} },
		Status:  func(error) string { return "error" },
		Attempt: attempt, Ref: "message",
	}), &log
}

type level struct {
	at    runlog.Level
	depth runlog.Depth
}

// open returns the levels that log leaves open, and checks that within its thread
// each level is closed before the one around it.
func open(t *testing.T, log []runlog.Event) []level {
	t.Helper()
	var open []level
	for _, e := range log {
		switch b := e.Body.(type) {
		case *runlog.LevelStart:
			open = append(open, level{e.At, b.Depth})
		case *runlog.LevelEnd:
			i := slices.Index(open, level{e.At, b.Depth})
			if i < 0 {
				t.Fatalf("%+v %+v closes what is not open", e.At, b)
			}
			if inner := slices.IndexFunc(open[i+1:], func(o level) bool { return o.at.Thread == e.At.Thread }); inner >= 0 {
				t.Errorf("%+v is closed before %+v in it", e.At, open[i+1+inner])
			}
			open = slices.Delete(open, i, i+1)
		default:
		}
	}
	return open
}

// begin opens a reply with two calls, of which one has opened a thread with a call.
func begin(l *levels.Levels) {
	l.BeginReply()
	l.Think("hm")
	l.Text()
	l.Payload(schemas.CustomPayload{Type: "chart", PayloadID: "p1"}, 0)
	l.Arguments(turn.ToolArguments{Index: 0, ID: "c0", Name: "look", Fragment: "{"})
	reply := turn.Reply{ToolCalls: []turn.ToolCall{{ID: "c0", Name: "look"}, {ID: "c1", Name: "server__ask"}}}
	l.Whole(&reply)
	l.EndReply()
	l.Line(0, "c0", "look")
	l.OpenTool(turn.ToolStart{Index: 0, ID: "c0", Name: "look"})
	l.Line(1, "c1", "server__ask")
	l.OpenWait(turn.ToolWaiting{Index: 1, ID: "c1", Name: "server__ask"}, "approval")
	for _, e := range []turn.Event{
		turn.ThreadStart{Label: "Research"},
		turn.CallStart{},
		turn.Thinking{Text: "hm"},
		turn.TextDelta{Text: "So"},
		turn.Reply{},
		turn.ToolStart{ID: "i0", Name: "inner"},
	} {
		l.Inner(turn.ThreadEvent{Index: 0, Thread: 1, Event: e})
	}
}

func TestEachLevelIsClosedOnce(t *testing.T) {
	ends := map[string]func(l *levels.Levels){
		"in order": func(l *levels.Levels) {
			l.Inner(turn.ThreadEvent{Index: 0, Thread: 1, Event: turn.ToolComplete{ID: "i0", Name: "inner"}})
			l.Inner(turn.ThreadEvent{Index: 0, Thread: 1, Event: turn.ThreadEnd{Err: errors.New("gone")}})
			l.CloseWait(1)
			l.Line(1, "c1", "server__ask")
			l.OpenTool(turn.ToolStart{Index: 1, ID: "c1", Name: "server__ask"})
			l.Result(1, levels.StatusOf(false))
			l.CloseTool(1, levels.StatusOf(false), &schemas.CustomPayload{Type: "chart", PayloadID: "p2"})
			l.Result(0, levels.StatusOf(true))
			l.CloseTool(0, levels.StatusOf(true), nil)
			l.Close("completed")
		},
		"broken off":     func(l *levels.Levels) { l.Close("cancelled") },
		"the next reply": func(l *levels.Levels) { l.BeginReply(); l.Close("completed") },
		"a document": func(l *levels.Levels) {
			at := l.OpenDocument("write", "b1", "md")
			l.CloseDocument(at, "completed")
			l.Close("completed")
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			l, log := newLevels(1)
			begin(l)
			end(l)
			if left := open(t, *log); len(left) > 0 {
				t.Errorf("levels left open: %+v", left)
			}
		})
	}
}

// A later attempt closes what the earlier one left open, and its own levels have
// other numbers.
func TestLaterAttemptClosesEarlierLevels(t *testing.T) {
	first, log := newLevels(1)
	begin(first)
	before := *log
	if len(open(t, before)) == 0 {
		t.Fatal("no level is open, want some")
	}
	second, later := newLevels(2)
	second.CloseEarlier(before)
	if left := open(t, append(before, *later...)); len(left) > 0 {
		t.Errorf("levels left open: %+v", left)
	}
	if at := second.Text(); at.Group <= runlog.AttemptSpan || at.Message <= runlog.AttemptSpan {
		t.Errorf("the second attempt's text is at %+v, want numbers above %d", at, runlog.AttemptSpan)
	}
}

// While the model's server asks to wait, a status line is a message in the group of the
// reply, before its text.
func TestModelWaits(t *testing.T) {
	l, log := newLevels(1)
	l.BeginReply()
	waits := l.Wait()
	l.Waited()
	l.Waited()
	again, text := l.Wait(), l.Text()
	l.Waited() // the text has taken its place
	if l.Text() != text {
		t.Error("the text is closed by the end of a wait")
	}
	l.Close("completed")
	if left := open(t, *log); len(left) > 0 {
		t.Errorf("levels left open: %+v", left)
	}
	if waits.Group != text.Group || again.Group != text.Group || waits.Message == again.Message || again.Message == text.Message {
		t.Errorf("the waits are at %+v and %+v, the text at %+v; want three messages of one group", waits, again, text)
	}
	var types []string
	for _, e := range *log {
		if b, ok := e.Body.(*runlog.LevelStart); ok && b.Depth == runlog.MessageLevel {
			types = append(types, b.Type)
		}
	}
	if want := []string{"loading", "loading", "text"}; !slices.Equal(types, want) {
		t.Errorf("the messages are %q, want %q", types, want)
	}
}
