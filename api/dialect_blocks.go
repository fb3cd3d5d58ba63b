package api

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// blocksDialect makes the chunks of the websocket from a run's events. It is
// given all events of a run in order, also those whose chunks the client has.
// One goroutine uses it.
type blocksDialect struct {
	after  int64 // chunks up to this number are not shown
	run    string
	ids    *schemas.Chunk // that the next chunk carries
	answer runlog.Target
	joiner runlog.Joiner
	held   string // content that is not shown yet
	open   bool   // the answer's block has content
	// begun are the ends of the blocks that tools have begun: an attempt may be
	// cut off before it ends them.
	begun []schemas.Chunk
}

// openBlocks opens the dialect blocks.
func openBlocks(r *reader) encoder { return &blocksDialect{after: r.after} }

// Append implements encoder: each chunk is one line of JSON.
func (d *blocksDialect) Append(dst []byte, e *runlog.Event) []byte {
	list := d.chunks(e)
	if len(list) == 0 {
		return dst
	}
	out := bytes.NewBuffer(dst)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	for i := range list {
		_ = lines.Encode(&list[i]) // texts and numbers
	}
	return out.Bytes()
}

// chunks returns what an event shows, in order. A client that has had some chunk
// of a run's end, the content at least if there was any, may have been cut off
// after it: the ends come again, for they end nothing twice.
func (d *blocksDialect) chunks(e *runlog.Event) []schemas.Chunk {
	list := d.of(e)
	switch {
	case e.Seq > d.after:
	case e.Terminal():
		list = slices.DeleteFunc(list, func(c schemas.Chunk) bool { return !c.End && c.Type != schemas.ChunkRunEnd })
	default:
		return nil
	}
	for i := range list {
		list[i].Seq = e.Seq
	}
	if len(list) > 0 && d.ids != nil {
		first := &list[0]
		first.RunID, first.ChatID, first.ConversationID, first.MessageID = d.ids.RunID, d.ids.ChatID, d.ids.ConversationID, d.ids.MessageID
		d.ids = nil
	}
	return list
}

// of gives an event at most one chunk of the answer's content: a client that is
// cut off behind it comes back with that event's number.
func (d *blocksDialect) of(e *runlog.Event) []schemas.Chunk {
	if list := d.text(e); list != nil {
		return list
	}
	over := false // no header row comes any more
	switch b := e.Body.(type) {
	case *runlog.Started:
		return d.begin(&b.Run, &b.Target, b.Message)
	case *runlog.Attempt:
		return d.again(b)
	case *runlog.Status:
		return lineChunk(b)
	case *runlog.ToolProgress:
		return progressChunk(b)
	case *runlog.BlockReset:
		return []schemas.Chunk{{Type: schemas.ChunkReset, BlockIDs: b.Place.BlockIDs, DocumentID: b.Place.DocumentID}}
	case *runlog.BlockHeader:
		return []schemas.Chunk{d.block(b.Place, b.Header)}
	case *runlog.BlockContent:
		return []schemas.Chunk{d.block(b.Place, b.Text)}
	case *runlog.BlockDone:
		return []schemas.Chunk{d.blockEnd(b.Place)}
	case *runlog.Completed:
		return d.end(schemas.RunCompleted, nil)
	case *runlog.Failed:
		return d.end(schemas.RunFailed, b)
	case *runlog.Cancelled:
		return d.end(schemas.RunCancelled, nil)
	case *runlog.LevelEnd:
		over = b.Depth == runlog.GroupLevel && e.At.Thread == 0 && d.held != ""
	default: // the others have no chunk of their own
	}
	if d.open || over {
		d.open = true
		return d.rest("")
	}
	return nil
}

// text is a piece of the answer, nil of any other event.
func (d *blocksDialect) text(e *runlog.Event) []schemas.Chunk {
	text := ""
	switch b := e.Body.(type) {
	case *runlog.Text:
		text = d.joiner.Text(b.Text)
	case *runlog.Marker:
		d.joiner.Marker()
	case *runlog.Standing:
		d.joiner = runlog.Joiner{}
		text = d.joiner.Text(b.Text)
		d.joiner.Marker()
	default:
	}
	switch {
	case text == "":
		return nil
	case d.open:
		return d.rest(text)
	}
	d.held += text
	if _, whole := schemas.HeaderRow(d.held); d.kind() == schemas.BlockCSV && !whole {
		return nil
	}
	return d.first()
}

// first begins the block with what comes before its content, of a table with the
// header row, as a chunk of its own; the rest is held.
func (d *blocksDialect) first() []schemas.Chunk {
	d.open = true
	header := d.answer.Header
	if d.kind() == schemas.BlockCSV {
		n, _ := schemas.HeaderRow(d.held)
		header, d.held = d.held[:n], d.held[n:]
	}
	if header == "" {
		return d.rest("")
	}
	return []schemas.Chunk{d.content(header)}
}

