package server

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// The codes of JSON-RPC 2.0, section 5.1, for refused requests.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInternal       = -32603
)

// rpcError is a refusal as a JSON-RPC error. ID is the request's id, null if it
// has none.
type rpcError struct {
	status  int             // HTTP status
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func newRPCError(id json.RawMessage, code int, message string) *rpcError {
	e := &rpcError{status: http.StatusBadRequest, Version: "2.0", ID: id}
	if len(id) == 0 {
		e.ID = json.RawMessage("null")
	}
	e.Error.Code, e.Error.Message = code, message
	return e
}

// send writes the refusal as the answer.
func (e *rpcError) send(w http.ResponseWriter) {
	raw, err := json.Marshal(e)
	if err != nil {
		raw = nil // an id that was decoded is valid JSON
	}
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(e.status)
	_, _ = w.Write(append(raw, '\n')) // a caller that has disconnected gets nothing
}

// readMessage reads the one message of a request and puts it back to be read
// again. It returns the message's id, or a refusal.
func readMessage(r *http.Request, limit int64) (id json.RawMessage, refused *rpcError) {
	if r.Method != http.MethodPost {
		return nil, nil // the SDK answers 405
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, newRPCError(nil, codeInvalidRequest, "the message could not be read to its end")
	}
	if int64(len(body)) > limit {
		refused = newRPCError(nil, codeInvalidRequest, "the message is too large")
		refused.status = http.StatusRequestEntityTooLarge
		return nil, refused
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	body = bytes.TrimSpace(body)
	if !json.Valid(body) {
		return nil, newRPCError(nil, codeParse, "the body is not JSON")
	}
	var m struct {
		Version json.RawMessage `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  json.RawMessage `json:"method"`
	}
	if body[0] != '{' || json.Unmarshal(body, &m) != nil {
		return nil, newRPCError(nil, codeInvalidRequest, "the body must be one JSON-RPC message; batches are not accepted")
	}
	if len(m.ID) > 0 && !strings.ContainsRune(`"-0123456789`, rune(m.ID[0])) {
		return nil, newRPCError(nil, codeInvalidRequest, "the id must be a string or a number")
	}
	switch {
	case !repeatable(m.ID):
		return nil, newRPCError(m.ID, codeInvalidRequest, "an id that is a number must be whole and below 2^53")
	case string(m.Version) != `"2.0"`:
		return nil, newRPCError(m.ID, codeInvalidRequest, `jsonrpc must be "2.0"`)
	case len(m.Method) == 0 || m.Method[0] != '"':
		return nil, newRPCError(m.ID, codeInvalidRequest, "the message must have a method")
	}
	return m.ID, nil
}

// repeatable reports whether the SDK, which keeps a number as a float64 and writes it as an
// int64, answers under the same id.
func repeatable(id json.RawMessage) bool {
	if len(id) == 0 || id[0] == '"' {
		return true
	}
	n, err := strconv.ParseFloat(string(id), 64)
	return err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53
}

// maxRefusal bounds the text of a refusal, in bytes.
const maxRefusal = 1_000

// unhandled is the SDK's text for a method that it does not know.
const unhandled = "JSON RPC not handled"

// rpcWriter turns refusals that are plain text into JSON-RPC errors.
type rpcWriter struct {
	http.ResponseWriter
	id    json.RawMessage
	begun bool // an answer
	held  int  // the status of a refusal
	text  []byte
}

// Unwrap lets http.ResponseController find the writer beneath.
func (w *rpcWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *rpcWriter) WriteHeader(status int) {
	kind, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
	if status == http.StatusBadRequest && kind == "text/plain" {
		w.held = status
		return
	}
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *rpcWriter) Write(p []byte) (int, error) {
	if w.held == 0 {
		w.begun = true
		return w.ResponseWriter.Write(p)
	}
	w.text = append(w.text, p[:min(len(p), maxRefusal-len(w.text))]...)
	return len(p), nil
}

// cut sends an error if a message that has an id got no answer in time.
func (w *rpcWriter) cut() {
	if w.begun || w.held != 0 || len(w.id) == 0 {
		return
	}
	late := newRPCError(w.id, codeInternal, "the call took too long"+turn.UnknownEffect)
	late.status = http.StatusOK // clients read a JSON-RPC error only from a successful response
	late.send(w.ResponseWriter)
}

// finish sends the refusal, if there is one.
func (w *rpcWriter) finish() {
	if w.held == 0 {
		return
	}
	w.Header().Del("Content-Length")
	says := strings.TrimSpace(string(w.text))
	unknown := strings.HasPrefix(says, unhandled)
	switch {
	case unknown && len(w.id) == 0: // a notification has no answer, and one that nobody needs is no mistake
		w.Header().Del("Content-Type")
		w.ResponseWriter.WriteHeader(http.StatusAccepted)
		return
	case unknown:
		refused := newRPCError(w.id, codeUnknownMethod, "there is no such method")
		refused.status = http.StatusOK // clients read a JSON-RPC error only from a successful response
		refused.send(w.ResponseWriter)
		return
	}
	newRPCError(w.id, codeInvalidRequest, text.Printable(says, maxRefusal)).send(w.ResponseWriter)
}
