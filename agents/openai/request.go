package openai

import (
	"errors"
	"math"
	"slices"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
)

// quirks are options that a model's server does not accept, and additions that it
// wants. They are learned from its refusals (and go-openai's) and kept for each model once
// it has accepted them.
type quirks struct {
	noStreamOptions  bool // without stream_options
	completionTokens bool // max_completion_tokens instead of max_tokens
	fixedTemperature bool // without temperature
	reasoningOff     bool // tools only without reasoning
	noToolChoice     bool // without tool_choice
	reasoningBack    bool // with the reasoning of earlier replies
	signedCalls      bool // with a signature for calls that have none
	noExtra          bool // without what another server gave with a call
	contentAlways    bool // with a content in every message, also beside calls
	shortIDs         bool // with ids of calls that have 9 letters and digits
	answeredResults  bool // with an assistant's message between a tool's result and a user's message
}

// after returns the quirks with the one changed that err reveals, and whether it was not
// changed yet in the call, which began with first. One that was learned may be wrong: the
// message only named it, or several servers that differ have the model's name.
func (q quirks) after(err error, first quirks) (quirks, bool) {
	old := q
	switch {
	case errors.Is(err, goopenai.ErrReasoningModelMaxTokensDeprecated):
		q.completionTokens = !first.completionTokens
	case errors.Is(err, goopenai.ErrReasoningModelLimitationsOther), errors.Is(err, goopenai.ErrReasoningSamplingUnsupported):
		q.fixedTemperature = !first.fixedTemperature
	case errors.Is(err, goopenai.ErrReasoningToolsRequireResponses):
		q.reasoningOff = !first.reasoningOff
	}
	// llama.cpp answers with 500 when the model's template refuses the messages.
	if f, ok := errors.AsType[*fault](err); ok && slices.Contains([]int{400, 422, 500}, f.answered()) {
		message := strings.ToLower(f.param + " " + f.message)
		switch {
		case f.category() == schemas.CodeContextTooLong: // vLLM names max_completion_tokens there
		case strings.Contains(message, "after role 'tool'"), strings.Contains(message, "must alternate"): // Mistral
			q.answeredResults = !first.answeredResults
		case strings.Contains(message, "tool call id") && (strings.Contains(message, "length of 9") || strings.Contains(message, "length 9")): // Mistral
			q.shortIDs = !first.shortIDs
		case f.answered() == 500:
		case strings.Contains(message, "reasoning_content"): // DeepSeek and Kimi
			q.reasoningBack = !first.reasoningBack
		case strings.Contains(message, "missing field `content`"), strings.Contains(message, "content") && strings.Contains(message, "field required"):
			q.contentAlways = !first.contentAlways
		case strings.Contains(message, "thought_signature"): // Gemini
			q.signedCalls = !first.signedCalls
			q.noExtra = q.noExtra && !first.noExtra
		case strings.Contains(message, "extra_content"):
			q.noExtra = !first.noExtra
		case strings.Contains(message, "stream_options"), strings.Contains(message, "include_usage"):
			q.noStreamOptions = !first.noStreamOptions
		case strings.Contains(message, "max_completion_tokens"):
			q.completionTokens = !first.completionTokens
		case strings.Contains(message, "temperature"):
			q.fixedTemperature = !first.fixedTemperature
		case strings.Contains(message, "tool_choice"):
			q.noToolChoice = !first.noToolChoice
		}
	}
	return q, q != old
}

// request maps a request to the wire. The round tripper puts in the messages,
// the tools and a temperature of 0, whose placeholder is the smallest number
// above 0.
func (m *Model) request(req *agents.ModelRequest, q quirks) goopenai.ChatCompletionRequest {
	out := goopenai.ChatCompletionRequest{
		Model:    req.Model,
		Stream:   true,
		Messages: placeholderMessages,
	}
	if !q.noStreamOptions {
		out.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	}
	if q.completionTokens {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens //nolint:staticcheck // the servers that know only this name are the reason for quirks
	}
	if !q.fixedTemperature {
		out.Temperature = max(float32(req.Temperature), math.SmallestNonzeroFloat32)
	}
	if len(req.Tools) > 0 {
		out.Tools = placeholderTools
	}
	if len(req.Tools) > 0 && q.reasoningOff {
		out.ReasoningEffort = goopenai.ReasoningEffortNone
	}
	if len(req.Tools) > 0 && req.ToolsForbidden && !q.noToolChoice {
		out.ToolChoice = "none"
	}
	return out
}
