package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// answer gives the user's decision or the outcome of a tool of the page to a call
// that waits. All who watch the run see that in its chunks.
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

// missing refuses an answer without a field that it needs: the zero value would
// say something.
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
	return fieldsError(schemas.CodeInvalid, "the event has values that are not allowed", list)
}

// notUser is the answer to an event with another user's id: what the id of this
// socket's user is, which the user can read at GET /api/me.
func (k *socket) notUser() error {
	return schemas.NewError(schemas.CodeForbidden, "user_id must be the id of this socket's user, ISSUER|SUBJECT: "+
		strconv.Quote(k.user.ID)+" (GET /api/me has it); it may be left out")
}

// wordsOfFrames are the words of a request, and those of an event in their place.
var wordsOfFrames = strings.NewReplacer(
	"this Idempotency-Key was used with another body", "this id was used with another event",
	"the body", "the frame", "this request", "an event", "the request", "the event",
)

// ofFrame says of a frame what is said of a body, and of its fields where those of
// a request are elsewhere in it.
func ofFrame(err error) error {
	e, ok := errors.AsType[*schemas.Error](err)
	if !ok {
		return err
	}
	frame := *e
	frame.Message = wordsOfFrames.Replace(frame.Message)
	frame.Fields = slices.Clone(frame.Fields)
	for i := range frame.Fields {
		if frame.Fields[i].Pointer == "/message" {
			frame.Fields[i].Pointer = "/message/content"
		}
	}
	return &frame
}

// idOf returns the id of an event that may not have the shape of one.
func idOf(frame []byte) string {
	var e struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(frame, &e) != nil || !text.IsID(e.ID) {
		return ""
	}
	return e.ID
}

// done answers an event that has an id.
func (k *socket) done(ctx context.Context, e *schemas.SocketEvent, c schemas.Chunk) {
	if e.ID != "" {
		c.Type, c.EventID = schemas.ChunkAck, e.ID
		k.send(ctx, &c)
	}
}