// rest is what is held, and text behind it.
func (d *blocksDialect) rest(text string) []schemas.Chunk {
	text, d.held = d.held+text, ""
	if text == "" {
		return nil
	}
	return []schemas.Chunk{d.content(text)}
}

func (d *blocksDialect) content(text string) schemas.Chunk {
	return schemas.Chunk{Type: d.kind(), BlockIDs: d.answer.BlockIDs, DocumentID: d.answer.DocumentID, Content: &text}
}

func (d *blocksDialect) kind() string {
	if d.answer.Type == "" {
		return schemas.BlockMarkdown
	}
	return d.answer.Type
}

// begin takes the ids of the run.
func (d *blocksDialect) begin(run *runlog.Run, target *runlog.Target, message string) []schemas.Chunk {
	if d.run == "" {
		d.run, d.answer = run.RunID, *target
		d.ids = &schemas.Chunk{RunID: run.RunID, ChatID: run.ChatID, ConversationID: run.ConversationID, MessageID: target.MessageID}
	}
	d.open, d.held, d.joiner = false, "", runlog.Joiner{}
	return statusChunk(message)
}

// again takes back, after a recovery, what no longer counts. A process that was
// killed may have lost all that came before.
func (d *blocksDialect) again(b *runlog.Attempt) []schemas.Chunk {
	shown := d.open || d.after > 0
	if status := d.begin(&b.Run, &b.Target, b.Message); !shown {
		return status
	}
	return []schemas.Chunk{{Type: schemas.ChunkReset, BlockIDs: d.answer.BlockIDs, DocumentID: d.answer.DocumentID}}
}

// lineChunk is a status line, with the approval that it asks for.
func lineChunk(s *runlog.Status) []schemas.Chunk {
	list := statusChunk(s.Message)
	if len(list) > 0 {
		list[0].ApprovalID, list[0].Reason = s.ApprovalID, s.Reason
	}
	return list
}

func statusChunk(message string) []schemas.Chunk {
	if message == "" {
		return nil
	}
	return []schemas.Chunk{{Type: schemas.ChunkStatus, Content: &message}}
}

// progressChunk is a step of a tool: of a plan the document's new structure.
func progressChunk(t *runlog.ToolProgress) []schemas.Chunk {
	p := t.Document
	switch {
	case p == nil:
		return statusChunk(t.Message)
	case p.NewDoc:
		return []schemas.Chunk{{Type: schemas.BlockMarkdown, BlockIDs: p.BlockIDs, DocumentID: p.DocumentID, Content: new(""), NewDoc: true}}
	}
	return []schemas.Chunk{{Type: schemas.ChunkStatus, BlockIDs: p.BlockID, DocumentID: p.DocumentID, Content: &t.Message}}
}

// block is a piece of a block that a tool writes.
func (d *blocksDialect) block(p runlog.Place, text string) schemas.Chunk {
	if !slices.ContainsFunc(d.begun, func(b schemas.Chunk) bool { return b.BlockIDs == p.BlockIDs }) {
		d.begun = append(d.begun, schemas.Chunk{Type: p.Type, BlockIDs: p.BlockIDs, DocumentID: p.DocumentID, Content: new(""), End: true})
	}
	return schemas.Chunk{Type: p.Type, BlockIDs: p.BlockIDs, DocumentID: p.DocumentID, Content: &text}
}

// blockEnd ends a block that a tool writes.
func (d *blocksDialect) blockEnd(p runlog.Place) schemas.Chunk {
	d.begun = slices.DeleteFunc(d.begun, func(b schemas.Chunk) bool { return b.BlockIDs == p.BlockIDs })
	return schemas.Chunk{Type: p.Type, BlockIDs: p.BlockIDs, DocumentID: p.DocumentID, Content: new(""), End: true}
}

// end ends the blocks that are open, that of the answer also where the client is
// waiting for it, and the run. Of a failed run the error ends the answer.
func (d *blocksDialect) end(state schemas.RunState, failed *runlog.Failed) []schemas.Chunk {
	var list []schemas.Chunk
	if d.open = d.open || d.held != ""; d.open {
		list = d.rest("") // first, see chunks
	}
	list = append(list, d.begun...)
	if d.open || d.answer.Awaited && failed == nil {
		list = append(list, d.content(""))
		list[len(list)-1].End = true
	}
	if failed != nil {
		list = append(list, schemas.Chunk{
			Type: schemas.ChunkError, BlockIDs: d.answer.BlockIDs, DocumentID: d.answer.DocumentID, Content: &failed.Message, Code: failed.Code, End: true,
		})
	}
	return append(list, schemas.Chunk{Type: schemas.ChunkRunEnd, RunID: d.run, Status: state})
}
