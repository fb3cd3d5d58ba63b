// Package agents runs one bounded conversation between a model and tools: it
// calls the model, runs the tools that the model asks for, gives it their
// results, and reports what happens as a sequence of turn events.
//
// It knows nothing of HTTP, SQL, users or run ids. Model adapters are in
// sub-folders, one each.
package agents

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"strconv"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/turn"
)

// The limits of a loop and their defaults.
const (
	// defaultMaxIterations is the number of model calls that may ask for tools
	// if a request sets none; maxIterations is the largest number.
	defaultMaxIterations = 5
	maxIterations        = 20
	// defaultParallel is how many calls run at a time.
	defaultParallel = 8
	// defaultToolTimeout bounds a call of a tool that sets no timeout.
	defaultToolTimeout = time.Minute
	// defaultToolOutput is how many characters of an output the model gets.
	defaultToolOutput = 16_000
	// defaultGrace is how long a cancelled loop waits for its running tools,
	// and a timed-out call for its tool. With it a cancel ends within a second.
	defaultGrace = 500 * time.Millisecond
)

// Options are an Agent's settings; a zero field is its default.
type Options struct {
	Parallel    int
	ToolTimeout time.Duration
	Grace       time.Duration
	// Logger gets what the model and the client must not see: stacks, the text
	// of unexpected errors. Nil drops it.
	Logger *slog.Logger
}

// Agent runs loops over one model. It is safe for concurrent use.
type Agent struct {
	model     Model
	opts      Options
	abandoned concurrent.Abandoned // calls of tools that ignore their contexts
}

// New returns an Agent over model.
func New(model Model, opts Options) *Agent {
	opts.Parallel = cmp.Or(max(opts.Parallel, 0), defaultParallel)
	opts.ToolTimeout = cmp.Or(max(opts.ToolTimeout, 0), defaultToolTimeout)
	opts.Grace = cmp.Or(max(opts.Grace, 0), defaultGrace)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Agent{model: model, opts: opts}
}

// Run is the loop: a model call, the tools it asks for, the next call with
// their results, until a reply asks for none. After the request's MaxIterations
// calls one last call is made in which tools are forbidden; if that fails, a
// plain summary of the results, marked Synthetic, replaces it, unless the database
// is away. The work starts when the sequence is ranged over; ranging over it twice
// does the work twice.
//
// Events come as package turn documents them, and the sequence ends with
// LoopComplete, with Cancelled, or with an error and a nil event. A failing
// tool is never such an error: the model reads it as the call's result.
//
// The loop looks at ctx before each model call, at each delta, and before,
// while and after tools run. Run joins the goroutines of tools, with one
// exception: a tool that ignores its context for longer than Options.Grace is
// abandoned and its outcome dropped. Breaking out of the range cancels in the
// same way and yields nothing more.
//
// A tool may have conversations of its own (turn.Call.Converse): each is a loop
// in a thread, run on the tool's goroutine, whose events come here as
// turn.ThreadEvent.
func (a *Agent) Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		l := newLoop(a, &req, yield)
		n := 0
		for l.step(ctx, n) {
			n++
		}
	}
}

// loop is the state of one Run.
type loop struct {
	*Agent
	req   turn.Request
	limit int // calls that may ask for tools
	// inThread is true if the loop runs in a thread, which cannot open threads.
	inThread bool

	yield func(turn.Event, error) bool
	gone  bool // the consumer stopped reading

	messages []turn.Message
	usage    schemas.Usage
	calls    int             // calls so far, over the run
	ids      map[string]bool // their ids
	shown    bool            // some text has been shown
	outcomes []namedResult   // for the summary, newest last
	outputs  int             // bytes that are kept whole, see maxWhole
	data     int             // the same of data
}

