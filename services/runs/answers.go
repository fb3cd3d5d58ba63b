package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/jsonlimit"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

const (
	// maxClientOutput is the size of what a tool of the page may give,
	// maxClientSchema that of its schema, both in bytes.
	maxClientOutput = 256 << 10
	maxClientSchema = 32 << 10
)

// What is told of an answer that comes too late.
var (
	errOtherAnswer  = schemas.NewError(schemas.CodeConflict, "this call has had another answer")
	errAnswerLate   = schemas.NewError(schemas.CodeConflict, "the time for this answer is over")
	errAnsweredRun  = schemas.NewError(schemas.CodeConflict, "the run has ended")
	errToolNotThere = schemas.NewError(schemas.CodeConflict, "this tool is not offered any more")
)

// Approve gives the user's answer to a call that waits for it, from whatever
// device. The answer is durable when it returns, and the same one may be given
// again; another one, or one after the approval's end, is conflict. An input
// that does not fit the tool's schema is invalid.
func (r *Runs) Approve(ctx context.Context, user schemas.User, runID, approvalID string, a schemas.ApprovalAnswer) (schemas.Run, error) {
	run, w, err := r.waitOf(ctx, user, runID, func(w record.Wait) bool { return w.Kind == record.WaitApproval && w.ID == approvalID })
	if err != nil {
		return schemas.Run{}, err
	}
	answer := w
	answer.Answer, answer.Edited = record.WaitDenied, nil
	if a.Approved {
		answer.Answer = record.WaitApproved
	}
	if len(a.Input) > 0 && string(a.Input) != "null" {
		if !a.Approved {
			return schemas.Run{}, schemas.Invalid("/input", "goes with an approval only")
		}
		if answer.Edited, err = r.editedInput(run, w, a.Input); err != nil {
			return schemas.Run{}, err
		}
	}
	return r.settle(ctx, user, w, answer)
}

// ToolResult gives the outcome of a tool that the page runs. It is durable when
// it returns; the same one may be given again, another one is conflict.
func (r *Runs) ToolResult(ctx context.Context, user schemas.User, runID string, result schemas.ClientToolResult) (schemas.Run, error) {
	_, w, err := r.waitOf(ctx, user, runID, func(w record.Wait) bool { return w.Kind == record.WaitClient && w.ToolUseID == result.ToolUseID })
	if err != nil {
		return schemas.Run{}, err
	}
	if len(result.Output) == 0 {
		return schemas.Run{}, schemas.Invalid("/output", "is required")
	}
	if len(result.Output) > maxClientOutput {
		return schemas.Run{}, schemas.Invalid("/output", "must have at most 256 KiB")
	}
	answer := w
	answer.Answer, answer.IsError = record.WaitResult, result.IsError
	if json.Unmarshal(result.Output, &answer.Output) != nil {
		answer.Output = string(canonical(result.Output))
	}
	return r.settle(ctx, user, w, answer)
}

// waitOf finds a wait of a run of the user's.
func (r *Runs) waitOf(ctx context.Context, user schemas.User, runID string, is func(record.Wait) bool) (record.Run, record.Wait, error) {
	run, err := r.owned(ctx, user, runID)
	if err != nil {
		return run, record.Wait{}, err
	}
	list, err := r.Store.Waits.Waits(ctx, runID)
	if err != nil {
		return run, record.Wait{}, err
	}
	i := slices.IndexFunc(list, is)
	if i < 0 {
		return run, record.Wait{}, schemas.ErrNotFound
	}
	return run, list[i], nil
}

// settle gives w its answer, wakes the call and returns the run. The first
// answer counts.
func (r *Runs) settle(ctx context.Context, user schemas.User, w, answer record.Wait) (schemas.Run, error) {
	if w.Answer == "" {
		answer.AnsweredAt = r.now()
		given := answer
		if !answer.AnsweredAt.Before(w.ExpiresAt) {
			given = w
			given.Answer, given.AnsweredAt = record.WaitExpired, answer.AnsweredAt
		}
		var err error
		if w, err = r.Store.Waits.AnswerWait(ctx, given); errors.Is(err, record.ErrEnded) {
			return schemas.Run{}, errAnsweredRun
		} else if err != nil {
			return schemas.Run{}, err
		}
		if one := r.find(w.RunID); one != nil {
			defer one.wakeups.Ring(w.Index) // the run goes on once its state has been read
		}
	}
	switch {
	case w.Answer == record.WaitExpired:
		return schemas.Run{}, errAnswerLate
	case w.Answer != answer.Answer, w.Output != answer.Output, w.IsError != answer.IsError, !bytes.Equal(w.Edited, answer.Edited):
		return schemas.Run{}, errOtherAnswer
	}
	return r.Run(ctx, user, w.RunID)
}

