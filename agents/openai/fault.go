package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chattray/chattray/agents/openai/sending"
	"github.com/chattray/chattray/schemas"
)

// fault is an upstream's error, whatever its shape. Its text is for the log; without makes it fit.
type fault struct {
	status     int // 0 in the middle of a stream
	kind       string
	code       string
	param      string
	message    string
	retryAfter time.Duration
	chance     bool // the next attempt may succeed
}

func (f *fault) Error() string {
	return fmt.Sprintf("upstream: status %d, type %q, code %q: %s", f.status, f.kind, f.code, f.message)
}

// Limits of an upstream's error, as read and as kept.
const (
	maxErrorBody = 64 << 10
	maxErrorText = 2 << 10
)

// The ways in which a call fails without an upstream error. The first four are
// causes set by our own timers.
var (
	errConnect    = errors.New("openai: no connection in time")
	errFirstToken = errors.New("openai: no token in time")
	errIdle       = errors.New("openai: the stream fell silent")
	errTail       = errors.New("openai: the reply is complete, but its stream did not end")
	errTruncated  = errors.New("openai: the stream ended without a finish_reason")
	errTooLarge   = errors.New("openai: the reply is larger than allowed")
	errUnreadable = errors.New("openai: a chunk of the stream cannot be read")

	errUnreachable = errors.New("openai: the server cannot be reached")
)

// unknownFinish is the fault of a reply that ended for an unknown reason. Gemini ends a reply,
// often an empty one, when it has written a call that it cannot read itself.
func unknownFinish(reason string) *fault {
	f := protocol("finish_reason %.100q", reason)
	f.chance = strings.Contains(strings.ToLower(reason), "malformed_function_call")
	return f
}

func protocol(format string, args ...any) *fault {
	return &fault{message: fmt.Sprintf(format, args...)}
}

// responseFault makes a fault of a response other than a success.
func responseFault(resp *http.Response) *fault {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a part of the body is enough
	f, ok := errorBody(body)
	if !ok {
		f = &fault{message: string(body)}
	}
	if to := resp.Header.Get("Location"); to != "" { // redirects are not followed, and have no words
		f.message += " redirect to " + to
	}
	f.status = resp.StatusCode
	f.retryAfter = retryAfter(resp.Header)
	return f
}

// errorBody reads an error object in one of the shapes that servers use:
// {"error":{…}}, {"error":"…"}, {"object":"error","message":…},
// {"type":"error",…}, {"detail":…}, {"message":…} and any of them in an array.
func errorBody(body []byte) (*fault, bool) {
	if bytes.Contains(body, []byte(`"choices"`)) && !bytes.Contains(body, []byte(`"error"`)) {
		return nil, false
	}
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return nil, false
		}
		body = list[0]
	}
	var o struct {
		Error   json.RawMessage `json:"error"`
		Choices json.RawMessage `json:"choices"`
		Object  any             `json:"object"`
		Detail  json.RawMessage `json:"detail"`
		errorFields
	}
	if len(body) == 0 || body[0] != '{' || json.Unmarshal(body, &o) != nil {
		return nil, false
	}
	switch {
	case isSet(o.Error):
		var inner struct {
			errorFields
			// Metadata has the error of the model's server if a gateway answers. The
			// gateway's own message only says that there was an error.
			Metadata json.RawMessage `json:"metadata"`
		}
		var behind struct {
			Raw json.RawMessage `json:"raw"`
		}
		if json.Unmarshal(o.Error, &inner) == nil {
			_ = json.Unmarshal(inner.Metadata, &behind) // without it nothing is known
			return inner.fault(strings.TrimSpace(cmp.Or(asText(inner.Message), string(o.Error)) + " " + asText(behind.Raw))), true
		}
		return o.fault(asText(o.Error)), true
	case isSet(o.Choices):
		return nil, false
	case o.Object == "error", asText(o.Type) == "error", isSet(o.Message):
		return o.fault(cmp.Or(asText(o.Message), string(body))), true
	case isSet(o.Detail):
		return o.fault(asText(o.Detail)), true
	}
	return nil, false
}

// errorFields are an error's fields, each of any type.
type errorFields struct {
	Type    json.RawMessage `json:"type"`
	Code    json.RawMessage `json:"code"`
	Param   json.RawMessage `json:"param"`
	Message json.RawMessage `json:"message"`
}

func (e errorFields) fault(message string) *fault {
	f := &fault{kind: asText(e.Type), code: asText(e.Code), param: asText(e.Param), message: message}
	f.chance = f.code == "tool_use_failed" // Groq cannot read a call that the model has written
	return f
}

