package openai

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"regexp"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/openai/sending"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// go-openai encodes messages and tools through maps and scans their text
// several times for each call. Here it encodes no messages and an empty tool as
// placeholders, and the round tripper replaces them with the real ones.
var (
	placeholderTools = make([]goopenai.Tool, 1)
	// go-openai refuses some requests by the name of their model.
	placeholderModel = "model"
	modelPlace       = encoded("model", placeholderModel)
	// The placeholders cannot occur inside a JSON string, where their quotes
	// would be escaped.
	messagesPlace, toolsPlace = encoded("messages", nil), encoded("tools", placeholderTools)
	// go-openai leaves out a temperature of 0, so it gets the smallest one
	// instead.
	leastTemperature, zeroTemperature = encoded("temperature", float32(math.SmallestNonzeroFloat32)), encoded("temperature", 0)
)

// encoded is a member of an object as go-openai encodes it.
func encoded(name string, value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return append([]byte(`"`+name+`":`), raw...)
}

// emptySchema is the schema of a tool without arguments.
const emptySchema = `{"type":"object","properties":{}}`

// memberFrame is roughly the length of the JSON around the text of a message or tool.
const memberFrame = 128

// putRequest returns a copy of req with the placeholders replaced by the messages, the tools
// and the temperature of request. The images are read while the copy is sent.
func putRequest(req *http.Request, request *agents.ModelRequest, q quirks) (*http.Request, error) {
	defer req.Body.Close() // the body is in memory
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	body = bytes.Replace(body, leastTemperature, zeroTemperature, 1)
	if q.has(unchecked) {
		body = bytes.Replace(body, modelPlace, encoded("model", request.Model), 1)
	}
	head, rest, found := bytes.Cut(body, messagesPlace)
	if !found {
		return nil, errors.New("the request has no place for messages")
	}
	var whole sending.Body
	whole.Text = appendMessages(append(make([]byte, 0, len(body)+textSize(request)), head...), &whole.Images, request, q)
	if len(request.Tools) > 0 {
		if head, rest, found = bytes.Cut(rest, toolsPlace); !found {
			return nil, errors.New("the request has no place for tools")
		}
		whole.Text = appendTools(append(whole.Text, head...), request.Tools)
	}
	whole.Text = append(whole.Text, rest...)
	sent := func() io.ReadCloser { return io.NopCloser(whole.Reader(req.Context())) }
	out := *req
	out.Body, out.GetBody = sent(), func() (io.ReadCloser, error) { return sent(), nil }
	out.ContentLength = whole.Size()
	return &out, nil
}

// textSize estimates the length of a request as JSON, without its images.
func textSize(req *agents.ModelRequest) int {
	size := len(req.System) + memberFrame
	for i := range req.Messages {
		m := &req.Messages[i]
		size += len(m.Content) + len(m.Content)/16 + (1+len(m.Images))*memberFrame
		for i := range m.ToolCalls {
			size += 2*len(m.ToolCalls[i].Arguments) + len(m.ToolCalls[i].Extra) + memberFrame
		}
	}
	for i := range req.Tools {
		size += len(req.Tools[i].Name) + len(req.Tools[i].Description) + len(req.Tools[i].InputSchema) + memberFrame
	}
	return size
}

// memoryOf is how many bytes a request takes while it is sent, when one image at a time is in
// memory.
func memoryOf(req *agents.ModelRequest) int {
	largest := 0
	for i := range req.Messages {
		for _, image := range req.Messages[i].Images {
			largest = max(largest, image.Memory())
		}
	}
	return textSize(req) + largest
}

// appendMessages appends the member messages of a request, and its images to images.
func appendMessages(dst []byte, images *[]sending.Image, req *agents.ModelRequest, q quirks) []byte {
	dst = append(dst, `"messages":[`...)
	joined := q.has(systemInUser) && len(req.Messages) > 0 && req.Messages[0].Role == turn.User
	system := req.System != "" && !joined
	if system {
		role := "system"
		if q.has(systemInUser) { // the conversation begins with an assistant's message
			role = "user"
		}
		dst = append(append(append(dst, `{"role":"`...), role...), `","content":`...)
		dst = append(schemas.AppendString(dst, req.System), '}')
	}
	for i := range req.Messages {
		if i > 0 || system {
			dst = append(dst, ',')
		}
		m := &req.Messages[i]
		if q.has(answeredResults) && i > 0 && m.Role == turn.User && req.Messages[i-1].Role == turn.ToolRole {
			dst = append(dst, betweenMessage...)
		}
		if joined && i == 0 {
			first := *m
			first.Content = strings.Trim(req.System+"\n\n"+m.Content, "\n")
			m = &first
		}
		dst = appendMessage(dst, images, m, q)
	}
	return append(dst, ']')
}

