package responses

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/openaiwire"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
)

// request is what the client sends. Members that are not here have no effect.
type request struct {
	Model        string            `json:"model"`
	Input        input             `json:"input"`
	Instructions string            `json:"instructions"`
	Previous     string            `json:"previous_response_id"`
	Conversation conversation      `json:"conversation"`
	Metadata     schemas.Object    `json:"metadata"`
	Tools        []json.RawMessage `json:"tools"`
	ToolChoice   json.RawMessage   `json:"tool_choice"`
	Stream       bool              `json:"stream"`
	Background   bool              `json:"background"`
	Store        *bool             `json:"store"`
	Prompt       json.RawMessage   `json:"prompt"`
	Text         *struct {
		Format *struct {
			Type string `json:"type"`
		} `json:"format"`
	} `json:"text"`

	options   options
	functions []int  // the places of the functions among the tools
	previous  string // the run that the request continues, "" for none
	named     string // the pointer of the id that names the run
	thread    string // the client's key of the chat, "" for none
}

// input is a text, which is one message of the user, or a list of items.
type input []entry

// entry is an item of the input.
type entry struct {
	Type     string             `json:"type"`
	ID       string             `json:"id"`
	Role     string             `json:"role"`
	Content  openaiwire.Content `json:"content"`
	CallID   string             `json:"call_id"`
	Output   json.RawMessage    `json:"output"`
	Approval string             `json:"approval_request_id"`
	Approve  *bool              `json:"approve"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (in *input) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, (*[]entry)(in))
	}
	var content openaiwire.Content
	if err := json.Unmarshal(raw, &content); err != nil {
		return err
	}
	*in = input{{Role: "user", Content: content}}
	return nil
}

// conversation is the id of a conversation, or an object that has it.
type conversation string

// UnmarshalJSON implements json.Unmarshaler.
func (c *conversation) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		var v struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(raw, &v); err != nil {
			return err
		}
		*c = conversation(v.ID)
		return nil
	}
	return json.Unmarshal(raw, (*string)(c))
}

// tool is a tool of the request.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Label       string          `json:"server_label"`
}

// decode reads the request.
func decode(c *wires.Call) (*request, error) {
	var r request
	if err := c.Decode(&r); err != nil {
		return nil, err
	}
	switch {
	case len(r.Input) == 0 && wires.Null(r.Prompt):
		return nil, schemas.Invalid("/input", "must have a message or an answer")
	case r.Previous != "" && r.Conversation != "":
		return nil, schemas.Invalid("/conversation", "must not be given together with previous_response_id")
	case r.Text != nil && r.Text.Format != nil && r.Text.Format.Type != "text":
		return nil, openaiwire.Unsupported("/text/format", "answers are text")
	case !wires.Null(r.Prompt):
		return nil, openaiwire.Unsupported("/prompt", "the service stores no prompts; send instructions")
	}
	for i, e := range r.Input {
		at := "/input/" + strconv.Itoa(i)
		switch {
		case e.isMessage() && !slices.Contains([]string{"user", "assistant", "system", "developer"}, e.Role):
			return nil, schemas.Invalid(at+"/role", "must be user, assistant, system or developer")
		case e.Type == "function_call_output" && len(e.Output) == 0:
			return nil, schemas.Invalid(at+"/output", "is required")
		case e.Type == "mcp_approval_response" && e.Approve == nil:
			return nil, schemas.Invalid(at+"/approve", "is required")
		}
	}
	if err := r.identify(); err != nil {
		return nil, err
	}
	r.options = options{model: r.Model, background: r.Background, metadata: r.Metadata, previous: r.Previous, tools: r.Tools}
	return &r, nil
}

// identify finds out which chat the request continues.
func (r *request) identify() error {
	if r.Previous != "" {
		run, _, ok := parseID(r.Previous, responsesPrefix)
		if !ok {
			return openaiwire.NotFound(schemas.ErrNotFound, "/previous_response_id")
		}
		r.previous, r.named = run, "/previous_response_id"
		return nil
	}
	if r.Conversation != "" {
		key, ok := strings.CutPrefix(string(r.Conversation), conversations)
		if !ok || !text.IsID(key) {
			return schemas.Invalid("/conversation", "must be conv_ and a chat_id")
		}
		r.thread = key
		return nil
	}
	key, err := openaiwire.Member(r.Metadata, "chat_id")
	if r.thread = key; err != nil || key != "" {
		return err
	}
	for i, e := range slices.Backward(r.Input) {
		if run, ok := runOf(e.ID); ok {
			r.previous, r.named = run, "/input/"+strconv.Itoa(i)+"/id"
			break
		}
	}
	return nil
}

// asked returns the chat request with all that the body says except the messages.
func (r *request) asked(c *wires.Call) (*schemas.ChatRequest, error) {
	var system []string
	if r.Instructions != "" {
		system = append(system, r.Instructions)
	}
	for _, e := range r.Input {
		if e.Role == "system" || e.Role == "developer" {
			system = append(system, e.Content.Plain())
		}
	}
	req, err := openaiwire.Asked(c, r.Model, r.Metadata, system, "/instructions")
	if err != nil {
		return nil, err
	}
	for i, raw := range r.Tools {
		pointer := "/tools/" + strconv.Itoa(i)
		var v tool
		if err := wires.Unmarshal(raw, &v, pointer); err != nil {
			return nil, err
		}
		switch {
		case v.Type == "function":
			req.ClientTools = append(req.ClientTools, schemas.ClientTool{Name: v.Name, Description: v.Description, InputSchema: v.Parameters})
			r.functions = append(r.functions, i)
			r.Tools[i] = declared(raw)
		case v.Type == "mcp" && v.Label == server: // the service's own tools, by which clients answer approvals
		default:
			return nil, &openaiwire.Refusal{Status: http.StatusBadRequest, Code: "unsupported_tool", Param: pointer + "/type", Text: "tools must be functions; the service adds its own"}
		}
	}
	wires.Tools(req.ClientTools)
	if string(r.ToolChoice) == `"none"` {
		req.ClientTools = nil
	}
	req.Unlisted = r.Store != nil && !*r.Store && r.thread == "" && r.previous == ""
	if req.OnDisconnect == "" {
		req.OnDisconnect = "cancel"
		if r.Background {
			req.OnDisconnect = "continue"
		}
	}
	return req, nil
}

// declared returns a function as the response repeats it: typed clients require its schema,
// and whether the model keeps to it.
func declared(raw json.RawMessage) json.RawMessage {
	var f schemas.Object
	if json.Unmarshal(raw, &f) != nil || !wires.Null(f["parameters"]) && !wires.Null(f["strict"]) {
		return raw
	}
	for name, value := range map[string]string{"parameters": `{"type":"object"}`, "strict": "false"} {
		if wires.Null(f[name]) {
			f[name] = json.RawMessage(value)
		}
	}
	return schemas.Encode(f)
}

// isMessage reports whether an item is a message.
func (e *entry) isMessage() bool { return e.Type == "message" || e.Type == "" && e.Role != "" }

// lastUser returns the index of the user's last message, -1 if there is none.
func (r *request) lastUser() int {
	for i, e := range slices.Backward(r.Input) {
		if e.isMessage() && e.Role == "user" {
			return i
		}
	}
	return -1
}

// pointer is the pointer of the content of an item.
func (r *request) pointer(at int) string { return "/input/" + strconv.Itoa(at) + "/content" }

// list returns the messages before an item.
func (r *request) list(before int) (list []wires.Message) {
	for _, e := range r.Input[:before] {
		switch {
		case !e.isMessage():
		case e.Role == "user":
			list = append(list, wires.Message{Role: e.Role, Text: e.Content.Asked()})
		case e.Role == "assistant":
			list = append(list, wires.Message{Role: e.Role, Text: e.Content.Plain()})
		}
	}
	return list
}

// answers returns the answers after the user's last message, and the run that they are
// for. The last one decides the run. There are none if the user's message is the last item.
func (r *request) answers() (run string, list []record.CallAnswer) {
	return answersIn(r.Input[r.lastUser()+1:])
}

// answersBefore returns the answers right before the user's last message in the same way.
func (r *request) answersBefore() (run string, list []record.CallAnswer) {
	items := r.Input[:max(r.lastUser(), 0)]
	for i, e := range slices.Backward(items) {
		if e.isMessage() {
			items = items[i+1:]
			break
		}
	}
	return answersIn(items)
}

// answersIn returns the answers among items to the calls of the run that the last known
// call belongs to, the last one first; the first answer to a call counts. If no call is
// known, the run is "", which is not found.
func answersIn(items []entry) (run string, list []record.CallAnswer) {
	var unknown []record.CallAnswer
	for _, e := range slices.Backward(items) {
		of, a, ok := e.answer()
		switch {
		case !ok:
		case of == "":
			unknown = append(unknown, a)
		case run == "" || of == run:
			run, list = of, wires.WithAnswer(list, a)
		}
	}
	if run == "" {
		return run, unknown
	}
	return run, list
}

// answerTo returns where the input has the outcome of a call of a run.
func (r *request) answerTo(run string) func(index int) string {
	return func(index int) string {
		call := wires.CallID(run, index)
		i := slices.IndexFunc(r.Input, func(e entry) bool { return e.CallID == call && e.Type == "function_call_output" })
		return "/input/" + strconv.Itoa(i) + "/output"
	}
}

// call returns the pointer of the last id of a call of a run; the run is "" for ids that are
// not known.
func (r *request) call(run string) string {
	for i, e := range slices.Backward(r.Input) {
		of, _, ok := e.answer()
		switch at := "/input/" + strconv.Itoa(i); {
		case !ok || of != run:
		case e.Approve != nil:
			return at + "/approval_request_id"
		default:
			return at + "/call_id"
		}
	}
	return ""
}

// answer returns the answer that an item is, with its run. A call that is not known has the
// run "": it is not found.
func (e *entry) answer() (run string, a record.CallAnswer, ok bool) {
	switch e.Type {
	case "function_call_output":
		run, index, _ := wires.ParseCall(e.CallID)
		return run, record.CallAnswer{Index: index, Output: outcome(e.Output)}, true
	case "mcp_approval_response":
		run, index, _ := parseID(e.Approval, prefixes[asking])
		return run, record.CallAnswer{Index: int(index), Approved: e.Approve}, true
	default:
		return "", a, false
	}
}

// outcome returns the text of a tool's output, which is a string or parts. Other JSON stays
// as it is.
func outcome(raw json.RawMessage) json.RawMessage {
	var content openaiwire.Content
	if err := json.Unmarshal(raw, &content); err != nil || wires.Null(raw) || slices.ContainsFunc(content, func(p openaiwire.Part) bool { return p.Type == "" }) {
		return raw
	}
	return schemas.Encode(content.Result())
}
