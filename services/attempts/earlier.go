package attempts

import (
	"slices"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Earlier is what earlier attempts of a run have stored. It is read only once the next
// attempt has begun.
type Earlier struct {
	// Steps are the finished replies, without the results of their calls; Calls are
	// the calls by index.
	Steps []turn.Step
	Calls map[int]record.ToolCall
	// Action is true if a server action was about to run.
	Action bool
	Spent  []record.ModelUsage
	Worked time.Duration // without the time in which the run waited for its user
	Mark   *Mark         // nil for none
	// Cancel is true if the user has cancelled the run, and Uncounted is the number of
	// attempts that do not count as failed.
	Cancel    bool
	Uncounted int

	// Log is the whole stored log.
	Log []runlog.Event
	// How many replies, results of calls and tool markers of the finished steps
	// the log shows, up to the event Kept. Later events are void and shown
	// again.
	Kept    int64
	Replies int
	Results map[int]bool
	Markers int
	// Withdrawn are the blocks that the user has rejected or deleted while the run
	// wrote them.
	Withdrawn map[string]bool
	writers   map[string]*runlog.Caller // the calls that wrote last in blocks

	valid []runlog.Event // events of Log, without those that later attempts made void
}

// Nothing returns the value for a run without earlier attempts.
func Nothing() *Earlier {
	e := new(Earlier)
	e.compare(nil, nil)
	return e
}

// Checkpoints returns the number of the last checkpoint with a reply or the start of an
// action, 0 for none. A nil e has none.
func (e *Earlier) Checkpoints() int {
	switch {
	case e == nil:
		return 0
	case e.Action:
		return 1
	}
	return len(e.Steps)
}

// Called returns the names of the tools that the model has called.
func (e *Earlier) Called() []string {
	var names []string
	for _, step := range e.Steps {
		for _, c := range step.Reply.ToolCalls {
			names = append(names, c.Name)
		}
	}
	return names
}

// Last returns the number of the last event of the stored log, 0 for none.
func (e *Earlier) Last() int64 {
	if len(e.Log) == 0 {
		return 0
	}
	return e.Log[len(e.Log)-1].Seq
}

// compare compares the log with the finished steps and calls.
func (e *Earlier) compare(calls []record.ToolCall, log []runlog.Event) {
	e.Calls, e.Log, e.valid = make(map[int]record.ToolCall), log, withoutVoid(log)
	for _, c := range calls {
		e.Calls[c.Index] = c
	}
	e.addStarted()
	e.findKept()
	e.Withdrawn, e.writers = make(map[string]bool), make(map[string]*runlog.Caller)
	for i := range log {
		switch b := log[i].Body.(type) {
		case *runlog.BlockReset:
			e.Withdrawn[b.Place.BlockIDs] = b.End && !b.Refused
			if !b.End {
				e.writers[b.Place.BlockIDs] = b.By
			}
		case *runlog.BlockContent: // the block was written again
			e.Withdrawn[b.Place.BlockIDs], e.writers[b.Place.BlockIDs] = false, b.By
		default:
		}
	}
}

// A BlockText is a text that the log shows in a block.
type BlockText struct {
	Place    runlog.Place
	Revision int64  // of the document when the text was begun
	Text     string // that of a call; the text of an answer is not told apart from the run's
}

// BlockTexts returns what the log shows in blocks and has not withdrawn, in the order in
// which it was begun.
func (e *Earlier) BlockTexts() []BlockText {
	var texts []BlockText
	at := func(id string) int {
		return slices.IndexFunc(texts, func(t BlockText) bool { return t.Place.BlockIDs == id })
	}
	for i := range e.Log {
		switch b := e.Log[i].Body.(type) {
		case *runlog.BlockReset:
			if n := at(b.Place.BlockIDs); n >= 0 {
				texts = slices.Delete(texts, n, n+1)
			}
			if !b.End {
				texts = append(texts, BlockText{Place: b.Place, Revision: b.Revision})
			}
		case *runlog.BlockContent:
			n := at(b.Place.BlockIDs)
			if n < 0 {
				n, texts = len(texts), append(texts, BlockText{Place: b.Place, Revision: b.Revision})
			}
			texts[n].Text += b.Text
		default:
		}
	}
	return texts
}

// Wanted returns the blocks without those that the user has withdrawn; e may be
// nil.
func (e *Earlier) Wanted(blocks []string) []string {
	if e == nil {
		return blocks
	}
	return slices.DeleteFunc(slices.Clone(blocks), func(id string) bool { return e.Withdrawn[id] })
}

// Withdrew reports whether the user has withdrawn the block that a call of a
// finished reply wrote, not an earlier call; e may be nil.
func (e *Earlier) Withdrew(index int, block string) bool {
	if e == nil || !e.Withdrawn[block] || len(e.Steps) == 0 {
		return false
	}
	if by := e.writers[block]; by != nil && by.Index != index {
		return false
	}
	last := &e.Steps[len(e.Steps)-1].Reply
	return index < last.FirstIndex+len(last.ToolCalls)
}

// Holds returns what the run holds, by its claim and by what its calls have written.
func (e *Earlier) Holds(c record.Claim) record.Claim {
	blocks := slices.Clone(c.Blocks)
	for i := range e.Log {
		b, ok := e.Log[i].Body.(*runlog.BlockContent)
		if ok && c.Document != "" && b.Place.DocumentID == c.Document && !slices.Contains(blocks, b.Place.BlockIDs) {
			blocks = append(blocks, b.Place.BlockIDs)
		}
	}
	c.Blocks = blocks
	return c
}

// withoutVoid returns the events without those that later attempts made void.
func withoutVoid(events []runlog.Event) []runlog.Event {
	var list []runlog.Event
	for _, e := range events {
		if later, ok := e.Body.(*runlog.Attempt); ok {
			for len(list) > 0 && list[len(list)-1].Seq > later.KeptThrough {
				list = list[:len(list)-1]
			}
		}
		list = append(list, e)
	}
	return list
}

// addStarted adds the calls that were shown but have no row: a call that may
// run again gets a row only with its outcome.
func (e *Earlier) addStarted() {
	for i := range e.valid {
		b, ok := e.valid[i].Body.(*runlog.ToolStart)
		if !ok {
			continue
		}
		if _, known := e.Calls[b.Index]; !known {
			e.Calls[b.Index] = record.ToolCall{
				Index: b.Index, ToolUseID: b.ToolUseID, Name: b.Tool, Input: b.Input, State: record.ToolStarted, StartedAt: time.UnixMilli(e.valid[i].Time),
			}
		}
	}
}

// findKept finds the last stored event up to which the log and the finished
// steps agree.
func (e *Earlier) findKept() {
	e.Results = make(map[int]bool)
	var standing uint32 // the group of a text that an attempt kept
	for i := range e.valid {
		event := &e.valid[i]
		switch b := event.Body.(type) {
		case *runlog.Started, *runlog.Attempt:
		case *runlog.KeptText:
			standing = event.At.Group
			continue
		case *runlog.LevelEnd:
			switch {
			case b.Depth != runlog.GroupLevel || b.Type != "llm" || event.At.Thread != 0: // or it is in a thread's own loop
				continue
			case event.At.Group == standing:
			case e.Replies == len(e.Steps):
				return // the group of a reply that is in no checkpoint
			default:
				e.Replies++
			}
		case *runlog.ToolComplete:
			if e.Calls[b.Index].State != record.ToolFinished {
				return
			}
			e.Results[b.Index] = true
		case *runlog.Marker:
			if !strings.HasPrefix(b.Text, text.ToolMarker) {
				continue
			}
			e.Markers++
		default:
			continue
		}
		e.Kept = event.Seq
	}
}

// Written returns how many bytes models have written: the finished replies, and
// the text of threads in the log.
func (e *Earlier) Written() (n int) {
	for i := range e.Steps {
		reply := &e.Steps[i].Reply
		n += len(reply.Text) + len(reply.Reasoning) + reply.Extras()
		for _, c := range reply.ToolCalls {
			n += len(c.Arguments)
		}
	}
	for i := range e.valid {
		if e.valid[i].At.Thread == 0 {
			continue
		}
		switch b := e.valid[i].Body.(type) {
		case *runlog.ThreadText:
			n += len(b.Text)
		case *runlog.Thinking:
			n += len(b.Text)
		case *runlog.Arguments:
			n += len(b.Text)
		default:
		}
	}
	return n
}

// Void returns the events that a later attempt makes void.
func (e *Earlier) Void() []runlog.Event {
	n := slices.IndexFunc(e.valid, func(event runlog.Event) bool { return event.Seq > e.Kept })
	if n < 0 {
		return nil
	}
	return e.valid[n:]
}

// Text returns the answer's text as a reader of all events sees it.
func (e *Earlier) Text() string {
	var b strings.Builder
	for i := range e.valid {
		if later, ok := e.valid[i].Body.(*runlog.Attempt); ok {
			b.Reset()
			b.WriteString(later.Text)
		}
		b.WriteString(e.valid[i].Visible())
	}
	return b.String()
}
