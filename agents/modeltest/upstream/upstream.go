// Package upstream is a scripted server of OpenAI's chat completions protocol
// for tests. The script controls every byte of an answer; requests are kept,
// and clients that disconnect in the middle are counted.
//
//	up := upstream.New()
//	defer up.Close()
//	up.Push(upstream.Stream(upstream.Call(0, "call_1", "search", `{"q":"x"}`), upstream.Finish("tool_calls")))
//	up.On(upstream.LastUser("hello"), upstream.Text("Hi", " there"))
//	// give up.URL() to the code under test
package upstream

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// maxBody bounds a request's body.
const maxBody = 32 << 20

// Request is a received request. Body is what was sent; the other fields are
// parsed from it, zero if they could not be read.
type Request struct {
	Path   string
	Query  string
	Header http.Header
	Body   []byte

	Model      string          `json:"model"`
	Stream     bool            `json:"stream"`
	Messages   []Message       `json:"messages"`
	Tools      []Tool          `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
}

// Message is a message of a request. Content is raw: a string or parts.
type Message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// Text returns the content when it is a string.
func (m Message) Text() string {
	var s string
	_ = json.Unmarshal(m.Content, &s) // content in parts is not a string
	return s
}

// Tool is a tool of a request.
type Tool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// Last returns the last message of a role.
func (r Request) Last(role string) Message {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == role {
			return m
		}
	}
	return Message{}
}

// Results counts the tool results after the last message of the user: the
// position in the turn.
func (r Request) Results() int {
	n := 0
	for _, m := range slices.Backward(r.Messages) {
		switch m.Role {
		case "tool":
			n++
		case "user":
			return n
		}
	}
	return n
}

// A Match reports whether a rule applies to a request.
type Match func(Request) bool

// Any matches every request.
func Any(Request) bool { return true }

// LastUser matches requests whose last message of the user contains text.
func LastUser(text string) Match {
	return func(r Request) bool { return strings.Contains(r.Last("user").Text(), text) }
}

// After narrows m to requests with this many tool results in the turn.
func (m Match) After(results int) Match {
	return func(r Request) bool { return r.Results() == results && m(r) }
}

type rule struct {
	match   Match
	replies []Reply
}

// Server answers POST …/chat/completions from its script: first the queue of
// Push, then the rules of On, oldest first. A request without a reply gets
// status 501. It is safe for concurrent use.
type Server struct {
	http *httptest.Server // nil in memory
	gone chan struct{}

	mu       sync.Mutex
	queue    []Reply
	rules    []*rule
	requests []Request
	missing  []Request // requests without a reply
	left     int       // clients that disconnected in the middle
	running  int
}

// New starts a server on a port of 127.0.0.1. Close it.
func New() *Server {
	s := NewMemory()
	s.http = httptest.NewServer(s)
	return s
}

// NewMemory returns a server that is reached through its Transport only: it
// needs no network and runs inside testing/synctest.
func NewMemory() *Server { return &Server{gone: make(chan struct{}, 1)} }

// URL returns the base URL for clients, with /v1.
func (s *Server) URL() string {
	if s.http == nil {
		return "http://upstream.test/v1"
	}
	return s.http.URL + "/v1"
}

// Close ends the server: it cuts the connections first, so that a hanging
// script cannot block it.
func (s *Server) Close() {
	if s.http != nil {
		s.http.CloseClientConnections()
		s.http.Close()
	}
}

// HangUp closes all connections. The server accepts new ones.
func (s *Server) HangUp() { s.http.CloseClientConnections() }

// Push appends replies to the queue: each answers one request.
func (s *Server) Push(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// On adds a rule: the first matching request gets the first reply, and so on;
// the last reply is repeated.
func (s *Server) On(match Match, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &rule{match, replies})
}

// Trim forgets all but the newest n rules and requests, for a test that lasts so long that
// it would fill the memory with them.
func (s *Server) Trim(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = slices.Clone(s.rules[max(0, len(s.rules)-n):])
	s.requests = slices.Clone(s.requests[max(0, len(s.requests)-n):])
}

// Requests returns the requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Calls counts the requests so far.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// Unscripted returns the requests without a reply.
func (s *Server) Unscripted() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.missing)
}

// Disconnects counts the clients that disconnected before the end of their
// reply, if a waiting reply noticed it.
func (s *Server) Disconnects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// Gone has a value after a client disconnected; it does not count them.
func (s *Server) Gone() <-chan struct{} { return s.gone }

// Running counts the replies that are being written.
func (s *Server) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return // the client has already disconnected
	}
	req := Request{Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body}
	_ = json.Unmarshal(body, &req) // a body that is not JSON has no parts
	reply := s.take(req)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}()
	for _, part := range reply {
		if !part(w, r) {
			s.leave()
			return
		}
	}
}

func (s *Server) take(req Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	s.running++
	if len(s.queue) > 0 {
		reply := s.queue[0]
		s.queue = s.queue[1:]
		return reply
	}
	for _, r := range s.rules {
		if len(r.replies) > 0 && r.match(req) {
			reply := r.replies[0]
			if len(r.replies) > 1 {
				r.replies = r.replies[1:]
			}
			return reply
		}
	}
	s.missing = append(s.missing, req)
	return Status(http.StatusNotImplemented, `{"error":{"message":"nothing is scripted for this request"}}`)
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left++
	select {
	case s.gone <- struct{}{}:
	default:
	}
}