// editedInput checks an input against the tool's schema and returns it on one
// line; nil is the input that the call has anyway.
func (r *Runs) editedInput(run record.Run, w record.Wait, input json.RawMessage) (json.RawMessage, error) {
	edited := canonical(input)
	if !bytes.HasPrefix(edited, []byte("{")) {
		return nil, schemas.Invalid("/input", "must be an object")
	}
	if bytes.Equal(edited, canonical(w.Input)) {
		return nil, nil
	}
	if w.Answer != "" || run.State.Terminal() {
		return edited, nil // it is only compared
	}
	var req schemas.ChatRequest
	if err := json.Unmarshal(run.Request, &req); err != nil {
		return nil, err
	}
	offer, err := r.offer(&req, run.Owner)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(offer.Tools, func(t turn.Tool) bool { return t.Name == w.Tool })
	if i < 0 {
		return nil, errToolNotThere
	}
	if check := offer.Tools[i].Check; check != nil {
		if err := check(edited); err != nil {
			return nil, schemas.Invalid("/input", err.Error())
		}
	}
	return edited, nil
}

// canonical is JSON on one line with the keys of objects in order; what is no
// JSON stays as it is.
func canonical(raw json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return raw
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// checkClientTools refuses tools of the page that cannot be offered: those with
// the name of another one, or without a schema within the limits.
func (r *Runs) checkClientTools(req *schemas.ChatRequest, user schemas.User) error {
	if len(req.ClientTools) == 0 {
		return nil
	}
	bare := *req
	bare.ClientTools = nil
	offer, err := r.offer(&bare, user)
	if err != nil {
		return err
	}
	taken := make(map[string]bool)
	for _, t := range offer.Tools {
		taken[t.Name] = true
	}
	refused := &schemas.Error{Code: schemas.CodeInvalid, Message: "the request is not valid"}
	for i, def := range req.ClientTools {
		if field, why := r.clientToolFault(def, taken[def.Name]); why != "" {
			refused.Fields = append(refused.Fields, schemas.FieldError{Pointer: "/client_tools/" + strconv.Itoa(i) + "/" + field, Detail: why})
		}
		taken[def.Name] = true
	}
	if len(refused.Fields) > 0 {
		return refused
	}
	return nil
}

// clientToolFault says what is wrong with a tool of the page, and where.
func (r *Runs) clientToolFault(def schemas.ClientTool, taken bool) (field, why string) {
	switch {
	case taken:
		return "name", "is the name of another tool"
	case strings.Contains(def.Name, "__"):
		return "name", "must not contain __"
	case len(def.InputSchema) > maxClientSchema:
		return "input_schema", "must have at most 32 KiB"
	case r.MakeClientTool == nil:
		return "name", "tools of the page are not taken here"
	}
	if len(def.InputSchema) == 0 {
		return "input_schema", "is required"
	}
	_, err := r.MakeClientTool(def)
	if at, ok := errors.AsType[*jsonlimit.Fault](err); ok {
		return "input_schema" + at.Pointer, at.Detail
	}
	if err != nil {
		return "input_schema", "must be a JSON schema of type object"
	}
	return "", ""
}

// withClientTools adds the tools of the page to those that are offered. What
// cannot be offered any more, for a run that an earlier process began, is left
// out.
func (r *Runs) withClientTools(offered []turn.Tool, defs []schemas.ClientTool) []turn.Tool {
	if r.MakeClientTool == nil {
		return offered
	}
	for _, def := range defs {
		if slices.ContainsFunc(offered, func(t turn.Tool) bool { return t.Name == def.Name }) {
			continue
		}
		if t, err := r.MakeClientTool(def); err == nil {
			offered = append(offered, t)
		}
	}
	return offered
}
