package responses

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires/openaiwire"
	"github.com/chattray/chattray/schemas"
)

// options are what a request says about its response.
type options struct {
	model      string // as asked for
	background bool
	metadata   schemas.Object
	previous   string
	tools      []json.RawMessage
}

// object is the response object. Members without omitempty may be null; typed clients
// require them.
type object struct {
	ID          string             `json:"id"`
	Object      string             `json:"object"`
	CreatedAt   int64              `json:"created_at"`
	CompletedAt int64              `json:"completed_at,omitempty"`
	Status      string             `json:"status"`
	Background  bool               `json:"background"`
	Model       string             `json:"model"`
	Output      []json.RawMessage  `json:"output"`
	Error       *problem           `json:"error"`
	Incomplete  *map[string]string `json:"incomplete_details"`
	Instruct    *string            `json:"instructions"`
	MaxOutput   *int               `json:"max_output_tokens"`
	Metadata    schemas.Object     `json:"metadata"`
	Parallel    bool               `json:"parallel_tool_calls"`
	Previous    *string            `json:"previous_response_id"`
	Chat        *map[string]string `json:"conversation"`
	Temperature *float64           `json:"temperature"`
	TopP        *float64           `json:"top_p"`
	ToolChoice  string             `json:"tool_choice"`
	Tools       []json.RawMessage  `json:"tools"`
	Text        json.RawMessage    `json:"text"`
	Truncation  *string            `json:"truncation"`
	Usage       *usage             `json:"usage"`
	Chattray    *openaiwire.Extra  `json:"chattray,omitempty"`
}

type usage struct {
	Input        int            `json:"input_tokens"`
	InputDetail  map[string]int `json:"input_tokens_details"`
	Output       int            `json:"output_tokens"`
	OutputDetail map[string]int `json:"output_tokens_details"`
	Total        int            `json:"total_tokens"`
}

// object returns the response as it is now.
func (t *table) object() object {
	o := object{
		ID: t.id(), Object: "response", CreatedAt: t.created, Status: t.status, Background: t.background, Model: t.model, Output: t.output(),
		Error: t.failed, Metadata: t.about(), Parallel: true, ToolChoice: "auto", Tools: t.tools, Text: json.RawMessage(`{"format":{"type":"text"}}`),
	}
	if t.previous != "" {
		o.Previous = &t.previous
	}
	if t.chat != "" {
		o.Chat = &map[string]string{"id": conversations + t.chat}
	}
	if t.incomplete != "" {
		o.Incomplete = &map[string]string{"reason": t.incomplete}
	}
	if o.Tools == nil {
		o.Tools = []json.RawMessage{}
	}
	if t.status == inProgress || t.status == queued {
		return o
	}
	o.CompletedAt = t.ended
	o.Usage = &usage{
		Input: t.used.InputTokens, InputDetail: map[string]int{"cached_tokens": 0, "cache_write_tokens": 0},
		Output: t.used.OutputTokens, OutputDetail: map[string]int{"reasoning_tokens": 0}, Total: t.used.TotalTokens,
	}
	if t.completed != nil {
		o.Chattray = &t.extra
	}
	return o
}

// about returns the metadata of the request with what names the answer.
func (t *table) about() schemas.Object {
	about := schemas.Object{}
	maps.Copy(about, t.metadata)
	if t.extra.RunID != "" {
		about["run_id"] = schemas.Encode(t.extra.RunID)
		about["conversation_id"] = schemas.Encode(strconv.FormatInt(t.extra.ConversationID, 10))
	}
	if t.extra.MessageID != "" {
		about["message_id"] = schemas.Encode(t.extra.MessageID)
	}
	return about
}

// conversations begins the ids of conversations.
const conversations = "conv_"

// responsesPrefix begins the ids of responses.
const responsesPrefix = "resp_"

func responseID(run string, begin int64) string {
	return responsesPrefix + run + "_" + strconv.FormatInt(begin, 10)
}

// parseID returns the run and the number in the id of a response or of an item.
func parseID(id, prefix string) (run string, number int64, ok bool) {
	rest, ok := strings.CutPrefix(id, prefix)
	if !ok {
		return "", 0, false
	}
	digits, last, _ := strings.Cut(rest, "_")
	last, _, _ = strings.Cut(last, "_")
	number, err := strconv.ParseInt(last, 10, 64)
	if err != nil || number < 0 || strconv.FormatInt(number, 10) != last {
		return "", 0, false
	}
	if raw, err := hex.DecodeString(digits); err != nil || len(raw) != 16 || digits != strings.ToLower(digits) {
		return "", 0, false
	}
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-"), number, true
}

// runOf returns the run of an item or a response that the service has made.
func runOf(id string) (run string, ok bool) {
	for _, prefix := range append(slices.Collect(maps.Values(prefixes)), responsesPrefix) {
		if run, _, ok = parseID(id, prefix); ok {
			return run, true
		}
	}
	return "", false
}
