// Package chunks folds the chunks of the websocket as a client does. The client in
// TypeScript, web/src/socket/chunks.ts, has the same rules and the same tables.
package chunks

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Tool is the state of a call, folded from its chunks.
type Tool struct {
	ToolUseID string          `json:"tool_use_id"`
	Tool      string          `json:"tool"`
	Index     int             `json:"index"`
	State     string          `json:"state"` // running, completed, error or denied
	Input     json.RawMessage `json:"input,omitempty"`
	Title     string          `json:"title,omitempty"`
	Stage     string          `json:"stage,omitempty"`
	Message   string          `json:"message,omitempty"`
	Progress  float64         `json:"progress"`
	Output    string          `json:"output,omitempty"`
	Done      string          `json:"done,omitempty"`
	Last      int64           `json:"last"`
}

// Approval is a call that waits, or waited, for the user.
type Approval struct {
	ApprovalID  string                 `json:"approval_id"`
	Tool        string                 `json:"tool"`
	ToolUseID   string                 `json:"tool_use_id"`
	Input       json.RawMessage        `json:"input,omitempty"`
	Message     string                 `json:"message"`
	Title       string                 `json:"title,omitempty"`
	Description string                 `json:"description,omitempty"`
	Reason      schemas.ApprovalReason `json:"reason,omitempty"`
	ExpiresAt   *time.Time             `json:"expires_at,omitempty"`
	Approved    *bool                  `json:"approved,omitempty"`
	Last        int64                  `json:"last"`
}

// ClientCall is a call that waits for the page.
type ClientCall struct {
	Tool      string          `json:"tool"`
	ToolUseID string          `json:"tool_use_id"`
	Input     json.RawMessage `json:"input,omitempty"`
	ExpiresAt *time.Time      `json:"expires_at,omitempty"`
	Last      int64           `json:"last"`
}

// Payload is a payload, with the number of its chunk. Payloads are in the order of
// their places: that of a call comes before the text after it.
type Payload struct {
	Payload schemas.CustomPayload `json:"payload"`
	Last    int64                 `json:"last"`
	Place   int                   `json:"place"`
}

// Failure is why a run failed.
type Failure struct {
	Code    schemas.Code `json:"code"`
	Message string       `json:"message"`
}

// Line is a run's status line: its text, its code and the tool that it names.
// It is empty while the run writes.
type Line struct {
	Status     string             `json:"status"`
	StatusCode schemas.StatusCode `json:"status_code,omitempty"`
	StatusTool string             `json:"status_tool,omitempty"`
}

// Run is the state of a run, folded from its chunks so far. State is "" until
// the run has ended.
type Run struct {
	Line

	RunID          string                    `json:"run_id"`
	ChatID         string                    `json:"chat_id"`
	ConversationID int64                     `json:"conversation_id,omitempty"`
	MessageID      string                    `json:"message_id"`
	State          schemas.RunState          `json:"state"`
	Last           int64                     `json:"last"`
	Tools          []Tool                    `json:"tools"`
	Approvals      []Approval                `json:"approvals"`
	Calls          []ClientCall              `json:"calls"`
	Payloads       []Payload                 `json:"payloads"`
	Values         []schemas.SuggestedValue  `json:"values"`
	Actions        []schemas.SuggestedAction `json:"actions"`
	Warnings       []string                  `json:"warnings"`
	Error          *Failure                  `json:"error,omitempty"`
}

// Block is the state of a block, folded from its chunks so far. Meta is the
// header of a chart or an image.
type Block struct {
	ID         string `json:"id"`
	Type       string `json:"type"`
	DocumentID string `json:"document_id"`
	RunID      string `json:"run_id"`
	Content    string `json:"content"`
	Meta       string `json:"meta"`
	State      string `json:"state"` // planned, writing, done or withdrawn
	Step       int    `json:"step"`
}

// View is everything that a socket has shown. Steps counts the chunks that may
// have changed documents.
type View struct {
	Current string           `json:"current"`
	Runs    []*Run           `json:"runs"`
	Blocks  map[string]Block `json:"blocks"`
	Steps   int              `json:"steps"`
}

// Of folds chunks.
func Of(list ...schemas.Chunk) *View {
	v := &View{Blocks: map[string]Block{}}
	for i := range list {
		v.Fold(&list[i])
	}
	return v
}

