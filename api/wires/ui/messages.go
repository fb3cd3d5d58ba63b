package ui

import (
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
)

// maxPage is the largest page of messages.
const maxPage = 200

// messages answers with the chat's messages, which a page loads first. An answer that is
// still being written is left out: the client resumes its run.
func messages(c *wires.Call) error {
	chat, err := c.Service.Chat(c.Context(), c.User, c.Param("id"))
	if err != nil {
		return err
	}
	q := c.URL.Query()
	limit := maxPage
	if v := q.Get("limit"); v != "" {
		if limit, err = strconv.Atoi(v); err != nil || limit < 1 || limit > maxPage {
			return schemas.NewError(schemas.CodeInvalid, "the query parameter limit must be from 1 to "+strconv.Itoa(maxPage))
		}
	}
	out := object{"messages": []object{}}
	if chat.ConversationID == 0 {
		return c.Respond(out)
	}
	if err := c.Large(); err != nil {
		return err
	}
	page, err := c.Service.Chats.Get(c.Context(), c.User, chat.ConversationID, record.MessageQuery{Limit: limit, Cursor: q.Get("cursor")})
	if err != nil {
		return err
	}
	list := make([]object, 0, len(page.Messages))
	for i := range page.Messages {
		m := &page.Messages[i]
		clients, err := clientTools(c, m)
		if err != nil {
			return err
		}
		list = append(list, message(m, clients))
	}
	out["messages"] = list
	if page.NextCursor != "" {
		out["next_cursor"] = page.NextCursor
	}
	return c.Respond(out)
}

// clientTools returns the indexes of an answer's calls that the page ran.
func clientTools(c *wires.Call, m *schemas.Message) (map[int]bool, error) {
	if len(m.ToolHistory) == 0 || m.RunID == "" {
		return nil, nil
	}
	waits, err := c.Service.Runs.Waits(c.Context(), c.User, m.RunID)
	clients := make(map[int]bool)
	for _, w := range waits {
		clients[w.Index] = w.Kind == schemas.WaitClientTool
	}
	return clients, err
}

// message is a stored message as a UIMessage.
func message(m *schemas.Message, clients map[int]bool) object {
	ui := object{"id": m.ID, "role": m.Role}
	metadata := object{"conversation_id": m.ConversationID, "status": m.Status}
	if m.RunID != "" {
		metadata["run_id"] = m.RunID
	}
	var parts []object
	if m.Role == "user" {
		parts = append(parts, textPart(m.Content))
		for _, a := range m.Attachments {
			parts = append(parts, object{"type": "data-attachment", "data": a})
		}
	} else {
		parts = answerParts(m, clients)
		if m.Usage != nil {
			metadata["usage"] = m.Usage
		}
		if m.StopReason != "" {
			metadata["stop_reason"] = m.StopReason
		}
		if m.Error != nil {
			metadata["error"] = m.Error
		}
	}
	ui["metadata"], ui["parts"] = metadata, parts
	return ui
}

func textPart(text string) object {
	return object{"type": "text", "text": text, "state": "done"}
}

// answerParts returns the parts of an answer: its text, split at the markers of its calls,
// with the calls between.
func answerParts(m *schemas.Message, clients map[int]bool) []object {
	parts := []object{{"type": "step-start"}}
	called := false
	for _, piece := range text.AtMarkers(m.Content) {
		if words := strings.TrimSpace(piece.Text); words != "" {
			if called {
				parts, called = append(parts, object{"type": "step-start"}), false
			}
			parts = append(parts, textPart(words))
		}
		if piece.Call >= 0 && piece.Call < len(m.ToolHistory) {
			parts, called = append(parts, callPart(m, piece.Call, clients[piece.Call])), true
		}
	}
	for _, p := range m.Payloads {
		parts = append(parts, object{"type": "data-payload", "id": p.PayloadID, "data": p})
	}
	if data := suggestions(m.SuggestedValues, m.SuggestedActions); data != nil {
		parts = append(parts, object{"type": "data-suggestions", "data": data})
	}
	return parts
}

// callPart is the part of a call that has ended.
func callPart(m *schemas.Message, index int, client bool) object {
	call := &m.ToolHistory[index]
	p := object{"toolCallId": wires.CallID(m.RunID, index), "input": call.Input}
	if client {
		p["type"] = "tool-" + call.ToolName
	} else {
		p["type"], p["toolName"], p["providerExecuted"] = "dynamic-tool", call.ToolName, true
	}
	if call.IsError {
		p["state"], p["errorText"] = "output-error", call.Output
	} else {
		p["state"], p["output"] = "output-available", call.Output
	}
	return p
}
