package ui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// The triggers of a request.
const (
	submit     = "submit-message"
	regenerate = "regenerate-message"
)

// request is what the client sends: its whole list of messages, or only the last one.
type request struct {
	ID        string      `json:"id"`
	Messages  []uiMessage `json:"messages"`
	Message   *uiMessage  `json:"message"`
	Trigger   string      `json:"trigger"`
	MessageID string      `json:"messageId"`
	// AI is the client's major version. A body without it has that of the query.
	AI int `json:"ai"`

	Context      schemas.Object       `json:"context"`
	ClientTools  []schemas.ClientTool `json:"client_tools"`
	Model        string               `json:"model"`
	IfBusy       string               `json:"if_busy"`
	OnDisconnect string               `json:"on_disconnect"`
	Unlisted     bool                 `json:"unlisted"`
}

// uiMessage is a UIMessage. Parts of other types are ignored.
type uiMessage struct {
	ID    string `json:"id"`
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Type string `json:"type"`
	Text string `json:"text"` // of text

	MediaType string `json:"mediaType"` // of file
	Filename  string `json:"filename"`
	URL       string `json:"url"`

	ToolCallID       string          `json:"toolCallId"` // of tool-<name> and dynamic-tool
	State            string          `json:"state"`
	Output           json.RawMessage `json:"output"`
	ErrorText        string          `json:"errorText"`
	ProviderExecuted bool            `json:"providerExecuted"`
	Approval         *struct {
		Approved *bool `json:"approved"`
	} `json:"approval"`
}

// decode reads the request.
func decode(c *wires.Call) (*request, error) {
	var r request
	if err := c.Decode(&r); err != nil {
		return nil, err
	}
	if r.Message != nil && r.Messages == nil {
		r.Messages = []uiMessage{*r.Message}
	}
	major, err := version(c)
	if err != nil {
		return nil, err
	}
	r.AI = cmp.Or(r.AI, major)
	switch {
	case r.ID == "":
		return nil, schemas.Invalid("/id", "is required")
	case len(r.Messages) == 0:
		return nil, schemas.Invalid("/messages", "must have a message")
	case r.AI < noApprovals || r.AI > newest:
		return nil, errVersion
	case r.Trigger != "" && r.Trigger != submit && r.Trigger != regenerate:
		return nil, schemas.Invalid("/trigger", "must be "+submit+" or "+regenerate)
	}
	for i, m := range r.Messages {
		if !slices.Contains([]string{"user", "assistant", "system"}, m.Role) {
			return nil, schemas.Invalid("/messages/"+strconv.Itoa(i)+"/role", "must be user, assistant or system")
		}
	}
	return &r, nil
}

// text returns the message's text.
func (m *uiMessage) text() string {
	var lines, files []string
	for _, p := range m.Parts {
		switch {
		case p.Type == "text":
			lines = append(lines, p.Text)
		case p.Type == "file" && m.Role == "user":
			files = append(files, p.Filename)
		}
	}
	return wires.Text(lines, files)
}

// list returns the messages without the system messages, and the texts of those.
func (r *request) list() (list []wires.Message, system []string) {
	for i := range r.Messages {
		m := &r.Messages[i]
		if m.Role == "system" {
			system = append(system, m.text())
			continue
		}
		list = append(list, wires.Message{ID: m.ID, Role: m.Role, Text: m.text()})
	}
	return list, system
}

// answers returns the run whose calls the last message answers, with the answers; ok is
// false if the request brings no answers.
func (r *request) answers() (run string, list []record.CallAnswer, ok bool) {
	last := &r.Messages[len(r.Messages)-1]
	if r.Trigger == regenerate || last.Role != "assistant" {
		return "", nil, false
	}
	run, list = last.answers()
	return run, list, true
}

// answersBefore returns the answers of the message right before that of the user, with the
// index of that message.
func (r *request) answersBefore() (run string, list []record.CallAnswer, at int) {
	for at = r.lastUser() - 1; at >= 0 && r.Messages[at].Role == "system"; at-- {
	}
	if r.Trigger == regenerate || at < 0 || r.Messages[at].Role != "assistant" {
		return "", nil, at
	}
	run, list = r.Messages[at].answers()
	return run, list, at
}

// answers returns the run whose calls the message answers, with the answers.
func (m *uiMessage) answers() (run string, list []record.CallAnswer) {
	for _, p := range m.Parts {
		of, index, known := wires.ParseCall(p.ToolCallID)
		if !known {
			continue
		}
		a := record.CallAnswer{Index: index}
		switch {
		case p.State == "approval-responded" && p.Approval != nil:
			a.Approved = p.Approval.Approved
		case p.ProviderExecuted:
		case p.State == "output-available":
			a.Output = p.Output
			if wires.Null(a.Output) {
				a.Output = json.RawMessage("null")
			}
		case p.State == "output-error":
			a.Output, a.IsError = schemas.Encode(p.ErrorText), true
		}
		if a.Approved != nil || a.Output != nil {
			if of != run { // the last call decides the run
				run, list = of, nil
			}
			list = append(list, a)
		}
	}
	return run, list
}

// answerTo returns the pointer of the outcome of a call in a message.
func (r *request) answerTo(call string, at int) string {
	i := slices.IndexFunc(r.Messages[at].Parts, func(p part) bool { return p.ToolCallID == call })
	return "/messages/" + strconv.Itoa(at) + "/parts/" + strconv.Itoa(i) + "/output"
}

// asked returns the chat request with all that the body says except the messages.
func (r *request) asked(c *wires.Call, chat schemas.Chat, system []string) (*schemas.ChatRequest, error) {
	req := &schemas.ChatRequest{
		ChatID: chat.ChatID, Context: r.Context, ClientTools: r.ClientTools, Model: r.Model, IfBusy: r.IfBusy, OnDisconnect: r.OnDisconnect, Unlisted: r.Unlisted,
	}
	wires.Tools(req.ClientTools)
	wires.Defaults(req, c.URL.Query())
	if req.IfBusy == "" {
		req.IfBusy = "cancel" // the client's stop() closes the connection, but the run continues
	}
	return req, wires.Instruct(req, system, "/messages")
}

// ask puts the user's last message into the request, with its files.
func (r *request) ask(req *schemas.ChatRequest, at int) error {
	m := &r.Messages[at]
	req.Message = m.text()
	req.MessageID = m.ID
	for i, p := range m.Parts {
		if p.Type != "file" {
			continue
		}
		file, err := wires.File(p.URL, p.MediaType, p.Filename, len(req.Attachments)+1, pointer(at, i))
		if err != nil {
			return err
		}
		req.Attachments = append(req.Attachments, file)
	}
	return nil
}

// pointer points to the URL of a part.
func pointer(message, part int) string {
	return "/messages/" + strconv.Itoa(message) + "/parts/" + strconv.Itoa(part) + "/url"
}

// pointed returns the error with pointers into the client's body.
func (r *request) pointed(err error, at int) error {
	var files []string
	for i, p := range r.Messages[at].Parts {
		if p.Type == "file" {
			files = append(files, pointer(at, i))
		}
	}
	return wires.Pointed(err, "/messages/"+strconv.Itoa(at)+"/parts", files)
}

// lastUser returns the index of the last user message, -1 if there is none.
func (r *request) lastUser() int {
	for i, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return i
		}
	}
	return -1
}
