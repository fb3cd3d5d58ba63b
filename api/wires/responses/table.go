package responses

import (
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/openaiwire"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// The numbers of the frames with which a response begins that continues a run, after the
// frames of the event where the response before it ended.
const beginFrames = 998

// table makes the events of a response, and the response itself. It shows every attempt of
// a run: what has been shown stays, and what a later attempt replaced is not in the output.
type table struct {
	wires.Params
	options

	run     string // the run's id as 32 digits
	begin   int64  // the event after which the response begins
	created int64  // seconds
	ended   int64
	chat    string
	extra   openaiwire.Extra

	items  []*item
	open   map[uint32][]*item // texts by their message
	calls  map[int]*item      // tools of the service that run, by index
	asked  map[int]bool       // calls that needed an approval
	client map[int]bool       // calls of the client's tools
	ids    map[string]bool
	joiner runlog.Joiner
	points []point
	try    int

	status     string
	incomplete string
	failed     *problem
	used       schemas.Usage
	completed  *schemas.ChatResponsePayload
}

// point is how text is joined after an event.
type point struct {
	seq    int64
	joiner runlog.Joiner
}

// problem is why a response failed.
type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Type    string `json:"type"` // not OpenAI's, but @ai-sdk/openai requires it
}

// The statuses of responses and their items.
const (
	inProgress = "in_progress"
	complete   = "completed"
	partly     = "incomplete"
	broken     = "failed"
	stopped    = "cancelled"
	queued     = "queued"
)

// newTable returns the table for a request.
func newTable(o options) func(p wires.Params) wires.Table {
	return func(p wires.Params) wires.Table { return makeTable(o, p) }
}

func makeTable(o options, p wires.Params) *table {
	return &table{
		Params: p, options: o, run: strings.ReplaceAll(p.Run, "-", ""), status: queued,
		open: make(map[uint32][]*item), calls: make(map[int]*item), asked: make(map[int]bool), client: make(map[int]bool), ids: make(map[string]bool),
	}
}

// KeepsAttempts implements wires.Keeper.
func (t *table) KeepsAttempts() {}

// Event implements wires.Table.
func (t *table) Event(out *wires.Frames, e *runlog.Event) {
	switch b := e.Body.(type) {
	case *runlog.Started:
		t.start(out, e, &b.Run, b.Target.MessageID)
	case *runlog.Attempt:
		t.attempt(out, e, b)
	case *runlog.LevelEnd:
		if b.Depth == runlog.MessageLevel && e.At.Thread == 0 {
			t.endTexts(out, e.At.Message, b.Status)
		}
	case *runlog.Text:
		if e.At.Thread == 0 {
			t.text(out, e, b.Text)
		}
	case *runlog.Marker:
		if e.At.Thread == 0 {
			t.point(e.Seq)
			t.joiner.Marker()
		}
	case *runlog.Thinking:
		if e.At.Thread == 0 && b.Text != "" {
			t.part(out, e, thought, b.Text)
		}
	case *runlog.ApprovalRequest:
		t.used = b.Used
		t.approval(out, e, b)
	case *runlog.ClientToolCall:
		t.used = b.Used
		t.ask(out, e, b)
	case *runlog.ToolStart:
		t.tool(out, e, b)
	case *runlog.ToolRefused:
		t.tool(out, e, &b.ToolStart)
	case *runlog.ToolComplete:
		t.toolEnds(out, e, b)
	case *runlog.Completed:
		t.complete(out, e, &b.Payload)
	case *runlog.Failed:
		t.used = b.Used
		t.failed = &problem{Code: "server_error", Message: b.Message, Type: openaiwire.ServerError}
		if b.Code == schemas.CodeRateLimited {
			t.failed.Code = "rate_limit_exceeded"
		}
		t.end(out, e, broken, "response.failed")
	case *runlog.Cancelled:
		t.used = b.Used
		t.end(out, e, stopped, "response.incomplete")
	case *runlog.Status, *runlog.LevelStart, *runlog.Call, *runlog.Arguments, *runlog.Streamed, *runlog.Unknown, *runlog.KeptText, *runlog.Payload,
		*runlog.ApprovalResolved, *runlog.ToolProgress, *runlog.BlockReset, *runlog.BlockHeader, *runlog.BlockContent, *runlog.BlockDone,
		*runlog.ThreadText, *runlog.ThreadStatus, *runlog.ThreadToolStart, *runlog.ThreadToolProgress, *runlog.ThreadToolComplete:
		// there is no place for them
	}
}

