package schemas

import (
	"errors"
	"slices"
)

// Code is a machine-readable error code; the same word is used in problem+json,
// in error events and in stored messages.
type Code string

// The codes of a failed run.
const (
	CodeRateLimited         Code = "rate_limited"
	CodeUpstreamAuth        Code = "upstream_auth"
	CodeUpstreamTimeout     Code = "upstream_timeout"
	CodeUpstreamUnavailable Code = "upstream_unavailable"
	CodeUpstreamTruncated   Code = "upstream_truncated"
	CodeUpstreamError       Code = "upstream_error"
	CodeContextTooLong      Code = "context_too_long"
	CodeContentFilter       Code = "content_filter"
	CodeStoreUnavailable    Code = "store_unavailable"
	CodeInterrupted         Code = "interrupted"
	// CodeEffectUnknown is for an action of which nobody knows whether it took effect.
	// The same request could do it twice.
	CodeEffectUnknown Code = "effect_unknown"
	CodeRunTimeout    Code = "run_timeout"
	CodeInternal      Code = "internal"
)

// The codes of a refused request.
const (
	CodeBadRequest       Code = "bad_request"
	CodeInvalid          Code = "invalid"
	CodeUnauthorized     Code = "unauthorized"
	CodeAuthUnavailable  Code = "auth_unavailable"
	CodeForbidden        Code = "forbidden"
	CodeNotFound         Code = "not_found"
	CodeMethodNotAllowed Code = "method_not_allowed"
	CodeBusy             Code = "busy"
	CodeCancelled        Code = "cancelled"
	CodeConflict         Code = "conflict"
	// CodeBeingWritten is for a decision about a block that a model is writing.
	CodeBeingWritten     Code = "being_written"
	CodeTooLarge         Code = "too_large"
	CodeUnsupportedMedia Code = "unsupported_media_type"
	CodeTooManyRuns      Code = "too_many_runs"
	CodeTooManyStreams   Code = "too_many_streams"
	CodeTooManyRequests  Code = "too_many_requests"
	CodeBudget           Code = "budget"
	CodeRequestTimeout   Code = "request_timeout"
	CodeShuttingDown     Code = "shutting_down"
	// CodePrecondition is for an If-Match that no longer matches.
	CodePrecondition Code = "precondition_failed"
	// CodeKeyRequired is for a request that resumes a run without naming it.
	CodeKeyRequired Code = "key_required"
	// CodeQuota is for a request that would exceed the user's quota.
	CodeQuota Code = "quota"
	// CodeMisdirected is for a request with a host name that is not the
	// service's.
	CodeMisdirected Code = "misdirected"
)

// Error is what a client may see of a failure: a code and a sentence without
// internals. The cause wraps it and is never part of the message.
type Error struct {
	Code    Code
	Message string
	// Fields are the parts of a request that are wrong.
	Fields []FieldError
	// RunID is the run a busy chat works on, or the failed run.
	RunID string
	// RetryAfter is a hint in seconds; 0 means none.
	RetryAfter int
}

// Error returns code and message.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// NewError returns an Error with that code and message.
func NewError(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Invalid returns an Error with the code invalid for the part of a request that
// the JSON pointer names.
func Invalid(pointer, detail string) *Error {
	return &Error{Code: CodeInvalid, Message: "the request is not valid", Fields: []FieldError{{Pointer: pointer, Detail: detail}}}
}

// Misfit returns the error about the part of a request that pointer names, whose value does
// not fit because of err. If err names parts of the value, these are named.
func Misfit(pointer string, err error) *Error {
	seen, ok := errors.AsType[*Error](err)
	if !ok || len(seen.Fields) == 0 {
		return Invalid(pointer, err.Error())
	}
	out := Invalid(pointer, "")
	out.Fields = slices.Clone(seen.Fields)
	for i := range out.Fields {
		out.Fields[i].Pointer = pointer + out.Fields[i].Pointer
	}
	return out
}

// ErrNoRoom is in the tree of an error of a database whose disk is full.
var ErrNoRoom = errors.New("the disk of the database is full")

// ErrTooMuch is in the tree of the error of a read or a write that waited too long for
// others.
var ErrTooMuch = errors.New("the database has more to do than it can do in time")

// Unavailable returns the error for a client when the database cannot be reached, has
// no room, or has too much to do.
func Unavailable(cause error) error {
	switch {
	case errors.Is(cause, ErrNoRoom):
		return errNoRoom.Because(cause)
	case errors.Is(cause, ErrTooMuch):
		return errTooMuch.Because(cause)
	}
	return errUnavailable.Because(cause)
}

var (
	errUnavailable = NewError(CodeStoreUnavailable, "the database is not available; try again soon")
	errTooMuch     = NewError(CodeStoreUnavailable, ErrTooMuch.Error()+"; try again soon")
	errNoRoom      = &Error{Code: CodeStoreUnavailable, Message: ErrNoRoom.Error() + "; try again when its operator has made room", RetryAfter: 30}
)

// ErrNotFound is for an id that is unknown or belongs to another user.
var ErrNotFound = NewError(CodeNotFound, "there is nothing under this id")

// ErrStale is for a change of something that has changed since it was read.
var ErrStale = NewError(CodePrecondition, "it has been changed since; read it again")

// ErrKeyReused is for an Idempotency-Key that the owner used with another body.
var ErrKeyReused = NewError(CodeInvalid, "this Idempotency-Key was used with another body")

// ErrTaken is for a new id that its owner already uses.
var ErrTaken = NewError(CodeConflict, "this id is already in use")

// caused is an Error with the cause that a client must not see.
type caused struct {
	seen  *Error
	cause error
}

func (c *caused) Error() string   { return c.seen.Error() + " (" + c.cause.Error() + ")" }
func (c *caused) Unwrap() []error { return []error{c.seen, c.cause} }

// Because returns e with a cause for the log.
func (e *Error) Because(cause error) error {
	if cause == nil {
		return e
	}
	return &caused{e, cause}
}

// Visible returns the Error that err wraps, or a plain internal one.
func Visible(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return NewError(CodeInternal, "something went wrong on our side; it has been logged")
}

// Retryable reports whether the same request may succeed later.
func (c Code) Retryable() bool {
	switch c {
	case CodeRateLimited, CodeUpstreamTimeout, CodeUpstreamUnavailable, CodeUpstreamTruncated, CodeUpstreamError,
		CodeStoreUnavailable, CodeInterrupted, CodeRunTimeout, CodeTooManyRuns, CodeTooManyStreams, CodeTooManyRequests, CodeBudget, CodeRequestTimeout, CodeAuthUnavailable, CodeShuttingDown:
		return true
	default:
		return false
	}
}

// Problem is an error outside a stream: application/problem+json, RFC 9457.
type Problem struct {
	Type      string       `json:"type"`
	Title     string       `json:"title"`
	Status    int          `json:"status"`
	Detail    string       `json:"detail"`
	Code      Code         `json:"code"`
	RequestID string       `json:"request_id"`
	RunID     string       `json:"run_id,omitempty"`
	Errors    []FieldError `json:"errors,omitempty"`
}

// FieldError is one wrong part of a body. Pointer is a JSON pointer.
type FieldError struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}
