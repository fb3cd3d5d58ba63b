package agui

import (
	"maps"
	"slices"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// block shows what is written into blocks.
func (t *table) block(out *wires.Frames, p runlog.Place, name string, value any, withdrawn bool) {
	data := object{"block_ids": p.BlockIDs, name: value}
	if p.DocumentID != "" {
		data["document_id"] = p.DocumentID
	}
	if p.Type != "" {
		data["type"] = p.Type
	}
	if withdrawn {
		data["end"] = true
	}
	custom(out, "chattray.block", data)
}

func (t *table) completed(out *wires.Frames, p *schemas.ChatResponsePayload) {
	value := object{"run_id": p.RunID, "conversation_id": p.ConversationID, "message_id": p.MessageID, "stop_reason": p.StopReason}
	if len(p.SuggestedValues) > 0 {
		value["suggested_values"] = p.SuggestedValues
	}
	if len(p.SuggestedActions) > 0 {
		value["suggested_actions"] = p.SuggestedActions
	}
	if len(p.Warnings) > 0 {
		value["warnings"] = p.Warnings
	}
	custom(out, "chattray.complete", value)
	t.endAll(out)
	t.giveUp(out)
	end := object{"threadId": t.thread, "runId": t.run}
	if t.v1 {
		end["usage"] = []object{{"inputTokens": p.Usage.InputTokens, "outputTokens": p.Usage.OutputTokens, "totalTokens": p.Usage.TotalTokens}}
	}
	out.Typed("RUN_FINISHED", end)
}

// giveUp ends the calls of which the client has no result when the run ends. It would show
// them as running, and run those of the page's tools with the arguments that it has.
func (t *table) giveUp(out *wires.Frames) {
	for _, index := range slices.Sorted(maps.Keys(t.open)) {
		if !t.brought[index] || t.Answered[index] {
			t.outcome(out, t.open[index], wires.NoOutcome, true)
		}
	}
}

func (t *table) cancelled(out *wires.Frames) {
	t.endAll(out)
	t.giveUp(out)
	if !t.v1 {
		out.Typed("RUN_ERROR", object{"message": "The answer was stopped.", "code": schemas.CodeCancelled})
		return
	}
	out.Typed("RUN_FINISHED", object{"threadId": t.thread, "runId": t.run, "outcome": object{"type": "cancelled"}})
}

// approvalSchema is the schema of the answer to an approval.
var approvalSchema = object{
	"type": "object", "required": []string{"approved"},
	"properties": object{"approved": object{"type": "boolean"}, "editedArgs": object{"type": "object"}},
}

// interrupts are the calls that wait, as a client asks its user about them.
func (t *table) interrupts(waiting []schemas.Wait) []object {
	list := make([]object, len(waiting))
	for i, w := range waiting {
		c := t.call(w.Index, w.Tool)
		v := object{"id": c.id, "reason": "tool_call", "toolCallId": c.id}
		kind := "client_tool"
		if w.Kind == schemas.WaitApproval {
			kind, v["responseSchema"] = "approval", approvalSchema
		}
		if c.message != "" {
			v["message"] = c.message
		}
		if !w.ExpiresAt.IsZero() {
			v["expiresAt"] = w.ExpiresAt.UTC().Format(time.RFC3339Nano)
		}
		v["metadata"] = object{"kind": kind, "toolName": w.Tool, "input": w.Input}
		list[i] = v
	}
	return list
}