// Begin implements wires.Table. If the log up to there is no longer kept, the attempt that
// has the answer begins the response.
func (t *table) Begin(out *wires.Frames, after int64) {
	t.begin, t.status, t.ended = after, inProgress, 0
	t.items, t.joiner, t.points = nil, runlog.Joiner{}, nil
	clear(t.open)
	clear(t.calls)
	if t.created > 0 {
		t.opened(out)
	}
}

// opened begins the response. A client that has seen it does not get it again.
func (t *table) opened(out *wires.Frames) {
	first := int64(wires.EventSpan)
	if t.begin > 0 {
		first = t.begin*wires.EventSpan + beginFrames
	}
	out.Restart(first)
	t.response(out, "response.created")
	t.response(out, "response.in_progress")
}

// Pause implements wires.Table.
func (t *table) Pause(out *wires.Frames, _ []schemas.Wait) {
	t.closeAll(out, complete)
	t.status = complete
	t.response(out, "response.completed")
}

func (t *table) start(out *wires.Frames, e *runlog.Event, run *runlog.Run, message string) {
	t.created, t.chat = e.Time/1000, run.ChatID
	t.extra = openaiwire.Extra{RunID: run.RunID, ConversationID: run.ConversationID, MessageID: message}
	t.status = inProgress
	t.opened(out)
}

// attempt ends what an attempt before has left open. What it showed after the last event
// that is kept is void: it is shown again, as new items.
func (t *table) attempt(out *wires.Frames, e *runlog.Event, b *runlog.Attempt) {
	t.try = b.Number
	if t.created == 0 { // the log before it is no longer kept
		t.start(out, e, &b.Run, b.Target.MessageID)
		out.Restart(e.Seq * wires.EventSpan)
	}
	t.closeAll(out, partly)
	for _, i := range t.items {
		i.void = i.void || i.seq > b.KeptThrough
	}
	for _, p := range t.points {
		if p.seq > b.KeptThrough {
			t.joiner = p.joiner
			break
		}
	}
	t.points = nil
}

// point records how text is joined before an event, for an attempt that begins there.
func (t *table) point(seq int64) { t.points = append(t.points, point{seq, t.joiner}) }

func (t *table) complete(out *wires.Frames, e *runlog.Event, p *schemas.ChatResponsePayload) {
	t.extra.Complete(p)
	t.used, t.completed = p.Usage, p
	switch p.StopReason {
	case schemas.MaxTokens:
		t.incomplete = "max_output_tokens"
	case schemas.ContentFilter, schemas.Refusal:
		t.incomplete = "content_filter"
	case schemas.EndTurn, schemas.MaxIterations:
	}
	if t.incomplete != "" {
		t.end(out, e, partly, "response.incomplete")
		return
	}
	t.end(out, e, complete, "response.completed")
}

// end ends the response with the run.
func (t *table) end(out *wires.Frames, e *runlog.Event, status, event string) {
	left := partly
	if status == complete {
		left = complete
	}
	t.closeAll(out, left)
	t.status, t.ended = status, e.Time/1000
	t.response(out, event)
}

// response adds an event that has the whole response.
func (t *table) response(out *wires.Frames, event string) {
	if dst, ok := frame(out, event); ok {
		out.Close(append(append(append(dst, `,"response":`...), schemas.Encode(t.object())...), '}'))
	}
}

// frame begins an event: its type and its number.
func frame(out *wires.Frames, event string) (dst []byte, ok bool) {
	dst, number, ok := out.OpenEvent(event)
	if !ok {
		return nil, false
	}
	dst = append(append(append(dst, `{"type":"`...), event...), `","sequence_number":`...)
	return strconv.AppendInt(dst, number, 10), true
}

// id is the id of the response.
func (t *table) id() string { return responseID(t.run, t.begin) }
