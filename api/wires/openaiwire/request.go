package openaiwire

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// newest asks for the last message of a chat.
var newest = record.MessageQuery{Limit: 1}

// contextKeys are the members of metadata that become the context.
var contextKeys = []string{"current_page", "active_tab", "active_subtab", "report_id", "stream_id", "document_id"}

// Asked returns the chat request with what both APIs say in the same way: the model, the
// metadata, the URL and the system messages, whose place is the pointer at.
func Asked(c *wires.Call, model string, metadata schemas.Object, system []string, at string) (*schemas.ChatRequest, error) {
	page, name, err := Named(c.Service, model)
	if err != nil {
		return nil, err
	}
	req := &schemas.ChatRequest{Model: name}
	for _, key := range contextKeys {
		if v, ok := metadata[key]; ok && !wires.Null(v) {
			put(req, key, v)
		}
	}
	if page != "" && req.Context.String("current_page") == "" {
		put(req, "current_page", schemas.Encode(page))
	}
	wires.Defaults(req, c.URL.Query())
	return req, wires.Instruct(req, system, at)
}

func put(req *schemas.ChatRequest, key string, v json.RawMessage) {
	if req.Context == nil {
		req.Context = schemas.Object{}
	}
	req.Context[key] = v
}

// Member returns a string of the metadata.
func Member(metadata schemas.Object, name string) (string, error) {
	raw, ok := metadata[name]
	if !ok || wires.Null(raw) {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", schemas.Invalid("/metadata/"+name, "must be a string")
	}
	return s, nil
}

// Latest returns the newest run of a run's chat.
func Latest(c *wires.Call, run schemas.Run) func() (string, error) {
	return func() (string, error) {
		chat, err := c.Service.Chats.Get(c.Context(), c.User, run.ConversationID, newest)
		if err != nil || chat.ActiveRunID != "" || len(chat.Messages) == 0 {
			return chat.ActiveRunID, err
		}
		return chat.Messages[len(chat.Messages)-1].RunID, nil
	}
}

// Settle gives the answers to the calls of a run that come with a new message. It returns the
// run, without an id if no call waited: clients also send the results of earlier calls again.
// Behind says that the message waits for the run's end. A run that waits for other answers too
// gets none from a client that has gone on: the message takes its place.
func Settle(c *wires.Call, id string, list []record.CallAnswer, answerTo func(index int) string) (run schemas.Run, behind bool, err error) {
	if id == "" {
		return run, false, nil
	}
	if run, err = c.Service.Runs.Run(c.Context(), c.User, id); err == nil {
		behind, err = c.Service.Settles(c.Context(), c.User, id, list)
	}
	if behind && err == nil {
		_, err = c.Service.Answers(c.Context(), c.User, run, Latest(c, run), list, answerTo)
	}
	if e, ok := errors.AsType[*schemas.Error](err); ok && (e.Code == schemas.CodeConflict || e.Code == schemas.CodeNotFound) {
		return schemas.Run{}, false, nil
	}
	return run, behind, err
}

// Extra is what a response says that OpenAI's APIs have no place for.
type Extra struct {
	RunID          string `json:"run_id"`
	ConversationID int64  `json:"conversation_id"`
	MessageID      string `json:"message_id"`

	StopReason       schemas.StopReason        `json:"stop_reason,omitempty"`
	Payloads         []schemas.CustomPayload   `json:"payloads,omitempty"`
	SuggestedValues  []schemas.SuggestedValue  `json:"suggested_values,omitempty"`
	SuggestedActions []schemas.SuggestedAction `json:"suggested_actions,omitempty"`
	Warnings         []string                  `json:"warnings,omitempty"`
}

// Complete adds what the end of a run says.
func (e *Extra) Complete(p *schemas.ChatResponsePayload) {
	e.MessageID, e.StopReason = p.MessageID, p.StopReason
	e.Payloads, e.SuggestedValues, e.SuggestedActions, e.Warnings = p.Payloads, p.SuggestedValues, p.SuggestedActions, p.Warnings
}

// Pointed returns an error of Start with pointers into the client's body. Function is the
// member of a tool that has its name, "" for the tool itself. Functions are the places of the
// tools of the client among the tools; nil means that there are no others.
func Pointed(err error, message string, files []string, function string, functions []int) error {
	return wires.Repointed(wires.Pointed(err, message, files), func(pointer string) string {
		rest, ok := strings.CutPrefix(pointer, "/client_tools")
		if !ok {
			return pointer
		}
		parts := strings.SplitN(rest, "/", 3)
		if len(parts) < 3 {
			return "/tools" + rest
		}
		member := strings.Replace(parts[2], "input_schema", "parameters", 1)
		if function != "" {
			member = function + "/" + member
		}
		if n, err := strconv.Atoi(parts[1]); err == nil && n < len(functions) {
			parts[1] = strconv.Itoa(functions[n])
		}
		return "/tools/" + parts[1] + "/" + member
	})
}
