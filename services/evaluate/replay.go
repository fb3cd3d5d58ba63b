package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// What the model reads about calls that are not run.
const (
	unrecordedText = "This call was not run: there is no recorded result for it. Go on without it, and say in your answer what is missing."
	writesText     = "This call was not run: it may change something, and changes are off in this evaluation. Go on without it."
)

// Agent runs one bounded conversation between a model and tools.
type Agent interface {
	Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error]
}

// ReplayOptions say how a question is answered again; the zero value uses the prompt and
// the results of the record.
type ReplayOptions struct {
	// Prompt replaces the system prompt; PromptMark in it is where the replaced one goes.
	Prompt string
	// Rebuild uses the prompt and the tools that the page offers now.
	Rebuild bool
	// Live runs tools that change nothing, Writes the others too, without approval.
	Live, Writes bool
}

// PromptMark is where a prompt file has the prompt that it replaces.
const PromptMark = "{{prompt}}"

// The prompts that a model may have got.
const (
	promptRecorded = "recorded"
	promptBuilt    = "built"
	promptFile     = "file"
)

// Replay is an agent for one record at a time: it gives the loop the record's prompt, and
// answers calls of tools from the record. It is safe for concurrent use.
type Replay struct {
	agent Agent
	ReplayOptions

	mu   sync.Mutex
	tape *tape
}

// tape is the state of one record.
type tape struct {
	record     *Record
	used       []bool
	unrecorded int
	refused    int
	prompt     string // where the prompt is from
	digest     string
	gone       []string // recorded tools that are no longer offered
}

// NewReplay returns a replay over the agent of a service.
func NewReplay(agent Agent, o ReplayOptions) *Replay { return &Replay{agent: agent, ReplayOptions: o} }

// Load makes the next conversations those of the record.
func (p *Replay) Load(r *Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tape = &tape{record: r, used: make([]bool, len(r.Calls))}
}

// Note adds to a reply what happened since Load.
func (p *Replay) Note(to *Reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tape
	to.Prompt, to.PromptDigest, to.UnrecordedCalls, to.RefusedCalls, to.MissingTools = t.prompt, t.digest, t.unrecorded, t.refused, t.gone
}

// Run runs the agent with the prompt and the tools of the evaluation. Steps of the service
// itself, such as a summary of older turns, are as in the service.
func (p *Replay) Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error] {
	if req.Facts == nil || req.Facts.Purpose == "" {
		p.prepare(&req)
	}
	return p.agent.Run(ctx, req)
}

func (p *Replay) prepare(req *turn.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tape
	recorded := !p.Rebuild && t.record.SystemPrompt != ""
	t.prompt = promptBuilt
	if recorded {
		req.System, t.prompt = t.record.SystemPrompt, promptRecorded
	}
	if p.Prompt != "" {
		req.System, t.prompt = strings.ReplaceAll(p.Prompt, PromptMark, req.System), promptFile
	}
	t.digest, t.gone = digest(req.System), nil
	tools := make([]turn.Tool, 0, len(req.Tools))
	for _, tool := range req.Tools {
		if !recorded || slices.Contains(t.record.Tools, tool.Name) {
			tools = append(tools, p.tool(tool))
		}
	}
	for _, name := range t.record.Tools {
		if !slices.ContainsFunc(tools, func(t turn.Tool) bool { return t.Name == name }) {
			t.gone = append(t.gone, name)
		}
	}
	req.Tools = tools
}

// tool returns the tool as the evaluation runs it. Nobody is asked, and nothing is shown
// while it is written. What it is apart from that is unchanged, because the service keeps
// calls that may not run again in another way.
func (p *Replay) tool(t turn.Tool) turn.Tool {
	run, live := t.Run, p.Live && !t.Client && !t.Document
	changes := !t.Idempotent || t.Effects || t.Confirm
	t.Client, t.Confirm, t.Streams = false, false, nil
	switch {
	case live && changes && !p.Writes:
		t.Run = func(context.Context, *turn.Call) (turn.Result, error) {
			p.count(func(t *tape) { t.refused++ })
			return turn.Result{Text: writesText, IsError: true}, nil
		}
	case live:
		t.Run = run
	default:
		t.Run = func(_ context.Context, c *turn.Call) (turn.Result, error) { return p.result(c), nil }
	}
	return t
}

func (p *Replay) count(change func(*tape)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p.tape)
}

// result returns the recorded result of a call.
func (p *Replay) result(c *turn.Call) turn.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tape
	at := t.find(c.Name, c.Input)
	if at < 0 {
		t.unrecorded++
		return turn.Result{Text: unrecordedText, IsError: true}
	}
	t.used[at] = true
	call := &t.record.Calls[at]
	result := turn.Result{Text: call.Output, IsError: call.IsError}
	if call.Payload != nil {
		result.Payload = &turn.Payload{Type: call.Payload.Type, Data: call.Payload.Data}
	}
	return result
}

// find returns the recorded call that has the result of a new one: the next with the same
// arguments, else the last of those, because the model repeats it, else the next of the
// tool. It is -1 for none.
func (t *tape) find(tool string, input json.RawMessage) int {
	input = text.Canonical(input)
	repeated, next := -1, -1
	for i := range t.record.Calls {
		c := &t.record.Calls[i]
		switch {
		case c.Tool != tool:
		case bytes.Equal(text.Canonical(c.Input), input):
			if !t.used[i] {
				return i
			}
			repeated = i
		case next < 0 && !t.used[i]:
			next = i
		}
	}
	if repeated >= 0 {
		return repeated
	}
	return next
}
