package eventlog

import (
	"encoding/json"
	"fmt"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
)

// In segments of version 1 an event has a text and the JSON that the dialect
// chat or messages showed for it. Such segments are no longer written.

// bodyOf1 makes the body of an event of version 1 from its text and its JSON,
// by its tag. Bodies that are only a text are made elsewhere.
var bodyOf1 = [...]func(text string, data []byte) (runlog.Body, error){
	1:  started1,
	2:  status1,
	3:  attempt1,
	4:  levelStart1(runlog.ThreadLevel),
	5:  levelStart1(runlog.GroupLevel),
	6:  levelStart1(runlog.MessageLevel),
	7:  levelEnd1(runlog.MessageLevel),
	8:  levelEnd1(runlog.GroupLevel),
	9:  levelEnd1(runlog.ThreadLevel),
	10: nil, // Text
	11: func(text string, _ []byte) (runlog.Body, error) { return &runlog.Marker{Text: text}, nil },
	12: nil, // Thinking
	13: call1,
	14: func(text string, _ []byte) (runlog.Body, error) { return &runlog.KeptText{Text: text}, nil },
	15: func(_ string, data []byte) (runlog.Body, error) { b, err := toolStart1(data); return &b, err },
	16: func(_ string, data []byte) (runlog.Body, error) { b, err := toolProgress1(data); return &b, err },
	17: func(text string, data []byte) (runlog.Body, error) {
		b, err := toolComplete1(text, data)
		return &b, err
	},
	18: func(_ string, data []byte) (runlog.Body, error) {
		b := runlog.Payload{Index: runlog.NoIndex}
		return &b, json.Unmarshal(data, &b.CustomPayload)
	},
	19: nil, // Completed
	20: failed1,
	21: func(_ string, data []byte) (runlog.Body, error) {
		var e schemas.CancelledEvent
		err := json.Unmarshal(data, &e)
		return &runlog.Cancelled{MessageID: e.MessageID}, err
	},
	22: nil, // ThreadText
	23: func(_ string, data []byte) (runlog.Body, error) {
		b, err := toolStart1(data)
		return &runlog.ThreadToolStart{ToolStart: b}, err
	},
	24: func(_ string, data []byte) (runlog.Body, error) {
		b, err := toolProgress1(data)
		return &runlog.ThreadToolProgress{ToolProgress: b}, err
	},
	25: func(text string, data []byte) (runlog.Body, error) {
		b, err := toolComplete1(text, data)
		return &runlog.ThreadToolComplete{ToolComplete: b}, err
	},
	26: approvalRequest1,
	27: func(_ string, data []byte) (runlog.Body, error) {
		var e schemas.ApprovalResolvedEvent
		err := json.Unmarshal(data, &e)
		return &runlog.ApprovalResolved{ApprovalID: e.ApprovalID, Approved: e.Approved}, err
	},
	28: func(_ string, data []byte) (runlog.Body, error) {
		var e schemas.ClientToolCallEvent
		err := json.Unmarshal(data, &e)
		return &runlog.ClientToolCall{Tool: e.Tool, ToolUseID: e.ToolUseID, Index: runlog.NoIndex, Input: e.Input, ExpiresAt: e.ExpiresAt}, err
	},
	29: func(_ string, data []byte) (runlog.Body, error) {
		t, err := target1(data)
		return &runlog.BlockReset{Place: t.Place}, err
	},
	30: func(text string, data []byte) (runlog.Body, error) {
		t, err := target1(data)
		return &runlog.BlockHeader{Place: t.Place, Header: text}, err
	},
	31: func(text string, data []byte) (runlog.Body, error) {
		t, err := target1(data)
		return &runlog.BlockContent{Place: t.Place, Text: text}, err
	},
	32: func(_ string, data []byte) (runlog.Body, error) {
		t, err := target1(data)
		return &runlog.BlockDone{Place: t.Place}, err
	},
}

func started1(text string, data []byte) (runlog.Body, error) {
	var e schemas.StatusEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	target, err := target1([]byte(text))
	return &runlog.Started{Run: run1(&e), Message: e.Message, Target: target}, err
}

func attempt1(text string, data []byte) (runlog.Body, error) {
	var e schemas.StatusEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, err
	}
	if e.KeptThrough == nil || e.Text == nil {
		return nil, fmt.Errorf("an attempt without kept_through or text")
	}
	target, err := target1([]byte(text))
	return &runlog.Attempt{
		Run: run1(&e), Message: e.Message, Target: target, Number: e.Attempt, KeptThrough: *e.KeptThrough, Text: *e.Text,
	}, err
}

func run1(e *schemas.StatusEvent) runlog.Run {
	return runlog.Run{RunID: e.RunID, ConversationID: e.ConversationID, ChatID: e.ChatID, UserMessageID: e.UserMessageID}
}

