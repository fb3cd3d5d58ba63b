package dialects

import (
	"cmp"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// Blocks makes the chunks of the websocket from a run's events. It gets
// all events of a run in order, including those whose chunks the client already
// has. One goroutine uses it.
type Blocks struct {
	after  int64 // chunks up to this number are not shown
	run    string
	ids    *schemas.Chunk // that the next chunk carries
	answer runlog.Target
	joiner runlog.Joiner
	held   string // content that is not shown yet
	open   bool   // the answer's block has content
	called bool   // a call or a payload has been shown
	// begun are the chunks that end the blocks that tools have begun: an
	// attempt may be cut off before it ends them.
	begun []schemas.Chunk
	// waits are the waiting calls for which the client has already been asked.
	waits []schemas.Chunk
	list  []schemas.Chunk // reused by Chunks for its result
	// since are the revisions at which the run began to write blocks.
	since map[string]int64
}

// NewBlocks returns what makes the chunks for a client that has those up to the number
// after; 0 is none.
func NewBlocks(after int64) *Blocks { return &Blocks{after: after} }

// Chunks returns what an event shows, in order; the list is valid until the
// next call. A client that has received a chunk of a run's end (the content, if
// there was any) may have been cut off after it: everything but the content is
// sent again, because it changes nothing twice. A client that has received
// everything up to a waiting call is asked again: it may have been cut off
// before the user answered.
func (d *Blocks) Chunks(e *runlog.Event) []schemas.Chunk {
	d.noteWrite(e.Body)
	list := d.of(e)
	for i := range list {
		list[i].Seq = e.Seq
	}
	if d.after > 0 {
		d.noteWaits(e, list)
	}
	switch {
	case e.Seq > d.after:
	case e.Terminal():
		list = slices.DeleteFunc(list, func(c schemas.Chunk) bool { return isContent(&c) })
	case e.Seq == d.after:
		list = d.waits
	default:
		return nil
	}
	if len(list) > 0 && d.ids != nil {
		first := &list[0]
		first.RunID, first.ChatID, first.ConversationID, first.MessageID = d.ids.RunID, d.ids.ChatID, d.ids.ConversationID, d.ids.MessageID
		d.ids = nil
	}
	return list
}

// isContent reports whether a chunk has content that is appended to a block.
func isContent(c *schemas.Chunk) bool { return c.BlockIDs != "" && c.Content != nil && !c.End }

// one returns a list of one chunk.
func (d *Blocks) one(c schemas.Chunk) []schemas.Chunk {
	d.list = append(d.list[:0], c)
	return d.list
}

// of returns at most one chunk for an event, and for a terminal event at most
// one with the answer's content: a client that is cut off after it comes back
// with that event's number.
func (d *Blocks) of(e *runlog.Event) []schemas.Chunk {
	if list := d.text(e); list != nil {
		return list
	}
	over := false // no header row will follow
	switch b := e.Body.(type) {
	case *runlog.Started:
		return d.begin(&b.Run, &b.Target, b.Message, b.Code)
	case *runlog.Attempt:
		return d.again(b)
	case *runlog.Status:
		return d.line(b)
	case *runlog.BlockReset:
		if b.New {
			return nil
		}
		if b.End {
			d.withdraw(b.Place.BlockIDs)
		}
		return d.one(schemas.Chunk{Type: schemas.ChunkReset, BlockIDs: b.Place.BlockIDs, DocumentID: b.Place.DocumentID, End: b.End})
	case *runlog.BlockHeader:
		return d.one(d.block(b.Place, b.Header))
	case *runlog.BlockContent:
		return d.one(d.block(b.Place, b.Text))
	case *runlog.BlockDone:
		return d.one(d.blockEnd(b.Place))
	case *runlog.Completed:
		return d.end(schemas.RunCompleted, nil, &b.Payload)
	case *runlog.Failed:
		return d.end(schemas.RunFailed, b, nil)
	case *runlog.Cancelled:
		return d.end(schemas.RunCancelled, nil, nil)
	case *runlog.LevelEnd:
		over = b.Depth == runlog.GroupLevel && e.At.Thread == 0 && d.held != ""
	default:
		if c, ok := callChunk(e.Body); ok {
			d.called = true
			return d.one(c)
		}
	}
	if over && !d.open && d.kind() == schemas.BlockChart && !d.withdrawn() {
		return d.first()
	}
	if (d.open || over) && !d.withdrawn() {
		d.open = true
		return d.flush("")
	}
	return nil
}

// text returns the chunk for a piece of the answer, nil for any other event.
func (d *Blocks) text(e *runlog.Event) []schemas.Chunk {
	text := ""
	switch b := e.Body.(type) {
	case *runlog.Text:
		text = d.joiner.Text(b.Text)
	case *runlog.Marker:
		d.joiner.Marker()
	case *runlog.KeptText:
		d.joiner = runlog.Joiner{}
		text = d.joiner.Text(b.Text)
		d.joiner.Marker()
	default:
	}
	switch {
	case text == "", d.withdrawn():
		return nil
	case d.open:
		return d.flush(text)
	}
	d.held += text
	whole := true
	switch d.kind() {
	case schemas.BlockCSV:
		_, whole = schemas.HeaderRow(d.held)
	case schemas.BlockChart:
		_, _, whole = schemas.ChartHeader(d.held, false)
	}
	if !whole {
		return nil
	}
	return d.first()
}

// first begins the block with what comes before its content: for a table the
// header row, as a chunk of its own. The rest is held.
func (d *Blocks) first() []schemas.Chunk {
	d.open = true
	header := d.answer.Header
	switch d.kind() {
	case schemas.BlockCSV:
		n, _ := schemas.HeaderRow(d.held)
		header, d.held = d.held[:n], d.held[n:]
	case schemas.BlockChart:
		own, n, _ := schemas.ChartHeader(d.held, true)
		header, d.held = cmp.Or(own, header), d.held[n:]
	}
	if header == "" {
		return d.flush("")
	}
	return d.one(d.content(header))
}

// flush returns a chunk with the held text and the given text.
func (d *Blocks) flush(text string) []schemas.Chunk {
	text, d.held = d.held+text, ""
	if text == "" {
		return nil
	}
	return d.one(d.content(text))
}

func (d *Blocks) content(text string) schemas.Chunk {
	return schemas.Chunk{Type: d.kind(), BlockIDs: d.answer.BlockIDs, DocumentID: d.answer.DocumentID, Content: &text}
}

func (d *Blocks) kind() string {
	if d.answer.Type == "" {
		return schemas.BlockMarkdown
	}
	return d.answer.Type
}

// begin takes the ids of the run.
func (d *Blocks) begin(run *runlog.Run, target *runlog.Target, message string, code schemas.StatusCode) []schemas.Chunk {
	if d.run == "" {
		d.run, d.answer = run.RunID, *target
		d.ids = &schemas.Chunk{RunID: run.RunID, ChatID: run.ChatID, ConversationID: run.ConversationID, MessageID: target.MessageID}
	}
	d.open, d.called, d.held, d.joiner = false, false, "", runlog.Joiner{}
	d.waits = d.waits[:0]
	return d.status(message, code)
}

// again withdraws, after a recovery, what no longer counts. A process that was
// killed may have lost everything before.
func (d *Blocks) again(b *runlog.Attempt) []schemas.Chunk {
	shown := (d.open || d.called || d.after > 0) && !d.withdrawn()
	status := d.begin(&b.Run, &b.Target, b.Message, b.Code)
	if !shown {
		return status
	}
	return d.one(schemas.Chunk{Type: schemas.ChunkReset, BlockIDs: d.answer.BlockIDs, DocumentID: d.answer.DocumentID, KeptThrough: &b.KeptThrough})
}

// line returns a status line, with the approval that it asks for. A running
// call that is already shown as a block gets no line.
func (d *Blocks) line(s *runlog.Status) []schemas.Chunk {
	if s.Shown {
		return nil
	}
	list := d.status(s.Message, s.Code)
	if len(list) > 0 {
		list[0].Values = statusValues(s)
		list[0].ApprovalID, list[0].Reason = s.ApprovalID, s.Reason
	}
	return list
}

func (d *Blocks) status(message string, code schemas.StatusCode) []schemas.Chunk {
	if message == "" {
		return nil
	}
	return d.one(schemas.Chunk{Type: schemas.ChunkStatus, Content: &message, StatusCode: code})
}

// block returns a piece of a block that a tool writes.
func (d *Blocks) block(p runlog.Place, text string) schemas.Chunk {
	if !slices.ContainsFunc(d.begun, func(b schemas.Chunk) bool { return b.BlockIDs == p.BlockIDs }) {
		d.begun = append(d.begun, schemas.Chunk{Type: p.Type, BlockIDs: p.BlockIDs, DocumentID: p.DocumentID, Content: new(""), End: true})
	}
	return schemas.Chunk{Type: p.Type, BlockIDs: p.BlockIDs, DocumentID: p.DocumentID, Content: &text}
}

// blockEnd ends a block that a tool writes.
func (d *Blocks) blockEnd(p runlog.Place) schemas.Chunk {
	d.begun = slices.DeleteFunc(d.begun, func(b schemas.Chunk) bool { return b.BlockIDs == p.BlockIDs })
	return schemas.Chunk{Type: p.Type, BlockIDs: p.BlockIDs, DocumentID: p.DocumentID, Content: new(""), End: true}
}

// end ends the open blocks and the run. The answer's block also ends if the
// client waits for it and nothing has been written. The answer's payloads,
// suggestions and warnings come before the end. If the run failed, the error
// ends the answer.
func (d *Blocks) end(state schemas.RunState, failed *runlog.Failed, answer *schemas.ChatResponsePayload) []schemas.Chunk {
	var list []schemas.Chunk
	if d.open = (d.open || d.held != "") && !d.withdrawn(); d.open {
		list = d.flush("") // first, see Chunks
	}
	list = append(list, d.begun...)
	if d.open || d.answer.Awaited && failed == nil && !d.withdrawn() {
		list = append(list, d.content(""))
		list[len(list)-1].End = true
	}
	if failed != nil {
		list = append(list, schemas.Chunk{
			Type: schemas.ChunkError, BlockIDs: d.answer.BlockIDs, DocumentID: d.answer.DocumentID, Content: &failed.Message, Code: failed.Code, End: true,
		})
	}
	if answer != nil {
		list = appendBeside(list, answer)
	}
	return append(list, schemas.Chunk{Type: schemas.ChunkRunEnd, RunID: d.run, Status: state})
}