// Fold adds a chunk to the view. A chunk that belongs to no run, or was added
// before, changes nothing.
func (v *View) Fold(c *schemas.Chunk) {
	if c.RunID != "" && c.Seq > 0 {
		v.Current = c.RunID
	}
	if c.Seq == 0 || v.Current == "" {
		return
	}
	r := v.run(v.Current)
	asks := c.Type == schemas.ChunkApprovalRequest || c.Type == schemas.ChunkClientToolCall
	again := asks || c.End || slices.Contains([]string{schemas.ChunkError, schemas.ChunkRunEnd, schemas.ChunkSuggestions, schemas.ChunkWarning}, c.Type)
	if c.Seq < r.Last && !asks || c.Seq == r.Last && !again {
		return
	}
	r.Last = max(c.Seq, r.Last)
	if c.ChatID != "" {
		r.ChatID = c.ChatID
	}
	if c.ConversationID != 0 {
		r.ConversationID = c.ConversationID
	}
	if c.MessageID != "" {
		r.MessageID = c.MessageID
	}
	v.take(r, c)
}

func (v *View) run(id string) *Run {
	if i := slices.IndexFunc(v.Runs, func(r *Run) bool { return r.RunID == id }); i >= 0 {
		return v.Runs[i]
	}
	v.Runs = append(v.Runs, &Run{RunID: id})
	return v.Runs[len(v.Runs)-1]
}

func (v *View) take(r *Run, c *schemas.Chunk) {
	switch c.Type {
	case schemas.ChunkStatus:
		r.Line = Line{Status: *c.Content, StatusCode: c.StatusCode}
		if c.Values != nil {
			r.StatusTool = c.Values.Tool
		}
	case schemas.ChunkTool:
		v.tool(r, c)
	case schemas.ChunkApprovalRequest, schemas.ChunkClientToolCall:
		r.ask(c)
	case schemas.ChunkApprovalResolved:
		for i := range r.Approvals {
			if a := &r.Approvals[i]; a.ApprovalID == c.ApprovalID {
				a.Approved, a.Last = c.Approved, c.Seq
			}
		}
	case schemas.ChunkPayload:
		r.payload(c)
	case schemas.ChunkSuggestions:
		r.Values, r.Actions = c.SuggestedValues, c.SuggestedActions
	case schemas.ChunkWarning:
		if !slices.Contains(r.Warnings, *c.Content) {
			r.Warnings = append(r.Warnings, *c.Content)
		}
	case schemas.ChunkError:
		v.end(ids(c))
		r.Error = &Failure{c.Code, *c.Content}
	case schemas.ChunkReset:
		v.reset(r, c)
	case schemas.ChunkRunEnd:
		v.over(r, c)
	default:
		v.content(r, c)
	}
}

// payload adds a payload in its place.
func (r *Run) payload(c *schemas.Chunk) {
	p := Payload{Payload: *c.Payload, Last: c.Seq}
	switch {
	case c.Index != nil && c.ToolUseID != "":
		p.Place = 2**c.Index + 1
	case c.Index != nil:
		p.Place = 2 * *c.Index
	case len(r.Payloads) > 0:
		p.Place = r.Payloads[len(r.Payloads)-1].Place
	}
	at := len(r.Payloads)
	for at > 0 && r.Payloads[at-1].Place > p.Place {
		at--
	}
	r.Payloads = slices.Insert(r.Payloads, at, p)
}

// tool records a step of a call. A call that begins no longer waits.
func (v *View) tool(r *Run, c *schemas.Chunk) {
	i := slices.IndexFunc(r.Tools, func(t Tool) bool { return t.ToolUseID == c.ToolUseID })
	if i < 0 {
		i = len(r.Tools)
		r.Tools = append(r.Tools, Tool{ToolUseID: c.ToolUseID, Tool: c.Tool, Index: *c.Index, State: "running"})
	}
	t := &r.Tools[i]
	t.Last = c.Seq
	for to, given := range map[*string]string{&t.Title: c.Title, &t.Stage: c.Stage, &t.Message: c.Message, &t.Output: c.Output, &t.Done: c.Done} {
		if given != "" {
			*to = given
		}
	}
	if c.Input != nil {
		t.Input = c.Input
	}
	if c.Progress != nil {
		t.Progress = *c.Progress
	}
	if c.Denied {
		t.State = "denied"
	}
	switch c.Event {
	case schemas.ToolCompletes:
		t.Progress = 1
		switch {
		case t.State == "denied":
		case c.IsError:
			t.State = "error"
		default:
			t.State = "completed"
		}
		v.Steps++
	case schemas.ToolStarts:
		r.Calls = slices.DeleteFunc(r.Calls, func(w ClientCall) bool { return w.ToolUseID == c.ToolUseID })
		for i := range r.Approvals {
			if a := &r.Approvals[i]; a.ToolUseID == c.ToolUseID && a.Approved == nil {
				a.Approved = new(!c.Denied)
			}
		}
	default:
	}
}

