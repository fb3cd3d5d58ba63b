package api

import (
	"encoding/json"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
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

// chunks returns what an event shows, in order. A client that has had some chunk
// of a run's end, the content at least if there was any, may have been cut off
// behind it: the ends come again, for they end nothing twice.
func (d *blocksDialect) chunks(e *runlog.Event) []schemas.Chunk {
	list := d.of(e)
	switch {
	case e.Seq > d.after:
	case e.Kind.Terminal():
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
	switch e.Kind { //nolint:exhaustive // the others have no chunk of their own
	case runlog.Started, runlog.Attempt:
		return d.begin(e)
	case runlog.Status:
		return lineChunk(statusOf(e))
	case runlog.ToolProgress:
		return progressChunk(e)
	case runlog.BlockReset, runlog.BlockHeader, runlog.BlockContent, runlog.BlockDone:
		return []schemas.Chunk{d.block(e)}
	case runlog.Completed, runlog.Failed, runlog.Cancelled:
		return d.end(e)
	}
	if d.open || e.Kind == runlog.BlockEnd && e.Thread == 0 && d.held != "" { // no header row comes any more
		d.open = true
		return d.rest("")
	}
	return nil
}

// text is a piece of the answer, nil of any other event.
func (d *blocksDialect) text(e *runlog.Event) []schemas.Chunk {
	text := d.joiner.Text(e)
	if e.Kind == runlog.Standing {
		d.joiner = runlog.Joiner{}
		d.joiner.Text(&runlog.Event{Kind: runlog.Text, Text: e.Text})
		d.joiner.Text(&runlog.Event{Kind: runlog.Marker})
		text = e.Text
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

// begin takes the ids of the run, and after a recovery takes back what does not
// stand.
func (d *blocksDialect) begin(e *runlog.Event) []schemas.Chunk {
	s := statusOf(e)
	if d.run == "" { // a process that was killed may have lost what came before the attempt
		_ = json.Unmarshal([]byte(e.Text), &d.answer) // our own
		d.run = s.RunID
		d.ids = &schemas.Chunk{RunID: s.RunID, ChatID: s.ChatID, ConversationID: s.ConversationID, MessageID: d.answer.MessageID}
	}
	shown := d.open || d.after > 0
	d.open, d.held, d.joiner = false, "", runlog.Joiner{}
	if e.Kind == runlog.Started || !shown {
		return statusChunk(s.Message)
	}
	return []schemas.Chunk{{Type: schemas.ChunkReset, BlockIDs: d.answer.BlockIDs, DocumentID: d.answer.DocumentID}}
}

// lineChunk is a status line, with the approval that it asks for.
func lineChunk(s status) []schemas.Chunk {
	list := statusChunk(s.Message)
	if len(list) > 0 && len(s.SuggestedActions) > 0 {
		var asks struct {
			ApprovalID string                 `json:"approval_id"`
			Reason     schemas.ApprovalReason `json:"reason"`
		}
		_ = json.Unmarshal(s.SuggestedActions[0].Data, &asks) // our own
		list[0].ApprovalID, list[0].Reason = asks.ApprovalID, asks.Reason
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
func progressChunk(e *runlog.Event) []schemas.Chunk {
	var t schemas.ToolProgressEvent
	var p turn.BlockProgress
	_ = json.Unmarshal(e.Data, &t)
	if t.Stage != "document" || json.Unmarshal(t.Data, &p) != nil || p.DocumentID == "" {
		return statusChunk(t.Message)
	}
	if p.NewDoc {
		return []schemas.Chunk{{Type: schemas.BlockMarkdown, BlockIDs: p.BlockIDs, DocumentID: p.DocumentID, Content: new(""), NewDoc: true}}
	}
	return []schemas.Chunk{{Type: schemas.ChunkStatus, BlockIDs: p.BlockID, DocumentID: p.DocumentID, Content: &t.Message}}
}

// block is a piece of a block that a tool writes.
func (d *blocksDialect) block(e *runlog.Event) schemas.Chunk {
	var t runlog.Target
	_ = json.Unmarshal(e.Data, &t)
	c := schemas.Chunk{Type: t.Type, BlockIDs: t.BlockIDs, DocumentID: t.DocumentID, Content: &e.Text}
	same := func(b schemas.Chunk) bool { return b.BlockIDs == c.BlockIDs }
	switch e.Kind {
	case runlog.BlockReset:
		c.Type, c.Content = schemas.ChunkReset, nil
	case runlog.BlockDone:
		c.End = true
		d.begun = slices.DeleteFunc(d.begun, same)
	default:
		if !slices.ContainsFunc(d.begun, same) {
			d.begun = append(d.begun, schemas.Chunk{Type: t.Type, BlockIDs: t.BlockIDs, DocumentID: t.DocumentID, Content: new(""), End: true})
		}
	}
	return c
}

// end ends the blocks that are open, that of the answer also where the client is
// waiting for it, and the run.
func (d *blocksDialect) end(e *runlog.Event) []schemas.Chunk {
	var list []schemas.Chunk
	var s struct {
		Message string `json:"message"`
		Code    schemas.Code
	}
	if d.open = d.open || d.held != ""; d.open {
		list = d.rest("") // first, see chunks
	}
	list = append(list, d.begun...)
	if d.open || d.answer.Awaited && e.Kind != runlog.Failed { // of a failed run the error ends it
		list = append(list, d.content(""))
		list[len(list)-1].End = true
	}
	end := schemas.Chunk{Type: schemas.ChunkRunEnd, RunID: d.run, Status: schemas.RunCompleted}
	switch e.Kind { //nolint:exhaustive // the terminal kinds
	case runlog.Failed:
		_ = json.Unmarshal(e.Data, &s)
		end.Status = schemas.RunFailed
		list = append(list, schemas.Chunk{
			Type: schemas.ChunkError, BlockIDs: d.answer.BlockIDs, DocumentID: d.answer.DocumentID, Content: &s.Message, Code: s.Code, End: true,
		})
	case runlog.Cancelled:
		end.Status = schemas.RunCancelled
	}
	return append(list, end)
}