// betweenMessage is an assistant's message for servers that want one after a tool's result.
const betweenMessage = `{"role":"assistant","content":"I have the result."},`

func appendMessage(dst []byte, images *[]sending.Image, m *turn.Message, q quirks) []byte {
	dst = schemas.AppendField(append(dst, '{'), "role", string(m.Role))
	switch {
	case len(m.Images) > 0:
		dst = appendParts(schemas.AppendKey(dst, "content"), images, m)
	case m.Content != "" || len(m.ToolCalls) == 0:
		dst = schemas.AppendField(dst, "content", cmp.Or(m.Content, " ")) // some servers refuse empty messages
	case q.has(contentAlways):
		dst = append(schemas.AppendKey(dst, "content"), `""`...)
	}
	if q.has(reasoningBack) && m.Role == turn.Assistant {
		dst = schemas.AppendField(dst, "reasoning_content", cmp.Or(m.Reasoning, " ")) // some servers refuse empty reasoning
	}
	if len(m.ToolCalls) > 0 {
		dst = appendCalls(schemas.AppendKey(dst, "tool_calls"), m.ToolCalls, q)
	}
	if m.ToolCallID != "" {
		dst = schemas.AppendField(dst, "tool_call_id", callID(m.ToolCallID, q))
	}
	return append(dst, '}')
}

// anySignature is what Gemini takes for the signature of a call that it did not make.
const anySignature = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

func appendCalls(dst []byte, calls []turn.ToolCall, q quirks) []byte {
	dst = append(dst, '[')
	for i, c := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		arguments := c.Arguments
		if !strings.HasPrefix(strings.TrimLeft(arguments, " \t\r\n"), "{") || !json.Valid([]byte(arguments)) {
			arguments = noArguments // the model wrote no arguments or no object, which servers refuse in a later request
		}
		dst = schemas.AppendString(append(dst, `{"id":`...), callID(c.ID, q))
		dst = schemas.AppendString(append(dst, `,"type":"function","function":{"name":`...), callName(c.Name))
		dst = schemas.AppendString(append(dst, `,"arguments":`...), arguments)
		dst = append(dst, '}')
		extra := c.Extra
		if extra == "" && q.has(signedCalls) {
			extra = anySignature
		}
		if extra != "" && !q.has(noExtra) {
			dst = append(append(dst, `,"extra_content":`...), extra...)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// shortID is the form of the ids of calls that Mistral takes.
var shortID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// callID returns the id of a call as the server accepts it. Other models, and the loop, make
// ids of any form.
func callID(id string, q quirks) string {
	if !q.has(shortIDs) || shortID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:9]
}

// maxCallName is the length of a name that servers accept, in bytes.
const maxCallName = 64

// callName returns the name of a call as servers accept it in a later request. Names of
// tools are unchanged; a model may have written something else.
func callName(name string) string {
	seen := strings.Map(func(r rune) rune {
		if r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	return cmp.Or(seen[:min(len(seen), maxCallName)], "_")
}

// appendParts appends the content of a message with images.
func appendParts(dst []byte, images *[]sending.Image, m *turn.Message) []byte {
	dst = append(dst, '[')
	if m.Content != "" {
		dst = append(dst, `{"type":"text","text":`...)
		dst = append(schemas.AppendString(dst, m.Content), "},"...)
	}
	for i, img := range m.Images {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, `{"type":"image_url","image_url":{"url":"data:`...), img.MIME...), ";base64,"...)
		*images = append(*images, sending.Image{Image: img, At: len(dst)})
		dst = append(dst, `"}}`...)
	}
	return append(dst, ']')
}

// appendTools appends the member tools of a request.
func appendTools(dst []byte, tools []turn.Tool) []byte {
	dst = append(dst, `"tools":[`...)
	for i := range tools {
		t := &tools[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = schemas.AppendString(append(dst, `{"type":"function","function":{"name":`...), t.Name)
		dst = schemas.AppendField(dst, "description", t.Description)
		dst = schemas.AppendKey(dst, "parameters")
		if len(t.InputSchema) == 0 {
			dst = append(dst, emptySchema...)
		}
		dst = append(dst, t.InputSchema...)
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}
