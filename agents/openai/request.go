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

// quirks are options that a model's server does not accept, additions that it wants, and
// how it replies. They are learned from its refusals (and go-openai's) and kept for each model
// once it has accepted them.
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
	unchecked        bool // with a model that go-openai believes to take no tools
	withinThoughts   bool // its replies begin within reasoning
	answeredResults  bool // with an assistant's message between a tool's result and a user's message
	systemInUser     bool // with the system prompt at the beginning of the first user's message
}

// after returns the quirks with one changed that err reveals, and whether there is one that
// was not changed yet in the call, which began with first. One that was learned may be wrong:
// the message only named it, or several servers that differ have the model's name. A message
// that names several changes the next one each time, those that were learned last.
func (q quirks) after(err error, first quirks) (quirks, bool) {
	var message string
	f, refused := errors.AsType[*fault](err)
	if refused = refused && slices.Contains([]int{400, 422, 500}, f.answered()); refused {
		message = strings.ToLower(f.param + " " + f.message)
	}
	if refused && f.category() == schemas.CodeContextTooLong { // vLLM names max_completion_tokens there
		return q, false
	}
	has := func(words ...string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(message, w) })
	}
	// llama.cpp answers with 500 when the model's template refuses the messages; no other word is looked for then.
	says := func(words ...string) bool { return refused && f.answered() != 500 && has(words...) }
	type candidate struct {
		quirk         *bool
		before, named bool
	}
	candidates := []candidate{
		{&q.reasoningOff, first.reasoningOff, errors.Is(err, goopenai.ErrReasoningToolsRequireResponses)},
		{&q.unchecked, first.unchecked, errors.Is(err, goopenai.ErrReasoningEffortUnsupported)},
		{&q.answeredResults, first.answeredResults, has("after role 'tool'") || has("must alternate")}, // Mistral
		{&q.systemInUser, first.systemInUser, slices.ContainsFunc(noSystemRole, func(words string) bool { return has(words) })},
		{&q.shortIDs, first.shortIDs, has("tool call id", "length of 9") || has("tool call id", "length 9")}, // Mistral
		{&q.reasoningBack, first.reasoningBack, says("reasoning_content")},                                   // DeepSeek and Kimi
		{&q.contentAlways, first.contentAlways, says("missing field `content`") || says("content", "field required")},
		{&q.signedCalls, first.signedCalls, says("thought_signature")}, // Gemini
		{&q.noExtra, first.noExtra, says("extra_content")},
		{&q.noStreamOptions, first.noStreamOptions, says("stream_options") || says("include_usage")},
		{&q.completionTokens, first.completionTokens, says("max_completion_tokens") || errors.Is(err, goopenai.ErrReasoningModelMaxTokensDeprecated)},
		{&q.fixedTemperature, first.fixedTemperature, says("temperature") || errors.Is(err, goopenai.ErrReasoningModelLimitationsOther) ||
			errors.Is(err, goopenai.ErrReasoningSamplingUnsupported)},
		{&q.noToolChoice, first.noToolChoice, says("tool_choice")},
	}
	for _, learned := range []bool{false, true} {
		i := slices.IndexFunc(candidates, func(c candidate) bool { return c.named && c.before == learned && *c.quirk == c.before })
		if i < 0 {
			continue
		}
		c := candidates[i]
		*c.quirk = !c.before
		if c.quirk == &q.signedCalls {
			q.noExtra = q.noExtra && !first.noExtra
		}
		return q, true
	}
	return q, false
}

// noSystemRole are words of servers whose model has no system role: those with the templates of Gemma
// and of the first two Mistral, Google and OpenAI.
var noSystemRole = []string{
	"system role not supported", "only user and assistant roles", "must alternate user/assistant/user", "developer instruction is not enabled", "does not support 'system'",
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
	if q.unchecked {
		out.Model = placeholderModel
	} else if len(req.Tools) > 0 && q.reasoningOff {
		out.ReasoningEffort = goopenai.ReasoningEffortNone
	}
	if len(req.Tools) > 0 && req.ToolsForbidden && !q.noToolChoice {
		out.ToolChoice = "none"
	}
	return out
}
