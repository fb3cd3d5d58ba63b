package transport

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// The media types and headers of streamable HTTP.
const (
	typeJSON        = "application/json"
	typeEvents      = "text/event-stream"
	sessionHeader   = "Mcp-Session-Id"
	lastEventHeader = "Last-Event-ID"
)

// maxResumes is how often the stream of a call is opened again after the same event. The
// library ends the connection when it has tried once more than that.
const maxResumes = 4

// BadAnswer is the error of a call to which a remote server gave an answer that cannot be
// used. Its text has no part of the body.
type BadAnswer struct {
	Status int    // of HTTP
	kind   string // the media type
	fault  error  // what is wrong besides, or nil
}

// Error says what came back.
func (b *BadAnswer) Error() string {
	came := "status " + strconv.Itoa(b.Status) + ", " + cmp.Or(b.kind, "no content type")
	if b.fault == nil {
		return came
	}
	return came + ": " + b.fault.Error()
}

// The faults of an answer.
var (
	errNoMessage    = errors.New("it is not a JSON-RPC message")
	errOtherMessage = errors.New("it is not an answer to the call")
	errCutOff       = errors.New("it ended before the call was answered")
	errElsewhere    = errors.New("it redirects to another address")
)

// answers passes a remote server's answers to the library, which ends the connection with
// all its calls when one of them breaks the protocol. A bad answer to a call ends only that
// call here. It is passed on if it means that the session has expired, and to requests that
// belong to no call: the connection depends on the handshake, lists and the server's stream.
type answers struct {
	next http.RoundTripper
	link *Link
}

// RoundTrip implements http.RoundTripper.
func (t *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	call := callOf(r.Context())
	if call == nil {
		resp, err := t.next.RoundTrip(r)
		if err == nil && mediaType(resp) == typeEvents {
			resp.Body = &events{body: resp.Body, take: t.link.progress, link: t.link}
		}
		return resp, err
	}
	if call.resumes(r.Header.Get(lastEventHeader)) > maxResumes {
		return nil, call.fail(&BadAnswer{http.StatusOK, typeEvents, errCutOff})
	}
	id := requestID(r)
	t.link.sends(call, id)
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return t.check(r, resp, call, id)
}

// check returns a response to a request of the call as the library may have it. The id is
// invalid for a notification and when a stream is resumed.
func (t *answers) check(r *http.Request, resp *http.Response, call *activeCall, id jsonrpc.ID) (*http.Response, error) {
	bad := &BadAnswer{Status: resp.StatusCode, kind: mediaType(resp)}
	succeeded := resp.StatusCode/100 == 2
	resp.Header.Del(sessionHeader) // only the handshake's answer has one
	switch {
	case redirects(resp), succeeded && r.Method == http.MethodPost && !id.IsValid():
		return resp, nil
	case succeeded && bad.kind == typeEvents:
		resp.Body = &events{body: resp.Body, take: t.link.progress, link: t.link, call: call, bad: bad}
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // the rest is not read
	if id.IsValid() && bad.kind == typeJSON {
		body, err := io.ReadAll(resp.Body)
		if err == nil {
			err = t.answered(body, id)
		}
		if err == nil {
			answer := *resp
			answer.StatusCode, answer.Body = http.StatusOK, io.NopCloser(bytes.NewReader(body)) // it may be an error
			return &answer, nil
		}
		if succeeded {
			bad.fault = err
		}
	}
	if resp.StatusCode == http.StatusNotFound && r.Header.Get(sessionHeader) != "" {
		expired := *resp
		expired.Body = http.NoBody // a JSON-RPC error would keep the session
		return &expired, nil
	}
	return nil, call.fail(bad)
}

// answered notes that a call has its answer, or returns why the message is none.
func (t *answers) answered(message []byte, id jsonrpc.ID) error {
	m, err := jsonrpc.DecodeMessage(message)
	if err != nil {
		return errNoMessage
	}
	a, ok := m.(*jsonrpc.Response)
	if !ok || a.ID != id {
		return errOtherMessage
	}
	t.link.answered(a)
	return nil
}

// requestID returns the id of the message in a request, an invalid one if there is none.
func requestID(r *http.Request) jsonrpc.ID {
	if r.GetBody == nil {
		return jsonrpc.ID{}
	}
	body, err := r.GetBody()
	if err != nil {
		return jsonrpc.ID{}
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return jsonrpc.ID{}
	}
	m, _ := jsonrpc.DecodeMessage(raw)
	if sent, ok := m.(*jsonrpc.Request); ok {
		return sent.ID
	}
	return jsonrpc.ID{}
}

func mediaType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind
}

// redirects reports whether the HTTP client follows the response or refuses to.
func redirects(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}