// ask records a call that waits; it is shown again to a client that comes back.
func (r *Run) ask(c *schemas.Chunk) {
	switch {
	case r.State != "":
	case c.Type == schemas.ChunkApprovalRequest:
		if slices.ContainsFunc(r.Approvals, func(a Approval) bool { return a.ApprovalID == c.ApprovalID }) {
			return
		}
		r.Approvals = append(r.Approvals, Approval{
			ApprovalID: c.ApprovalID, Tool: c.Tool, ToolUseID: c.ToolUseID, Input: c.Input, Message: c.Message, Title: c.Title,
			Description: c.Description, Reason: c.Reason, ExpiresAt: c.ExpiresAt, Last: c.Seq,
		})
	case slices.ContainsFunc(r.Calls, func(w ClientCall) bool { return w.ToolUseID == c.ToolUseID }),
		slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.ToolUseID == c.ToolUseID }):
	default:
		r.Calls = append(r.Calls, ClientCall{Tool: c.Tool, ToolUseID: c.ToolUseID, Input: c.Input, ExpiresAt: c.ExpiresAt, Last: c.Seq})
	}
}

// reset empties blocks; with end they are withdrawn. After a recovery it voids
// all chunks after a number.
func (v *View) reset(r *Run, c *schemas.Chunk) {
	if c.End {
		v.withdraw(r, c)
		return
	}
	for _, id := range ids(c) {
		if b, ok := v.Blocks[id]; ok {
			b.RunID, b.Content, b.Meta, b.State = r.RunID, "", "", "writing"
			v.Blocks[id] = b
		}
	}
	if c.KeptThrough == nil {
		return
	}
	through := *c.KeptThrough
	r.Tools = slices.DeleteFunc(r.Tools, func(t Tool) bool { return t.Last > through })
	r.Approvals = slices.DeleteFunc(r.Approvals, func(a Approval) bool { return a.Last > through })
	r.Calls = slices.DeleteFunc(r.Calls, func(w ClientCall) bool { return w.Last > through })
	r.Payloads = slices.DeleteFunc(r.Payloads, func(p Payload) bool { return p.Last > through })
}

// withdraw voids what was written into blocks, even those without a chunk so
// far: their stored content may have been read before.
func (v *View) withdraw(r *Run, c *schemas.Chunk) {
	step := v.Steps + 1
	for _, id := range ids(c) {
		b := v.Blocks[id]
		if b.State == "withdrawn" && b.RunID == r.RunID {
			continue
		}
		v.Blocks[id] = Block{ID: id, Type: b.Type, DocumentID: c.DocumentID, RunID: r.RunID, State: "withdrawn", Step: step}
		v.Steps = step
	}
}

func (v *View) over(r *Run, c *schemas.Chunk) {
	if r.State != "" {
		return
	}
	var open []string
	for _, id := range slices.Sorted(maps.Keys(v.Blocks)) {
		if v.Blocks[id].RunID == r.RunID {
			open = append(open, id)
		}
	}
	v.end(open)
	v.Steps++
	r.State, r.Line, r.Calls = c.Status, Line{}, nil
	r.Approvals = slices.DeleteFunc(r.Approvals, func(a Approval) bool { return a.Approved == nil })
}

func (v *View) content(r *Run, c *schemas.Chunk) {
	switch {
	case c.NewDoc:
		types := strings.Split(c.BlockTypes, ",")
		for i, id := range ids(c) {
			b := Block{ID: id, Type: c.Type, DocumentID: c.DocumentID, RunID: r.RunID, State: "planned"}
			if i < len(types) && types[i] != "" {
				b.Type = types[i]
			}
			v.Blocks[id] = b
		}
		v.Steps++
		return
	case c.End:
		v.end(ids(c))
		r.Line = Line{}
		return
	}
	for _, id := range ids(c) {
		b := v.Blocks[id]
		if b.RunID != r.RunID || b.State == "planned" {
			b = Block{}
		}
		b = Block{ID: id, Type: c.Type, DocumentID: c.DocumentID, RunID: r.RunID, Content: b.Content, Meta: b.Meta, State: "writing"}
		if withHeader(c.Type) && b.Meta == "" {
			b.Meta, b.Content = *c.Content, ""
		} else {
			b.Content += *c.Content
		}
		v.Blocks[id] = b
	}
	r.Line = Line{}
}

// end ends blocks that are open.
func (v *View) end(list []string) {
	ended := false
	for _, id := range list {
		if b, ok := v.Blocks[id]; ok && b.State != "done" && b.State != "withdrawn" {
			b.State, b.Step, ended = "done", v.Steps+1, true
			v.Blocks[id] = b
		}
	}
	if ended {
		v.Steps++
	}
}

func ids(c *schemas.Chunk) []string {
	return slices.DeleteFunc(strings.Split(c.BlockIDs, ","), func(id string) bool { return id == "" })
}

// withHeader reports whether the first chunk of a block is its metadata.
func withHeader(kind string) bool {
	return kind == schemas.BlockChart || kind == "interative_chart" || strings.HasPrefix(kind, "image/")
}
