package dialects

import (
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// callChunk returns the chunk for an event of a call or a payload; ok is false
// for any other event.
func callChunk(body runlog.Body) (c schemas.Chunk, ok bool) {
	switch b := body.(type) {
	case *runlog.ToolStart:
		c = startChunk(b)
	case *runlog.ToolRefused:
		c = startChunk(&b.ToolStart)
		c.Message, c.Denied = "Not run: it was not approved.", true
	case *runlog.ToolProgress:
		return progressChunk(b), true
	case *runlog.ToolComplete:
		c = toolChunk(schemas.ToolCompletes, b.Tool, b.ToolUseID, b.Index)
		c.Output, c.IsError, c.Done = b.Output, b.IsError, b.Done
	case *runlog.ApprovalRequest:
		c = schemas.Chunk{
			Type: schemas.ChunkApprovalRequest, ApprovalID: b.ApprovalID, Tool: b.Tool, ToolUseID: b.ToolUseID, Index: callIndex(b.Index), Input: b.Input, Message: b.Message,
			ExpiresAt: &b.ExpiresAt, Title: b.Title, Description: b.Description, Reason: b.Reason, ReasonText: b.ReasonText,
		}
	case *runlog.ApprovalResolved:
		c = schemas.Chunk{Type: schemas.ChunkApprovalResolved, ApprovalID: b.ApprovalID, Approved: &b.Approved}
	case *runlog.ClientToolCall:
		c = schemas.Chunk{Type: schemas.ChunkClientToolCall, Tool: b.Tool, ToolUseID: b.ToolUseID, Index: callIndex(b.Index), Input: b.Input, ExpiresAt: &b.ExpiresAt}
	case *runlog.Payload:
		c = schemas.Chunk{Type: schemas.ChunkPayload, Payload: &b.CustomPayload, ToolUseID: b.ToolUseID, Index: callIndex(b.Index)}
	default:
		return c, false
	}
	return c, true
}

func toolChunk(event, tool, id string, index int) schemas.Chunk {
	return schemas.Chunk{Type: schemas.ChunkTool, Event: event, Tool: tool, ToolUseID: id, Index: &index}
}

// progressChunk returns the chunk for a tool's progress; for a plan it has the
// document's new structure.
func progressChunk(t *runlog.ToolProgress) schemas.Chunk {
	p := t.Document
	if p != nil && p.NewDoc {
		return schemas.Chunk{Type: schemas.BlockMarkdown, BlockIDs: p.BlockIDs, BlockTypes: p.BlockTypes, DocumentID: p.DocumentID, Content: new(""), NewDoc: true}
	}
	c := toolChunk(schemas.ToolProgress, t.Tool, t.ToolUseID, t.Index)
	c.Stage, c.Message, c.Progress = t.Stage, t.Message, &t.Progress
	if len(t.Data) > 0 && string(t.Data) != "null" {
		c.Data = t.Data
	}
	if p != nil {
		c.BlockIDs, c.DocumentID = p.BlockID, p.DocumentID
	}
	return c
}

// appendBeside appends what an answer has besides its content, unless an
// earlier event has shown it.
func appendBeside(list []schemas.Chunk, p *schemas.ChatResponsePayload) []schemas.Chunk {
	for i := range p.Warnings {
		list = append(list, schemas.Chunk{Type: schemas.ChunkWarning, Content: &p.Warnings[i]})
	}
	if len(p.SuggestedValues)+len(p.SuggestedActions) > 0 {
		list = append(list, schemas.Chunk{Type: schemas.ChunkSuggestions, SuggestedValues: p.SuggestedValues, SuggestedActions: p.SuggestedActions})
	}
	return list
}

// noteWaits keeps the waiting calls: it adds those that list asks for and
// removes those that e answers.
func (d *Blocks) noteWaits(e *runlog.Event, list []schemas.Chunk) {
	over := func(is func(c *schemas.Chunk) bool) {
		d.waits = slices.DeleteFunc(d.waits, func(c schemas.Chunk) bool { return is(&c) })
	}
	switch b := e.Body.(type) {
	case *runlog.ApprovalRequest, *runlog.ClientToolCall:
		d.waits = append(d.waits, list...)
	case *runlog.ApprovalResolved:
		over(func(c *schemas.Chunk) bool { return c.ApprovalID == b.ApprovalID })
	case *runlog.ToolStart:
		over(func(c *schemas.Chunk) bool { return c.ToolUseID == b.ToolUseID })
	case *runlog.ToolRefused:
		over(func(c *schemas.Chunk) bool { return c.ToolUseID == b.ToolUseID })
	default:
	}
}

// startChunk returns the chunk for a call that begins.
func startChunk(b *runlog.ToolStart) schemas.Chunk {
	c := toolChunk(schemas.ToolStarts, schemas.CutText(b.Tool), schemas.CutText(b.ToolUseID), b.Index)
	c.Input, c.Title = schemas.CutStrings(b.Input), schemas.CutText(b.Title)
	if b.Streamed != "" { // it has been shown as a block's content, or will be
		c.Input = schemas.CutStrings(b.Beside)
	}
	return c
}
