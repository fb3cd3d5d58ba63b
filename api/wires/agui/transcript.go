package agui

import (
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
)

// message is a message of the protocol.
type message struct {
	ID         string     `json:"id"`
	Role       string     `json:"role"`
	Content    any        `json:"content,omitempty"` // text; of an activity an object
	ToolCalls  []toolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
	Error      string     `json:"error,omitempty"`
	Activity   string     `json:"activityType,omitempty"`
	Metadata   object     `json:"metadata,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// transcript collects the messages of an answer from its events. A nil transcript collects
// nothing.
type transcript struct{ list []message }

// at returns the answer's message id, which it adds if it is new.
func (t *transcript) at(id string) *message {
	for i := range t.list {
		if t.list[i].ID == id {
			return &t.list[i]
		}
	}
	t.list = append(t.list, message{ID: id, Role: "assistant", Content: &strings.Builder{}})
	return &t.list[len(t.list)-1]
}

func (t *transcript) text(id, text string) {
	if t != nil {
		t.at(id).Content.(*strings.Builder).WriteString(text)
	}
}

func (t *transcript) call(message, id, name string) {
	if t != nil {
		m := t.at(message)
		m.ToolCalls = append(m.ToolCalls, toolCall{ID: id, Type: "function", Function: function{Name: name}})
	}
}

func (t *transcript) arguments(id, text string) {
	if t == nil {
		return
	}
	for i := range t.list {
		for k := range t.list[i].ToolCalls {
			if c := &t.list[i].ToolCalls[k]; c.ID == id {
				c.Function.Arguments += text
			}
		}
	}
}

func (t *transcript) result(id, output string, failed bool) {
	if t != nil {
		t.list = append(t.list, result(id, output, failed))
	}
}

func (t *transcript) payload(p *schemas.CustomPayload) {
	if t != nil {
		t.list = append(t.list, payload(p))
	}
}

// messages returns the messages so far.
func (t *transcript) messages() []message {
	if t == nil {
		return nil
	}
	list := make([]message, len(t.list))
	for i, m := range t.list {
		if words, ok := m.Content.(*strings.Builder); ok {
			m.Content = words.String()
		}
		list[i] = m
	}
	return list
}

func result(call, output string, failed bool) message {
	m := message{ID: call + "-result", Role: "tool", ToolCallID: call, Content: output}
	if failed {
		m.Error = output
	}
	return m
}

func payload(p *schemas.CustomPayload) message {
	return message{ID: "payload-" + p.PayloadID, Role: "activity", Activity: "chattray.payload", Content: p}
}

// stored returns a chat's messages, without the answer of the run except.
func stored(list []schemas.Message, except string) []message {
	out := []message{}
	for i := range list {
		switch m := &list[i]; {
		case m.Role == "user":
			user := message{ID: m.ID, Role: m.Role, Content: m.Content}
			if len(m.Attachments) > 0 {
				user.Metadata = object{"attachments": m.Attachments}
			}
			out = append(out, user)
		case m.RunID == "" || m.RunID != except:
			out = append(out, answer(m)...)
		}
	}
	return out
}

// answer returns a stored answer: its text, split at the markers of its calls, with the
// calls between.
func answer(m *schemas.Message) (out []message) {
	var results []message
	var words string
	var calls []toolCall
	flush := func() {
		if words != "" || len(calls) > 0 {
			out = append(out, message{ID: m.ID + "-s" + strconv.Itoa(len(out)), Role: "assistant", Content: words, ToolCalls: calls})
		}
		out, results, words, calls = append(out, results...), nil, "", nil
	}
	for _, piece := range text.AtMarkers(m.Content) {
		if trimmed := strings.TrimSpace(piece.Text); trimmed != "" {
			if len(calls) > 0 {
				flush()
			}
			words += trimmed
		}
		if piece.Call < 0 || piece.Call >= len(m.ToolHistory) {
			continue
		}
		made, id := &m.ToolHistory[piece.Call], wires.CallID(m.RunID, piece.Call)
		calls = append(calls, toolCall{ID: id, Type: "function", Function: function{Name: made.ToolName, Arguments: string(made.Input)}})
		results = append(results, result(id, made.Output, made.IsError))
	}
	flush()
	for i := range m.Payloads {
		if m.Payloads[i].PayloadID != "" {
			out = append(out, payload(&m.Payloads[i]))
		}
	}
	return out
}
