package ws

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// answer gives the user's decision or the result of a page tool to a waiting
// call. Everyone who watches the run sees it in the run's chunks.
func (k *socket) answer(ctx context.Context, e *schemas.SocketEvent) error {
	if err := missing(e); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // the decision counts even if the client goes away at once
	var err error
	if e.Name == "approve" {
		_, err = k.server.Runs.Approve(ctx, k.user, e.RunID, e.ApprovalID, schemas.ApprovalAnswer{Approved: *e.Approved, Input: e.Input})
	} else {
		_, err = k.server.Runs.ToolResult(ctx, k.user, e.RunID, schemas.ClientToolResult{ToolUseID: e.ToolUseID, Output: e.Output, IsError: e.IsError})
	}
	return err
}

// missing refuses an answer without a required field, because its zero value
// has a meaning.
func missing(e *schemas.SocketEvent) error {
	given := map[string]bool{"run_id": e.RunID != ""}
	if e.Name == "approve" {
		given["approval_id"], given["approved"] = e.ApprovalID != "", e.Approved != nil
	} else {
		given["tool_use_id"], given["output"] = e.ToolUseID != "", e.Output != nil
	}
	var list []schemas.FieldError
	for _, field := range slices.Sorted(maps.Keys(given)) {
		if !given[field] {
			list = append(list, schemas.FieldError{Pointer: "/" + field, Detail: "is required for " + e.Name})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return bodies.FieldsError(schemas.CodeInvalid, "the event has values that are not allowed", list)
}

// notUser refuses an event with another user's id. It names the id of this
// socket's user, which the user can read at GET /api/me.
func (k *socket) notUser() error {
	return schemas.NewError(schemas.CodeForbidden, "user_id must be the id of this socket's user, ISSUER|SUBJECT: "+
		strconv.Quote(k.user.ID)+" (GET /api/me has it); it may be left out")
}

// wordsOfFrames replaces the words about a request by words about an event.
var wordsOfFrames = strings.NewReplacer(
	"this Idempotency-Key was used with another body", "this id was used with another event",
	"the body", "the frame", "this request", "an event", "the request", "the event",
)

// ofFrame turns an error about a request's body into one about a frame, with
// the places of the fields in the frame. Without an event they are those already.
func ofFrame(err error, sent *schemas.SocketEvent) error {
	e, ok := errors.AsType[*schemas.Error](err)
	if !ok {
		return err
	}
	frame := *e
	frame.Message = wordsOfFrames.Replace(frame.Message)
	frame.Fields = slices.Clone(frame.Fields)
	for i := range frame.Fields {
		frame.Fields[i].Pointer = placeInFrame(frame.Fields[i].Pointer, sent)
	}
	return &frame
}

// placeInFrame returns the member of a frame that became the place in a request.
// What the frame's own context says stays there.
func placeInFrame(pointer string, sent *schemas.SocketEvent) string {
	if sent == nil {
		return pointer
	}
	switch pointer {
	case "/message":
		return "/message/content"
	case "/context/" + turn.ContextBlocks:
		return blocksMember(sent)
	case "/context/" + turn.ContextMode:
		return "/mode"
	case "/context/" + turn.ContextDocument:
		if sent.DocumentID != "" || len(sent.Context[turn.ContextDocument]) == 0 {
			return "/document_id"
		}
	}
	return pointer
}

// blocksMember is the member in which a frame names its blocks.
func blocksMember(sent *schemas.SocketEvent) string {
	if sent.BlockID != "" && sent.BlockIDs == "" {
		return "/block_id"
	}
	return "/block_ids"
}

// about returns what the refusal of a frame says it is about, and the blocks that the frame
// names; the frame may not have the shape of an event. What is no id is left out.
func about(frame []byte) (c schemas.Chunk, blocks []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(frame, &members) != nil {
		return c, nil
	}
	member := func(name string) (value string) {
		_ = json.Unmarshal(members[name], &value) // what is no text stays empty
		return value
	}
	id := func(name string) string {
		if value := member(name); text.IsID(value) {
			return value
		}
		return ""
	}
	c = schemas.Chunk{EventID: id("id"), ApprovalID: id("approval_id"), ToolUseID: member("tool_use_id")}
	blocks, err := targets(&schemas.SocketEvent{BlockID: member("block_id"), BlockIDs: member("block_ids")})
	if err != nil {
		return c, nil
	}
	return c, blocks
}

// done answers an event that has an id.
func (k *socket) done(ctx context.Context, e *schemas.SocketEvent, c schemas.Chunk) {
	if e.ID != "" {
		c.Type, c.EventID = schemas.ChunkAck, e.ID
		k.send(ctx, &c)
	}
}
