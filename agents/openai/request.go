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
type quirks uint16

const (
	noStreamOptions  quirks = 1 << iota // without stream_options
	completionTokens                    // max_completion_tokens instead of max_tokens
	fixedTemperature                    // without temperature
	reasoningOff                        // tools only without reasoning
	noToolChoice                        // without tool_choice
	reasoningBack                       // with the reasoning of earlier replies
	signedCalls                         // with a signature for calls that have none
	noExtra                             // without what another server gave with a call
	contentAlways                       // with a content in every message, also beside calls
	shortIDs                            // with ids of calls that have 9 letters and digits
	unchecked                           // with a model that go-openai believes to take no tools
	withinThoughts                      // its replies begin within reasoning
	answeredResults                     // with an assistant's message between a tool's result and a user's message
	systemInUser                        // with the system prompt in the user's message that comes first
)

// has reports whether the quirk is one of q.
func (q quirks) has(quirk quirks) bool { return q&quirk != 0 }

// set returns q with or without the quirk.
func (q quirks) set(quirk quirks, on bool) quirks {
	if on {
		return q | quirk
	}
	return q &^ quirk
}

// after returns the quirks with one changed that err reveals, and whether there is one that
// was not changed yet in the call, which began with first. One that was learned may be wrong:
// the message only named it, or several servers that differ have the model's name. A message
// that names several changes the next one each time, those that were learned last.
func (q quirks) after(err error, first quirks) (quirks, bool) {
	list := named(err)
	for _, learned := range []bool{false, true} {
		i := slices.IndexFunc(list, func(n quirks) bool { return first.has(n) == learned && q.has(n) == learned })
		if i < 0 {
			continue
		}
		q ^= list[i]
		if list[i] == signedCalls {
			q &^= first & noExtra
		}
		return q, true
	}
	return q, false
}

// named returns the quirks that err names, in the order in which they are tried.
func named(err error) (list []quirks) {
	var message string
	f, refused := errors.AsType[*fault](err)
	if refused = refused && slices.Contains([]int{400, 422, 500}, f.answered()); refused {
		message = strings.ToLower(f.param + " " + f.message)
	}
	if refused && f.category() == schemas.CodeContextTooLong { // vLLM names max_completion_tokens there
		return nil
	}
	has := func(words ...string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(message, w) })
	}
	// llama.cpp answers with 500 when the model's template refuses the messages; no other word is looked for then.
	says := func(words ...string) bool { return refused && f.answered() != 500 && has(words...) }
	for _, candidate := range []struct {
		quirk quirks
		named bool
	}{
		{reasoningOff, errors.Is(err, goopenai.ErrReasoningToolsRequireResponses)},
		{unchecked, errors.Is(err, goopenai.ErrReasoningEffortUnsupported)},
		{answeredResults, has("after role 'tool'") || has("must alternate")}, // Mistral
		{systemInUser, slices.ContainsFunc(noSystemRole, func(words string) bool { return has(words) })},
		{shortIDs, has("tool call id", "length of 9") || has("tool call id", "length 9")}, // Mistral
		{reasoningBack, says("reasoning_content")},                                        // DeepSeek and Kimi
		{contentAlways, says("missing field `content`") || says("content", "field required")},
		{signedCalls, says("thought_signature")}, // Gemini
		{noExtra, says("extra_content")},
		{noStreamOptions, says("stream_options") || says("include_usage")},
		{completionTokens, says("max_completion_tokens") || errors.Is(err, goopenai.ErrReasoningModelMaxTokensDeprecated)},
		{fixedTemperature, says("temperature") || errors.Is(err, goopenai.ErrReasoningModelLimitationsOther) || errors.Is(err, goopenai.ErrReasoningSamplingUnsupported)},
		{noToolChoice, says("tool_choice")},
	} {
		if candidate.named {
			list = append(list, candidate.quirk)
		}
	}
	return list
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
		Model:  req.Model,
		Stream: true,
	}
	if !q.has(noStreamOptions) {
		out.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	}
	if q.has(completionTokens) {
		out.MaxCompletionTokens = req.MaxTokens
	} else {
		out.MaxTokens = req.MaxTokens //nolint:staticcheck // the servers that know only this name are the reason for quirks
	}
	if !q.has(fixedTemperature) {
		out.Temperature = max(float32(req.Temperature), math.SmallestNonzeroFloat32)
	}
	if len(req.Tools) > 0 {
		out.Tools = placeholderTools
	}
	if q.has(unchecked) {
		out.Model = placeholderModel
	} else if len(req.Tools) > 0 && q.has(reasoningOff) {
		out.ReasoningEffort = goopenai.ReasoningEffortNone
	}
	if len(req.Tools) > 0 && req.ToolsForbidden && !q.has(noToolChoice) {
		out.ToolChoice = "none"
	}
	return out
}
