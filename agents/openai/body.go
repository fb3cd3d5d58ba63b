package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// go-openai encodes messages and tools by way of maps and scans their text and
// schemas several times over, for each call anew. Here it encodes one message
// and one tool that stand for all, and the round tripper puts what there is in
// their places.
var (
	standInMessages = []goopenai.ChatCompletionMessage{{Role: goopenai.ChatMessageRoleUser, Content: "messages"}}
	standInTools    = []goopenai.Tool{{
		Type:     goopenai.ToolTypeFunction,
		Function: &goopenai.FunctionDefinition{Name: "tools", Parameters: json.RawMessage("{}")},
	}}
	// These cannot be part of a string in JSON: their quotes would be escaped.
	messagesPlace, toolsPlace = member("messages", standInMessages), member("tools", standInTools)
)

// member is a member of an object as go-openai encodes it.
func member(name string, value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return append([]byte(`"`+name+`":`), raw...)
}

// emptySchema is that of a tool without arguments.
const emptySchema = `{"type":"object","properties":{}}`

// memberFrame is about what stands around the words of a message or tool.
const memberFrame = 128

// putRequest returns the request with the messages and tools of what is to be
// said in the places of what stands for them.
func putRequest(req *http.Request, said *agents.ModelRequest) (*http.Request, error) {
	defer req.Body.Close() // it is in memory
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	head, rest, found := bytes.Cut(body, messagesPlace)
	if !found {
		return nil, errors.New("the request has no place for messages")
	}
	size := len(body) + len(said.System) + memberFrame
	for i := range said.Messages {
		size += messageSize(&said.Messages[i])
	}
	for i := range said.Tools {
		size += len(said.Tools[i].Name) + len(said.Tools[i].Description) + len(said.Tools[i].InputSchema) + memberFrame
	}
	whole := appendMessages(append(make([]byte, 0, size), head...), said)
	if len(said.Tools) > 0 {
		if head, rest, found = bytes.Cut(rest, toolsPlace); !found {
			return nil, errors.New("the request has no place for tools")
		}
		whole = appendTools(append(whole, head...), said.Tools)
	}
	whole = append(whole, rest...)
	sent := func() io.ReadCloser { return io.NopCloser(bytes.NewReader(whole)) }
	out := *req
	out.Body, out.GetBody = sent(), func() (io.ReadCloser, error) { return sent(), nil }
	out.ContentLength = int64(len(whole))
	return &out, nil
}

// messageSize is about how long a message is as JSON.
func messageSize(m *turn.Message) int {
	size := len(m.Content) + len(m.Content)/16 + memberFrame
	for i := range m.Images {
		size += len(m.Images[i].Base64) + memberFrame
	}
	for i := range m.ToolCalls {
		size += 2*len(m.ToolCalls[i].Arguments) + memberFrame
	}
	return size
}

// appendMessages appends the member messages of a request.
func appendMessages(dst []byte, req *agents.ModelRequest) []byte {
	dst = append(dst, `"messages":[`...)
	if req.System != "" {
		dst = append(dst, `{"role":"system","content":`...)
		dst = append(schemas.AppendString(dst, req.System), '}')
	}
	for i := range req.Messages {
		if i > 0 || req.System != "" {
			dst = append(dst, ',')
		}
		dst = appendMessage(dst, &req.Messages[i])
	}
	return append(dst, ']')
}

func appendMessage(dst []byte, m *turn.Message) []byte {
	dst = schemas.AppendField(append(dst, '{'), "role", string(m.Role))
	switch {
	case len(m.Images) > 0:
		dst = appendParts(schemas.AppendKey(dst, "content"), m)
	case m.Content != "" || len(m.ToolCalls) == 0:
		dst = schemas.AppendField(dst, "content", cmp.Or(m.Content, " ")) // some servers refuse what is empty
	}
	if len(m.ToolCalls) > 0 {
		dst = appendCalls(schemas.AppendKey(dst, "tool_calls"), m.ToolCalls)
	}
	dst = schemas.AppendField(dst, "tool_call_id", m.ToolCallID)
	return append(dst, '}')
}

func appendCalls(dst []byte, calls []turn.ToolCall) []byte {
	dst = append(dst, '[')
	for i, c := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		arguments := c.Arguments
		if !json.Valid([]byte(arguments)) {
			arguments = "{}" // the model wrote none, or no JSON, which servers refuse to read back
		}
		dst = schemas.AppendString(append(dst, `{"id":`...), c.ID)
		dst = schemas.AppendString(append(dst, `,"type":"function","function":{"name":`...), c.Name)
		dst = schemas.AppendString(append(dst, `,"arguments":`...), arguments)
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}

// appendParts appends the content of a message with images.
func appendParts(dst []byte, m *turn.Message) []byte {
	dst = append(dst, '[')
	if m.Content != "" {
		dst = append(dst, `{"type":"text","text":`...)
		dst = append(schemas.AppendString(dst, m.Content), "},"...)
	}
	for i, img := range m.Images {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
		dst = schemas.AppendString(dst, "data:"+img.MIME+";base64,"+img.Base64)
		dst = append(dst, "}}"...)
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