func newLoop(a *Agent, req *turn.Request, yield func(turn.Event, error) bool) *loop {
	l := &loop{
		Agent: a, req: *req, yield: yield,
		limit:    min(cmp.Or(max(req.MaxIterations, 0), defaultMaxIterations), maxIterations),
		messages: append([]turn.Message(nil), req.Messages...),
		ids:      map[string]bool{},
	}
	l.req.ToolOutput = cmp.Or(max(req.ToolOutput, 0), defaultToolOutput)
	return l
}

// tool returns the tool of that name, or nil.
func (l *loop) tool(name string) *turn.Tool {
	for i := range l.req.Tools {
		if l.req.Tools[i].Name == name {
			return &l.req.Tools[i]
		}
	}
	return nil
}

// step does iteration n, except for the parts that an earlier attempt finished,
// and reports whether another one follows.
func (l *loop) step(ctx context.Context, n int) bool {
	if ctx.Err() != nil && n >= len(l.req.Steps) {
		return l.cancelled(ctx)
	}
	if n < len(l.req.Steps) {
		l.remember(l.req.Steps[n].Reply)
		return l.take(ctx, &l.req.Steps[n])
	}
	// The reply is on the heap to keep this stack small: most runs wait here.
	reply := new(turn.Step)
	return l.ask(ctx, n, &reply.Reply) && l.take(ctx, reply)
}

// take does what a whole reply asks for. It reports whether to call the model
// again.
func (l *loop) take(ctx context.Context, step *turn.Step) bool {
	reply := &step.Reply
	l.usage = l.usage.Add(reply.Usage)
	l.calls = max(l.calls, reply.FirstIndex+len(reply.ToolCalls))
	if len(reply.ToolCalls) == 0 {
		stop := cmp.Or(reply.StopReason, schemas.EndTurn)
		if reply.Final {
			stop = schemas.MaxIterations
		}
		l.emit(turn.LoopComplete{StopReason: stop, Usage: l.usage})
		return false
	}
	results := make([]*turn.Result, len(reply.ToolCalls))
	copy(results, step.Results)
	if !l.runTools(ctx, *reply, results) {
		return false
	}
	l.messages = append(l.messages, turn.Message{Role: turn.Assistant, Content: reply.Text, Reasoning: reply.Reasoning, ToolCalls: reply.ToolCalls})
	for i, c := range reply.ToolCalls {
		l.outcomes = append(l.outcomes, namedResult{name: c.Name, result: *results[i]})
		l.messages = append(l.messages, turn.Message{Role: turn.ToolRole, Content: l.modelText(*results[i]), ToolCallID: c.ID, Data: resultData(results[i])})
	}
	return true
}

// resultData returns the JSON of a tool's result; nil when it has only text.
func resultData(r *turn.Result) json.RawMessage {
	if r.Data == nil && r.Payload != nil {
		return r.Payload.Data
	}
	return r.Data
}

// remember records the call ids and text of an earlier attempt's reply.
func (l *loop) remember(reply turn.Reply) {
	l.shown = l.shown || reply.Text != ""
	for _, c := range reply.ToolCalls {
		l.ids[c.ID] = true
	}
}

// callID returns id, or a new one if id is missing or taken, is longer than what
// is accepted back, or has characters that cannot be seen.
func (l *loop) callID(id string, index int) string {
	if len(id) > schemas.MaxCallID || shown(id) != id {
		id = ""
	}
	for n := index; id == "" || l.ids[id]; n++ {
		id = "call_" + strconv.Itoa(n)
	}
	l.ids[id] = true
	return id
}

// emit yields e. False means that the consumer has stopped reading.
func (l *loop) emit(e turn.Event) bool {
	l.gone = l.gone || !l.yield(e, nil)
	return !l.gone
}

// fail ends the loop with err.
func (l *loop) fail(err error) {
	if !l.gone {
		l.yield(nil, err)
	}
	l.gone = true
}

// cancelled ends the loop. It returns false: no step follows.
func (l *loop) cancelled(ctx context.Context) bool {
	if !l.gone {
		l.emit(turn.Cancelled{Cause: context.Cause(ctx)})
	}
	return false
}