// status1 finds the approval that a line asks for in its first button.
func status1(_ string, data []byte) (runlog.Body, error) {
	var e schemas.StatusEvent
	if err := json.Unmarshal(data, &e); err != nil || len(e.SuggestedActions) == 0 {
		return &runlog.Status{Message: e.Message}, err
	}
	var asks struct {
		ApprovalID string                 `json:"approval_id"`
		Reason     schemas.ApprovalReason `json:"reason"`
	}
	err := json.Unmarshal(e.SuggestedActions[0].Data, &asks)
	return &runlog.Status{Message: e.Message, ApprovalID: asks.ApprovalID, Reason: asks.Reason}, err
}

// level1 is the JSON of the start or end of a level.
type level1 struct {
	Type      string `json:"type"`
	Label     string `json:"label"`
	Ref       string `json:"ref"`
	Status    string `json:"status"`
	Tool      string `json:"tool"`
	ToolUseID string `json:"tool_use_id"`
}

func levelStart1(depth runlog.Depth) func(string, []byte) (runlog.Body, error) {
	return func(_ string, data []byte) (runlog.Body, error) {
		var l level1
		err := json.Unmarshal(data, &l)
		return &runlog.LevelStart{Depth: depth, Type: l.Type, Label: l.Label, Ref: l.Ref, Tool: l.Tool, ToolUseID: l.ToolUseID}, err
	}
}

func levelEnd1(depth runlog.Depth) func(string, []byte) (runlog.Body, error) {
	return func(_ string, data []byte) (runlog.Body, error) {
		var l level1
		err := json.Unmarshal(data, &l)
		return &runlog.LevelEnd{Depth: depth, Type: l.Type, Status: l.Status}, err
	}
}

// call1 is the first piece of a call's arguments, which has no text.
func call1(_ string, data []byte) (runlog.Body, error) {
	var c struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	err := json.Unmarshal(data, &c)
	return &runlog.Call{ID: c.ID, Name: c.Name, Index: runlog.NoIndex}, err
}

func toolStart1(data []byte) (runlog.ToolStart, error) {
	var e schemas.ToolStartEvent
	err := json.Unmarshal(data, &e)
	return runlog.ToolStart{Tool: e.Tool, ToolUseID: e.ToolUseID, Index: e.Index, Input: e.Input, Title: e.Title}, err
}

func toolProgress1(data []byte) (runlog.ToolProgress, error) {
	var e schemas.ToolProgressEvent
	err := json.Unmarshal(data, &e)
	return runlog.ToolProgress{
		Tool: e.Tool, ToolUseID: e.ToolUseID, Index: e.Index, Stage: e.Stage, Message: e.Message, Progress: e.Progress, Data: e.Data,
		Document: turn.DocumentChange(e.Stage, e.Data),
	}, err
}

func toolComplete1(output string, data []byte) (runlog.ToolComplete, error) {
	var e schemas.ToolCompleteEvent
	err := json.Unmarshal(data, &e)
	return runlog.ToolComplete{Tool: e.Tool, ToolUseID: e.ToolUseID, Index: e.Index, IsError: e.IsError, Done: e.Done, Output: output}, err
}

// completed1 distinguishes a run without a cost from one whose cost was shown
// as 0.
func completed1(data []byte) (runlog.Body, error) {
	var b runlog.Completed
	err := json.Unmarshal(data, &b.Payload)
	if err != nil || b.Payload.Usage.CostUSD != 0 {
		return &b, err
	}
	var shown struct {
		Usage struct {
			CostUSD *schemas.USD `json:"cost_usd"`
		} `json:"usage"`
	}
	if err = json.Unmarshal(data, &shown); shown.Usage.CostUSD != nil {
		b.Payload.Usage.CostUSD = 1 // rounds to 0
	}
	return &b, err
}

func failed1(_ string, data []byte) (runlog.Body, error) {
	var e schemas.ErrorEvent
	err := json.Unmarshal(data, &e)
	return &runlog.Failed{Code: e.Code, Message: e.Message, Retryable: e.Retryable, MessageID: e.MessageID}, err
}

func approvalRequest1(_ string, data []byte) (runlog.Body, error) {
	var e schemas.ApprovalRequestEvent
	err := json.Unmarshal(data, &e)
	return &runlog.ApprovalRequest{
		ApprovalID: e.ApprovalID, Tool: e.Tool, ToolUseID: e.ToolUseID, Index: runlog.NoIndex, Input: e.Input, Message: e.Message, ExpiresAt: e.ExpiresAt,
		Title: e.Title, Description: e.Description, Reason: e.Reason, ReasonText: e.ReasonText,
	}, err
}

func target1(data []byte) (runlog.Target, error) {
	if len(data) == 0 {
		return runlog.Target{}, nil
	}
	var t struct {
		BlockIDs   string `json:"block_ids"`
		DocumentID string `json:"document_id"`
		Type       string `json:"type"`
		MessageID  string `json:"message_id"`
		Header     string `json:"header"`
		Awaited    bool   `json:"awaited"`
	}
	err := json.Unmarshal(data, &t)
	return runlog.Target{
		Place: runlog.Place{BlockIDs: t.BlockIDs, DocumentID: t.DocumentID, Type: t.Type}, MessageID: t.MessageID, Header: t.Header, Awaited: t.Awaited,
	}, err
}
