package completions

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/openaiwire"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// request is what the client sends. Members that are not here have no effect.
type request struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Stream        bool      `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	Metadata   schemas.Object  `json:"metadata"`
	Tools      []tool          `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`

	N              *int            `json:"n"`
	Logprobs       bool            `json:"logprobs"`
	Audio          json.RawMessage `json:"audio"`
	Modalities     []string        `json:"modalities"`
	Functions      json.RawMessage `json:"functions"`
	FunctionCall   json.RawMessage `json:"function_call"`
	ResponseFormat *struct {
		Type string `json:"type"`
	} `json:"response_format"`

	after    []string     // the texts of the system messages after the last message
	thread   string       // the client's key of the chat, "" for none
	chat     schemas.Chat // of the thread
	activity bool         // tools that run are shown as reasoning
	patient  bool         // approvals are answered elsewhere
}

type message struct {
	Role       string             `json:"role"`
	Content    openaiwire.Content `json:"content"`
	Refusal    string             `json:"refusal"` // in place of the content
	ToolCallID string             `json:"tool_call_id"`
}

// isSystem reports whether the message is the program's, and not of the conversation.
func (m *message) isSystem() bool { return m.Role == "system" || m.Role == "developer" }

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// decode reads the request.
func decode(c *wires.Call) (*request, error) {
	var r request
	if err := c.Decode(&r); err != nil {
		return nil, err
	}
	for i, m := range r.Messages {
		if !slices.Contains([]string{"user", "assistant", "system", "developer", "tool", "function"}, m.Role) {
			return nil, schemas.Invalid("/messages/"+strconv.Itoa(i)+"/role", "must be user, assistant, system, developer or tool")
		}
	}
	if len(r.Messages) == 0 {
		return nil, schemas.Invalid("/messages", "must have a message")
	}
	r.closing()
	if last := len(r.Messages) - 1; r.Messages[last].Role != "user" && r.Messages[last].Role != "tool" {
		return nil, schemas.Invalid("/messages/"+strconv.Itoa(last)+"/role", "of the last message must be user or tool")
	}
	if err := r.supported(); err != nil {
		return nil, err
	}
	return &r, r.settings(c)
}

// closing takes the system messages from the end of the messages: some clients add one after
// the user's message.
func (r *request) closing() {
	for last := len(r.Messages) - 1; last > 0 && r.Messages[last].isSystem(); last-- {
		r.after = append(r.after, r.Messages[last].Content.Plain())
		r.Messages = r.Messages[:last]
	}
	slices.Reverse(r.after)
}

// supported refuses parameters that change what the answer is.
func (r *request) supported() error {
	switch {
	case r.N != nil && *r.N != 1:
		return openaiwire.Unsupported("/n", "only one answer can be asked for")
	case r.Logprobs:
		return openaiwire.Unsupported("/logprobs", "there are no log probabilities")
	case slices.ContainsFunc(r.Modalities, func(m string) bool { return m != "text" }):
		return openaiwire.Unsupported("/modalities", "answers are text")
	case !wires.Null(r.Audio):
		return openaiwire.Unsupported("/audio", "answers are text")
	case !wires.Null(r.Functions) && string(r.Functions) != "[]":
		return openaiwire.Unsupported("/functions", "functions were replaced by tools")
	case !wires.Null(r.FunctionCall) && string(r.FunctionCall) != `"none"`:
		return openaiwire.Unsupported("/function_call", "functions were replaced by tools")
	case r.ResponseFormat != nil && r.ResponseFormat.Type != "text":
		return openaiwire.Unsupported("/response_format", "answers are text")
	}
	for i, t := range r.Tools {
		if t.Type != "function" {
			return openaiwire.Unsupported("/tools/"+strconv.Itoa(i)+"/type", "tools must be functions")
		}
	}
	return nil
}

// settings reads what the metadata and the headers say.
func (r *request) settings(c *wires.Call) error {
	var values [3]string
	for i, name := range []string{"chat_id", "tool_activity", "approvals"} {
		v, err := openaiwire.Member(r.Metadata, name)
		if err != nil {
			return err
		}
		values[i] = v
	}
	thread, activity, approvals := values[0], values[1], values[2]
	switch {
	case activity != "" && activity != "on" && activity != "off":
		return schemas.Invalid("/metadata/tool_activity", "must be on or off")
	case approvals != "" && approvals != "wait" && approvals != "deny":
		return schemas.Invalid("/metadata/approvals", "must be deny or wait")
	}
	r.activity, r.patient = activity != "off", approvals == "wait"
	if r.thread = thread; thread == "" {
		r.thread = r.named(c)
	}
	return nil
}

// unnamed are what programs put into a header for a chat that has no id yet.
var unnamed = []string{"", "new", "null", "none", "undefined"}

// tasks begin the messages with which Open WebUI asks for itself: for titles, tags, questions
// that follow and searches, for a tool to run, for an emoji, and for one answer of several.
var tasks = []string{
	"### Task:", "Query: History:", "Your task is to reflect the speaker's likely facial expression",
	"You have been provided with a set of responses from various models to the latest user query",
}

// named returns the key of the chat from the headers. Open WebUI sends the chat's id also
// with its own requests; those stand alone.
func (r *request) named(c *wires.Call) string {
	header := func(name string) string {
		v := strings.TrimSpace(c.Header.Get(name))
		if slices.Contains(unnamed, strings.ToLower(v)) || strings.Contains(v, "{{") {
			return ""
		}
		return v
	}
	if v := header("X-Chattray-Chat-Id"); v != "" {
		return v
	}
	last := r.Messages[len(r.Messages)-1].Content.Plain()
	if header("X-Openwebui-Task") != "" || slices.ContainsFunc(tasks, func(begin string) bool { return strings.HasPrefix(last, begin) }) {
		return ""
	}
	return header("X-Openwebui-Chat-Id")
}

func (r *request) usage() bool { return r.StreamOptions != nil && r.StreamOptions.IncludeUsage }

// asked returns the chat request with all that the body says except the messages.
func (r *request) asked(c *wires.Call) (*schemas.ChatRequest, error) {
	var system []string
	for _, m := range r.Messages {
		if m.isSystem() {
			system = append(system, m.Content.Plain())
		}
	}
	req, err := openaiwire.Asked(c, r.Model, r.Metadata, append(system, r.after...), "/messages")
	if err != nil {
		return nil, err
	}
	if string(r.ToolChoice) != `"none"` {
		for _, t := range r.Tools {
			req.ClientTools = append(req.ClientTools, schemas.ClientTool{Name: t.Function.Name, Description: t.Function.Description, InputSchema: t.Function.Parameters})
		}
		wires.Tools(req.ClientTools)
	}
	if req.IfBusy == "" {
		req.IfBusy = "cancel"
	}
	if req.OnDisconnect == "" {
		req.OnDisconnect = "cancel"
	}
	return req, nil
}

// list returns the messages of the user and the assistant. The last one is the user's.
func (r *request) list() (list []wires.Message) {
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			list = append(list, wires.Message{Role: m.Role, Text: m.Content.Asked()})
		case "assistant":
			list = append(list, wires.Message{Role: m.Role, Text: cmp.Or(m.Content.Plain(), m.Refusal)})
		}
	}
	return list
}

// content is the pointer of the last message's content.
func (r *request) content() string {
	return "/messages/" + strconv.Itoa(len(r.Messages)-1) + "/content"
}

// ask puts the last message into the request, with its files, whose pointers it returns.
func (r *request) ask(req *schemas.ChatRequest) (files []string, err error) {
	content := r.Messages[len(r.Messages)-1].Content
	req.Message = content.Asked()
	req.Attachments, files, err = content.Files(r.content())
	return files, err
}

// answerTo returns the pointer of the outcome of a run's call.
func (r *request) answerTo(run string) func(index int) string {
	return func(index int) string {
		call := wires.CallID(run, index)
		i := slices.IndexFunc(r.Messages, func(m message) bool { return m.ToolCallID == call })
		return "/messages/" + strconv.Itoa(i) + "/content"
	}
}

// call returns the pointer of the last id of a call of a run, or of the last message's id.
func (r *request) call(run string) string {
	for i, m := range slices.Backward(r.Messages) {
		if of, _, _ := wires.ParseCall(m.ToolCallID); of == run {
			return "/messages/" + strconv.Itoa(i) + "/tool_call_id"
		}
	}
	return ""
}

// answers returns the run whose calls the trailing messages answer, with the answers; ok is
// false if the last message is the user's.
func (r *request) answers() (run string, list []record.CallAnswer, ok bool) {
	return answersIn(r.Messages)
}

// answersBefore returns the answers right before the last message in the same way. Some
// clients send what a result cannot hold, such as an image, as a message after it.
func (r *request) answersBefore() (run string, list []record.CallAnswer) {
	messages := r.Messages[:len(r.Messages)-1]
	for len(messages) > 0 && messages[len(messages)-1].isSystem() {
		messages = messages[:len(messages)-1]
	}
	run, list, _ = answersIn(messages)
	return run, list
}

// answersIn returns the answers at the end of messages to the calls of the run that the last
// known call belongs to; ok is false if there are none.
func answersIn(messages []message) (run string, list []record.CallAnswer, ok bool) {
	for _, m := range slices.Backward(messages) {
		if m.Role != "tool" {
			break
		}
		ok = true
		of, index, known := wires.ParseCall(m.ToolCallID)
		if !known || run != "" && of != run {
			continue
		}
		run = of
		list = wires.WithAnswer(list, record.CallAnswer{Index: index, Output: schemas.Encode(m.Content.Result())})
	}
	return run, list, ok
}
