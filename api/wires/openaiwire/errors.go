// Package openaiwire has what the wires of OpenAI's APIs share: errors, models, message
// parts and tools.
package openaiwire

import (
	"errors"
	"net/http"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
)

// Problem is an error as OpenAI's clients read it. Param is a JSON pointer.
type Problem struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    string  `json:"code"`
}

// ServerError is the type of errors that are not the client's.
const ServerError = "server_error"

// Refusal refuses a request with a code that only these wires have.
type Refusal struct {
	Status int
	Code   string
	Param  string
	Text   string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Code + ": " + r.Text }

// Unsupported refuses a parameter.
func Unsupported(param, text string) error {
	return &Refusal{Status: http.StatusBadRequest, Code: "unsupported_parameter", Param: param, Text: text}
}

// NotFound returns an error of a request that names something by an id: if nothing is under
// the id, the error says where the client's body has it.
func NotFound(err error, param string) error {
	if !errors.Is(err, schemas.ErrNotFound) {
		return err
	}
	return &Refusal{Status: http.StatusNotFound, Code: string(schemas.CodeNotFound), Param: param, Text: schemas.ErrNotFound.Message}
}

// Handler answers the refusals of a handler.
func Handler(handle func(c *wires.Call) error) func(c *wires.Call) error {
	return func(c *wires.Call) error {
		err := handle(c)
		if r, ok := errors.AsType[*Refusal](err); ok {
			write(c.Response, r.Status, Problem{Message: r.Text, Type: kindOf(r.Status), Param: pointer(r.Param), Code: r.Code}, false)
			return nil
		}
		return err
	}
}

// Fail answers a request with an error. Clients repeat requests by themselves: the header
// x-should-retry tells them not to, except after 429 and 5xx of which no run has begun, whose
// tools would run again. An interrupted run continues; the same request follows it.
func Fail(w http.ResponseWriter, status int, e *schemas.Error) {
	if status == http.StatusUnprocessableEntity {
		status = http.StatusBadRequest
	}
	p := Problem{Message: wires.Sentence(e), Type: kindOf(status), Code: string(e.Code)}
	if len(e.Fields) > 0 {
		p.Param = pointer(e.Fields[0].Pointer)
	}
	began := e.RunID != "" && e.Code != schemas.CodeInterrupted
	write(w, status, p, (status == http.StatusTooManyRequests || status >= http.StatusInternalServerError) && !began)
}

func pointer(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func write(w http.ResponseWriter, status int, p Problem, retry bool) {
	if !retry {
		w.Header().Set("X-Should-Retry", "false")
	}
	w.Header().Set("X-Error-Code", p.Code)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(schemas.Encode(map[string]Problem{"error": p}), '\n'))
}

// kindOf returns the type of an error.
func kindOf(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= http.StatusInternalServerError:
		return ServerError
	default:
		return "invalid_request_error"
	}
}
