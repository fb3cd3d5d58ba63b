package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
)

// go-openai encodes a tool by way of a map, and scans its schema several times
// over, for each call anew. Here it encodes one tool that stands for all, and
// the round tripper puts the tools themselves, whose schemas are JSON already,
// in its place.
var (
	standIn = []goopenai.Tool{{
		Type:     goopenai.ToolTypeFunction,
		Function: &goopenai.FunctionDefinition{Name: "tools", Parameters: json.RawMessage("{}")},
	}}
	// standInJSON cannot be part of a string in JSON: its quotes would be escaped.
	standInJSON = func() []byte {
		raw, err := json.Marshal(standIn)
		if err != nil {
			panic(err)
		}
		return append([]byte(`"tools":`), raw...)
	}()
)

// emptySchema is that of a tool without arguments.
const emptySchema = `{"type":"object","properties":{}}`

// toolFrame is about what stands around the words of a tool.
const toolFrame = 128

type toolsKey struct{}

// withTools lets the round tripper know the tools of the call.
func withTools(ctx context.Context, tools []agents.ToolSpec) context.Context {
	if len(tools) == 0 {
		return ctx
	}
	return context.WithValue(ctx, toolsKey{}, tools)
}

// putTools returns the request with the tools in the place of what stands for
// them.
func putTools(req *http.Request) (*http.Request, error) {
	tools, _ := req.Context().Value(toolsKey{}).([]agents.ToolSpec)
	if len(tools) == 0 || req.Body == nil {
		return req, nil
	}
	defer req.Body.Close() // it is in memory
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	head, tail, found := bytes.Cut(body, standInJSON)
	if !found {
		return nil, errors.New("the request has no place for tools")
	}
	size := len(body)
	for _, t := range tools {
		size += len(t.Name) + len(t.Description) + len(t.Schema) + toolFrame
	}
	body = append(appendTools(append(make([]byte, 0, size), head...), tools), tail...)
	whole := *req
	whole.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	whole.Body, _ = whole.GetBody()
	whole.ContentLength = int64(len(body))
	return &whole, nil
}

// appendTools appends the member tools of a request.
func appendTools(dst []byte, tools []agents.ToolSpec) []byte {
	dst = append(dst, `"tools":[`...)
	for i, t := range tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"function","function":{"name":`...)
		dst = schemas.AppendString(dst, t.Name)
		if t.Description != "" {
			dst = append(dst, `,"description":`...)
			dst = schemas.AppendString(dst, t.Description)
		}
		dst = append(dst, `,"parameters":`...)
		if len(t.Schema) == 0 {
			dst = append(dst, emptySchema...)
		}
		dst = append(dst, t.Schema...)
		dst = append(dst, "}}"...)
	}
	return append(dst, ']')
}
