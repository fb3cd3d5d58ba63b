package completions

import (
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/openaiwire"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// done is the last frame of a response.
const done = "[DONE]"

// options are what a request says about its response.
type options struct {
	model    string // as asked for
	usage    bool   // a chunk with the usage
	activity bool   // tools that run are shown as reasoning
	whole    bool   // the response is one body, made at the end
}

// table makes chat completion chunks, or one chat completion.
type table struct {
	wires.Params
	options

	created int64
	head    string // the beginning of each chunk
	extra   openaiwire.Extra
	client  map[string]bool // the client's tools
	joiner  runlog.Joiner
	thought bool // the reasoning does not end with a line break
	calls   int  // of the response

	words, thoughts strings.Builder // of a whole response
	asked           []toolCall
	finish          string
	used            *usage
	failed          error
}

// newTable returns the table for a request.
func newTable(o options) func(p wires.Params) wires.Table {
	return func(p wires.Params) wires.Table { return &table{Params: p, options: o, client: make(map[string]bool)} }
}

// toolCall is a call of a tool of the client.
type toolCall struct {
	Index    *int   `json:"index,omitempty"` // of a chunk
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

// Stays implements wires.Stayer: these clients cannot ask their user.
func (t *table) Stays(w schemas.Wait) bool { return w.Kind == schemas.WaitApproval }

// Event implements wires.Table.
func (t *table) Event(out *wires.Frames, e *runlog.Event) {
	switch b := e.Body.(type) {
	case *runlog.Started:
		t.start(out, e, &b.Run, b.Target.MessageID)
	case *runlog.Attempt:
		if t.head == "" {
			t.start(out, e, &b.Run, b.Target.MessageID)
		}
	case *runlog.Status:
		if b.Code == schemas.StatusRunningTool && t.activity && !t.client[b.Tool] {
			t.running(out, b.Message)
		}
	case *runlog.Text:
		if e.At.Thread == 0 {
			t.text(out, b.Text)
		}
	case *runlog.Marker:
		if e.At.Thread == 0 {
			t.joiner.Marker()
		}
	case *runlog.Thinking:
		if e.At.Thread == 0 {
			t.thinking(out, b.Text)
		}
	case *runlog.Call:
		if e.At.Thread == 0 && b.Client {
			t.client[b.Name] = true
		}
	case *runlog.ClientToolCall:
		t.spent(b.Used)
		t.call(out, b)
	case *runlog.ApprovalRequest:
		t.spent(b.Used)
	case *runlog.Completed:
		t.extra.Complete(&b.Payload)
		t.spent(b.Payload.Usage)
		t.end(out, finishReason(b.Payload.StopReason))
	case *runlog.Failed:
		t.failed = &schemas.Error{Code: b.Code, Message: b.Message, RunID: t.Run}
		fail(out, b.Code, b.Message)
	case *runlog.Cancelled:
		t.failed = &schemas.Error{Code: schemas.CodeCancelled, Message: cancelled, RunID: t.Run}
		fail(out, schemas.CodeCancelled, cancelled)
	case *runlog.LevelStart, *runlog.LevelEnd, *runlog.Arguments, *runlog.Streamed, *runlog.KeptText, *runlog.Payload, *runlog.Unknown,
		*runlog.ApprovalResolved, *runlog.ToolStart, *runlog.ToolRefused, *runlog.ToolProgress, *runlog.ToolComplete,
		*runlog.BlockReset, *runlog.BlockHeader, *runlog.BlockContent, *runlog.BlockDone, *runlog.ThreadText, *runlog.ThreadStatus,
		*runlog.ThreadToolStart, *runlog.ThreadToolProgress, *runlog.ThreadToolComplete: // there is no place for them
	}
}

// Begin implements wires.Table.
func (t *table) Begin(out *wires.Frames, _ int64) {
	t.joiner, t.thought, t.calls = runlog.Joiner{}, false, 0
	t.words.Reset()
	t.thoughts.Reset()
	t.asked = nil
	t.delta(out, `{"role":"assistant","content":""}`)
}

// Pause implements wires.Table.
func (t *table) Pause(out *wires.Frames, _ []schemas.Wait) { t.end(out, "tool_calls") }

// cancelled is the text for a run that was cancelled.
const cancelled = "The answer was stopped."

func (t *table) start(out *wires.Frames, e *runlog.Event, run *runlog.Run, message string) {
	t.created = e.Time / 1000
	t.extra = openaiwire.Extra{RunID: run.RunID, ConversationID: run.ConversationID, MessageID: message}
	head := schemas.AppendString([]byte(`{"id":`), t.id())
	head = strconv.AppendInt(append(head, `,"object":"chat.completion.chunk","created":`...), t.created, 10)
	t.head = string(wires.Field(head, "model", t.model))
	t.delta(out, `{"role":"assistant","content":""}`)
}

func (t *table) id() string { return "chatcmpl-" + t.Run }

// spent records what the run has used so far.
func (t *table) spent(u schemas.Usage) {
	t.used = &usage{u.InputTokens, u.OutputTokens, u.TotalTokens}
}

// delta adds a chunk with a delta that is JSON.
func (t *table) delta(out *wires.Frames, delta string) {
	if dst, ok := t.open(out); ok {
		out.Close(append(append(dst, delta...), rest...))
	}
}

// open begins a chunk up to its delta; rest is what comes after the delta.
func (t *table) open(out *wires.Frames) (dst []byte, ok bool) {
	if dst, ok = out.Open(); ok {
		dst = append(append(dst, t.head...), `,"choices":[{"index":0,"delta":`...)
	}
	return dst, ok
}

const rest = `,"finish_reason":null}]}`

// text adds text. It runs for every token, so it builds the chunk itself.
func (t *table) text(out *wires.Frames, text string) {
	if text = t.joiner.Text(text); text == "" {
		return
	}
	if t.whole {
		t.words.WriteString(text)
	}
	if dst, ok := t.open(out); ok {
		dst = schemas.AppendString(append(dst, `{"content":`...), text)
		out.Close(append(append(dst, '}'), rest...))
	}
}

func (t *table) thinking(out *wires.Frames, text string) {
	if text == "" {
		return
	}
	t.thought = !strings.HasSuffix(text, "\n")
	if t.whole {
		t.thoughts.WriteString(text)
	}
	if dst, ok := t.open(out); ok {
		dst = schemas.AppendString(append(dst, `{"reasoning_content":`...), text)
		out.Close(append(append(dst, '}'), rest...))
	}
}

// running shows on a line of its own that a tool runs.
func (t *table) running(out *wires.Frames, line string) {
	if t.thought {
		line = "\n" + line
	}
	t.thinking(out, line+"\n")
}

// call asks the client to run its tool, unless the tool has run already: clients run what
// they read.
func (t *table) call(out *wires.Frames, b *runlog.ClientToolCall) {
	if t.Answered[b.Index] || out.Hidden() {
		return
	}
	index := t.calls
	c := toolCall{Index: &index, ID: wires.CallID(t.Run, b.Index), Type: "function"}
	c.Function.Name, c.Function.Arguments = b.Tool, string(b.Input)
	t.calls++
	t.delta(out, string(schemas.Encode(map[string][]toolCall{"tool_calls": {c}})))
	if t.whole {
		c.Index = nil
		t.asked = append(t.asked, c)
	}
}

// end ends the response.
func (t *table) end(out *wires.Frames, reason string) {
	t.finish = reason
	if dst, ok := t.open(out); ok {
		dst = append(append(append(dst, `{},"finish_reason":"`...), reason...), `"}],"chattray":`...)
		out.Close(append(append(dst, schemas.Encode(t.extra)...), '}'))
	}
	if t.usage && t.used != nil {
		if dst, ok := out.Open(); ok {
			dst = append(append(dst, t.head...), `,"choices":[],"usage":`...)
			out.Close(append(append(dst, schemas.Encode(t.used)...), '}'))
		}
	}
	out.Raw(done)
}

// finishReason returns the client's word for a stop reason.
func finishReason(r schemas.StopReason) string {
	switch r {
	case schemas.MaxTokens:
		return "length"
	case schemas.ContentFilter, schemas.Refusal:
		return "content_filter"
	case schemas.EndTurn, schemas.MaxIterations:
	}
	return "stop"
}

// Broken implements wires.Breaker: these clients have no way back to a response.
func (t *table) Broken(out *wires.Frames, e *schemas.Error) { fail(out, e.Code, e.Message) }

// fail ends the response with an error.
func fail(out *wires.Frames, code schemas.Code, message string) {
	out.JSON(map[string]openaiwire.Problem{"error": {Message: message, Type: openaiwire.ServerError, Code: string(code)}})
	out.Raw(done)
}

// completion returns the whole response.
func (t *table) completion() any {
	type answer struct {
		Role      string     `json:"role"`
		Content   string     `json:"content"`
		Refusal   *string    `json:"refusal"`
		Reasoning string     `json:"reasoning_content,omitempty"`
		ToolCalls []toolCall `json:"tool_calls,omitempty"`
	}
	type choice struct {
		Index    int     `json:"index"`
		Message  answer  `json:"message"`
		Logprobs *string `json:"logprobs"`
		Finish   string  `json:"finish_reason"`
	}
	return struct {
		ID       string           `json:"id"`
		Object   string           `json:"object"`
		Created  int64            `json:"created"`
		Model    string           `json:"model"`
		Choices  []choice         `json:"choices"`
		Usage    *usage           `json:"usage,omitempty"`
		Chattray openaiwire.Extra `json:"chattray"`
	}{
		t.id(), "chat.completion", t.created, t.model,
		[]choice{{Message: answer{Role: "assistant", Content: t.words.String(), Reasoning: t.thoughts.String(), ToolCalls: t.asked}, Finish: t.finish}},
		t.used, t.extra,
	}
}
