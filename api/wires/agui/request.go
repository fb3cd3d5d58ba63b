package agui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
)

// input is a RunAgentInput.
type input struct {
	ThreadID        string          `json:"threadId"`
	RunID           string          `json:"runId"`
	ParentRunID     string          `json:"parentRunId"`
	ProtocolVersion string          `json:"protocolVersion"`
	State           json.RawMessage `json:"state"`
	Messages        []asked         `json:"messages"`
	Tools           []tool          `json:"tools"`
	Context         []readable      `json:"context"`
	ForwardedProps  json.RawMessage `json:"forwardedProps"`
	Resume          []resume        `json:"resume"`

	// Clients in Python and Dart write the names of the ids in this way.
	ThreadIDSnake string `json:"thread_id"`
	RunIDSnake    string `json:"run_id"`

	agent string // of the path; empty for none
}

// asked is a message of the client's list.
type asked struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"toolCallId"`
	Error      string          `json:"error"`

	parts []part // of content
}

// part is a part of a message's content. Parts of other types are ignored.
type part struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source *struct {
		Type     string `json:"type"` // data, url or file
		Value    string `json:"value"`
		MimeType string `json:"mimeType"`
	} `json:"source"`
	Metadata json.RawMessage `json:"metadata"`

	MimeType string `json:"mimeType"` // of binary, before 1.0
	Data     string `json:"data"`
	URL      string `json:"url"`
	Filename string `json:"filename"`
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type readable struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

type resume struct {
	InterruptID string          `json:"interruptId"`
	Status      string          `json:"status"`
	Payload     json.RawMessage `json:"payload"`
}

// forwarded are the members of forwardedProps that have an effect.
type forwarded struct {
	Context      schemas.Object `json:"context"`
	Model        string         `json:"model"`
	IfBusy       string         `json:"if_busy"`
	OnDisconnect string         `json:"on_disconnect"`
	Unlisted     bool           `json:"unlisted"`
}

var roles = []string{"user", "assistant", "system", "developer", "tool", "activity", "reasoning"}

// decode reads the request. Without run it is of a client that connects: it may have no
// messages.
func decode(c *wires.Call) (*input, error) {
	var in input
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	in.ThreadID, in.RunID = cmp.Or(in.ThreadID, in.ThreadIDSnake), cmp.Or(in.RunID, in.RunIDSnake)
	switch {
	case in.ThreadID == "":
		return nil, schemas.Invalid("/threadId", "is required")
	case in.RunID == "":
		return nil, schemas.Invalid("/runId", "is required")
	}
	for i := range in.Messages {
		m := &in.Messages[i]
		if !slices.Contains(roles, m.Role) {
			return nil, schemas.Invalid("/messages/"+strconv.Itoa(i)+"/role", "must be one of "+strings.Join(roles, ", "))
		}
		if m.Role == "activity" || m.Role == "reasoning" { // their content has other types
			continue
		}
		if err := m.decode("/messages/" + strconv.Itoa(i) + "/content"); err != nil {
			return nil, err
		}
	}
	for i, r := range in.Resume {
		if r.Status != "resolved" && r.Status != "cancelled" {
			return nil, schemas.Invalid("/resume/"+strconv.Itoa(i)+"/status", "must be resolved or cancelled")
		}
	}
	return &in, nil
}

// decode reads the content, which is a text or a list of parts and has the pointer at.
func (m *asked) decode(at string) error {
	if wires.Null(m.Content) {
		return nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(m.Content), []byte("[")) {
		return wires.Unmarshal(m.Content, &m.parts, at)
	}
	m.parts = []part{{Type: "text"}}
	if json.Unmarshal(m.Content, &m.parts[0].Text) != nil {
		return schemas.Invalid(at, "must be a text or a list of parts")
	}
	return nil
}

// text returns the message's text; that of a tool's result has a note for each other part.
func (m *asked) text() string {
	var lines, files []string
	for i := range m.parts {
		p := &m.parts[i]
		_, _, file := p.file()
		switch {
		case p.Type == "text":
			lines = append(lines, p.Text)
		case m.Role == "tool":
			lines = append(lines, wires.LeftOut(p.Type))
		case file && m.Role == "user":
			files = append(files, p.name())
		}
	}
	return wires.Text(lines, files)
}

// list returns the messages of the user and the assistant, and the texts of the system's.
func (in *input) list() (list []wires.Message, system []string) {
	for i := range in.Messages {
		switch m := &in.Messages[i]; m.Role {
		case "system", "developer":
			system = append(system, m.text())
		case "user", "assistant":
			list = append(list, wires.Message{ID: m.ID, Role: m.Role, Text: m.text()})
		}
	}
	return list, system
}

// last returns the index of the last message that counts, -1 if there is none.
func (in *input) last() int {
	for i, m := range slices.Backward(in.Messages) {
		if m.Role != "activity" && m.Role != "reasoning" && m.Role != "system" && m.Role != "developer" {
			return i
		}
	}
	return -1
}

// request returns the chat request with all that the input says except the message.
func (in *input) request(c *wires.Call, chat schemas.Chat, system []string) (*schemas.ChatRequest, error) {
	var props forwarded
	if raw := bytes.TrimSpace(in.ForwardedProps); bytes.HasPrefix(raw, []byte("{")) {
		if err := wires.Unmarshal(raw, &props, "/forwardedProps"); err != nil {
			return nil, err
		}
	}
	req := &schemas.ChatRequest{
		ChatID: chat.ChatID, Context: props.Context, Model: props.Model, IfBusy: props.IfBusy, OnDisconnect: props.OnDisconnect, Unlisted: props.Unlisted,
	}
	for _, t := range in.Tools {
		req.ClientTools = append(req.ClientTools, schemas.ClientTool{Name: t.Name, Description: t.Description, InputSchema: t.Parameters})
	}
	wires.Tools(req.ClientTools)
	if req.Context == nil {
		req.Context = schemas.Object{}
	}
	if in.agent != "" && in.agent != defaultAgent && req.Context.String("current_page") == "" {
		req.Context["current_page"] = schemas.Encode(in.agent)
	}
	if _, given := req.Context["readables"]; !given && len(in.Context) > 0 {
		req.Context["readables"] = schemas.Encode(in.Context)
	}
	if _, given := req.Context["state"]; !given && !empty(in.State) {
		req.Context["state"] = in.State
	}
	wires.Defaults(req, c.URL.Query())
	req.IfBusy = cmp.Or(req.IfBusy, "cancel") // a client that only closes its connection must not leave the chat busy
	return req, wires.Instruct(req, system, "/messages")
}

// empty reports whether the client's state says nothing.
func empty(state json.RawMessage) bool {
	switch s := string(bytes.Join(bytes.Fields(state), nil)); s {
	case "", "null", "{}", "[]", `""`:
		return true
	}
	return false
}

// ask puts the user's message into the request, with its files.
func (in *input) ask(req *schemas.ChatRequest, at int) error {
	m := &in.Messages[at]
	req.Message = m.text()
	req.MessageID = m.ID
	for i := range m.parts {
		p := &m.parts[i]
		address, media, ok := p.file()
		if !ok {
			continue
		}
		file, err := wires.File(address, media, p.name(), len(req.Attachments)+1, pointer(at, i))
		if err != nil {
			return err
		}
		req.Attachments = append(req.Attachments, file)
	}
	return nil
}

// file returns the URL and the media type of a part that is a file.
func (p *part) file() (address, media string, ok bool) {
	switch {
	case p.Type == "text":
		return "", "", false
	case p.Source != nil && p.Source.Type == "data":
		return "data:" + p.Source.MimeType + ";base64," + p.Source.Value, p.Source.MimeType, true
	case p.Source != nil:
		return p.Source.Value, p.Source.MimeType, true
	case p.Type == "binary" && p.Data != "":
		return "data:" + p.MimeType + ";base64," + p.Data, p.MimeType, true
	case p.Type == "binary":
		return p.URL, p.MimeType, true
	}
	return "", "", false
}

// name returns the name of a file, empty for none.
func (p *part) name() string {
	var m struct {
		Filename string `json:"filename"`
		Name     string `json:"name"`
	}
	_ = json.Unmarshal(p.Metadata, &m) // may be anything
	return cmp.Or(p.Filename, m.Filename, m.Name)
}

func pointer(message, part int) string {
	return "/messages/" + strconv.Itoa(message) + "/content/" + strconv.Itoa(part)
}

// forwards reports whether a member of the chat request is one of forwardedProps.
func (in *input) forwards(name string) bool {
	var props schemas.Object
	return slices.Contains([]string{"context", "model", "if_busy", "on_disconnect"}, name) &&
		json.Unmarshal(in.ForwardedProps, &props) == nil && !wires.Null(props[name])
}

// pointed returns the error with pointers into the client's body.
func (in *input) pointed(err error, at int) error {
	var files []string
	for i := range in.Messages[at].parts {
		if _, _, ok := in.Messages[at].parts[i].file(); ok {
			files = append(files, pointer(at, i))
		}
	}
	return wires.Repointed(wires.Pointed(err, "/messages/"+strconv.Itoa(at)+"/content", files), func(pointer string) string {
		if rest, ok := strings.CutPrefix(pointer, "/client_tools"); ok {
			return "/tools" + strings.Replace(rest, "/input_schema", "/parameters", 1)
		}
		if name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/"); in.forwards(name) {
			return "/forwardedProps" + pointer
		}
		return pointer
	})
}