// tooLong are words of servers that refuse a prompt for its length.
var tooLong = []string{
	"context_length", "context length", "context window", "context size", "context_size", "maximum context", "context limit", "prompt is too long", "input is too long",
	"input token count",                          // Gemini
	"maximum prompt length",                      // xAI
	"exceeded model token limit",                 // Kimi
	"range of input length",                      // Qwen
	"prompt exceeds max length",                  // GLM
	"`inputs` tokens", "`inputs` must have less", // servers of Hugging Face
}

// unavailable are words of servers that cannot answer now, also as the reason why a reply has ended.
var unavailable = []string{
	"overloaded", "service_unavailable", "unavailable_error",
	"insufficient_system_resource", // DeepSeek
	"network_error",                // GLM
}

// withoutTools are words of servers that refuse tools: Ollama, vLLM, llama.cpp, OpenRouter.
var withoutTools = []string{"does not support tools", "--enable-auto-tool-choice", "tools param requires --jinja", "support tool use"}

// has reports whether one of the words, in lower case, is in the fault.
func (f *fault) has(words ...string) bool {
	message := strings.ToLower(f.kind + " " + f.code + " " + f.message)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(message, w) })
}

// answered returns the status that the server answered with, or wrote into a stream as the
// error's code; 0 for none.
func (f *fault) answered() int {
	if n, err := strconv.Atoi(f.code); f.status == 0 && err == nil {
		return n
	}
	return f.status
}

// unpaid reports whether the service has no credit at the server: waiting does not help.
func (f *fault) unpaid() bool {
	return f.code == "insufficient_quota" || f.kind == "insufficient_quota" || f.answered() == http.StatusPaymentRequired
}

// category returns the error code of a fault.
func (f *fault) category() schemas.Code {
	has, status := f.has, f.answered()
	refused := status == 0 || (status >= 400 && status < 500)
	switch {
	case refused && has(tooLong...):
		return schemas.CodeContextTooLong
	case status == http.StatusRequestEntityTooLarge:
		return schemas.CodeContextTooLong
	case refused && has("content_filter", "content_policy", "responsibleaipolicy", "content management policy"):
		return schemas.CodeContentFilter
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == 0 && has("invalid_api_key", "authentication_error", "permission_error"):
		return schemas.CodeUpstreamAuth
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired, status == 0 && has("rate_limit", "insufficient_quota", "too many requests"):
		return schemas.CodeRateLimited
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return schemas.CodeUpstreamTimeout
	case status >= 500, status == 0 && has(unavailable...):
		return schemas.CodeUpstreamUnavailable
	}
	return schemas.CodeUpstreamError
}

// sentences are the messages for a client, by code.
var sentences = map[schemas.Code]string{
	schemas.CodeRateLimited:         "the model is busy: too many requests at the moment; try again later",
	schemas.CodeUpstreamAuth:        "the model's server does not accept this service's credentials",
	schemas.CodeUpstreamTimeout:     "the model did not answer in time",
	schemas.CodeUpstreamUnavailable: "the model's server cannot be reached or is not working at the moment",
	schemas.CodeUpstreamTruncated:   "the model's reply ended before it was complete",
	schemas.CodeUpstreamError:       "the model's server answered in a way that cannot be used",
	schemas.CodeContextTooLong:      "the conversation is too long for the model",
	schemas.CodeContentFilter:       "the model's content filter refused this request",
}

// visible wraps err in the error that a client may see.
func visible(err error) error {
	code := category(err)
	e := schemas.NewError(code, cmp.Or(sentences[code], "an image of the conversation cannot be read"))
	if f, ok := errors.AsType[*fault](err); ok {
		if code == schemas.CodeRateLimited && f.retryAfter > 0 {
			e.RetryAfter = int((f.retryAfter + time.Second - 1) / time.Second)
		}
		if f.has(withoutTools...) {
			e.Message = "the model, or its server as it is set up, cannot call tools"
		}
	}
	return e.Because(err)
}

func category(err error) schemas.Code {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.category()
	}
	if unread, ok := errors.AsType[*sending.ImageError](err); ok {
		return schemas.Visible(unread.Err).Code
	}
	switch {
	case errors.Is(err, errFirstToken), errors.Is(err, errIdle):
		return schemas.CodeUpstreamTimeout
	case errors.Is(err, errConnect), errors.Is(err, errUnreachable):
		return schemas.CodeUpstreamUnavailable
	case errors.Is(err, errTruncated):
		return schemas.CodeUpstreamTruncated
	}
	return schemas.CodeUpstreamError
}

// isOurs reports whether err already has a code of ours.
func isOurs(err error) bool {
	if _, ok := errors.AsType[*fault](err); ok {
		return true
	}
	for _, known := range []error{errConnect, errFirstToken, errIdle, errTooLarge} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
