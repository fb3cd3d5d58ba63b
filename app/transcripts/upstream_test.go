package transcripts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
)

// upstreamCanary is in every error text of the model's server; no client may ever see it.
const upstreamCanary = "canary-of-the-upstream"

// refusal is the body of an error of the model's server.
const refusal = `{"error":{"message":"` + upstreamCanary + `: no","type":"some_error","code":null}}`

// script turns the part upstream of a transcript into replies.
type script struct {
	replies []upstream.Reply
	reply   upstream.Reply
	calls   int // tool calls so far, over all replies
	index   int // tool calls of this reply
}

// parseUpstream reads the replies, separated by blank lines. A reply is an event
// stream of these lines:
//
//	say "Hel" "lo"            a chunk of text for each string
//	think "hm"                the same of reasoning
//	call NAME ARGUMENTS       a tool call, under the ids call_1, call_2 …
//	finish REASON             finish_reason, usage, [DONE]
//	data TEXT                 a line of data
//	raw "TEXT"                bytes, quoted as in Go
//	delay 5s                  silence
//	hang                      silence until the client goes away
//	abort                     the connection is cut
//
// or one of these lines alone:
//
//	status 429 [NAME=VALUE…] [BODY]    another status, with headers
//	body TYPE [BODY]                   status 200 and a body of another type
//	dead                               nothing at all
func parseUpstream(text string) ([]upstream.Reply, error) {
	var s script
	for n, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		if word == "" {
			s.end()
			continue
		}
		if err := s.line(word, rest); err != nil {
			return nil, fmt.Errorf("upstream, line %d: %w", n+1, err)
		}
	}
	s.end()
	return s.replies, nil
}

func (s *script) end() {
	if s.reply != nil {
		s.replies = append(s.replies, s.reply)
	}
	s.reply, s.index = nil, 0
}

func (s *script) line(word, rest string) error {
	switch word {
	case "status":
		return s.status(rest)
	case "body":
		kind, body, _ := strings.Cut(rest, " ")
		s.reply = upstream.Body(kind, body)
		return nil
	case "dead":
		s.reply = upstream.Reply{upstream.Hang()}
		return nil
	}
	part, err := s.part(word, rest)
	if err != nil {
		return err
	}
	if s.reply == nil && word == "abort" {
		s.reply = upstream.Reply{} // cut before the head
	}
	if s.reply == nil {
		s.reply = upstream.Open()
	}
	s.reply = s.reply.Then(part...)
	return nil
}

func (s *script) part(word, rest string) ([]upstream.Part, error) {
	one := func(p upstream.Part, err error) ([]upstream.Part, error) { return []upstream.Part{p}, err }
	switch word {
	case "say":
		texts, err := jsonStrings(rest)
		return one(upstream.Say(texts...), err)
	case "think":
		texts, err := jsonStrings(rest)
		return one(upstream.Think(texts...), err)
	case "call":
		name, arguments, _ := strings.Cut(rest, " ")
		s.calls++
		s.index++
		return one(upstream.Call(s.index-1, "call_"+strconv.Itoa(s.calls), name, arguments), nil)
	case "finish":
		return []upstream.Part{upstream.Finish(rest), upstream.Usage(10, 2), upstream.Done()}, nil
	case "data":
		return one(upstream.Data(rest), nil)
	case "raw":
		text, err := strconv.Unquote(rest)
		return one(upstream.Bytes(text), err)
	case "delay":
		d, err := time.ParseDuration(rest)
		return one(upstream.Delay(d), err)
	case "hang":
		return one(upstream.Hang(), nil)
	case "abort":
		return one(upstream.Abort(), nil)
	default:
		return nil, fmt.Errorf("the part %q of a reply is not known", word)
	}
}

// jsonStrings reads a sequence of JSON strings.
func jsonStrings(line string) ([]string, error) {
	var texts []string
	for d := json.NewDecoder(strings.NewReader(line)); d.More(); {
		var text string
		if err := d.Decode(&text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func (s *script) status(rest string) error {
	number, rest, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(number)
	var head []string
	for rest != "" && rest[0] != '{' && rest[0] != '<' {
		var field string
		field, rest, _ = strings.Cut(rest, " ")
		name, value, _ := strings.Cut(field, "=")
		head = append(head, name, value)
	}
	if rest == "" {
		rest = refusal
	}
	s.reply = upstream.Status(status, rest, head...)
	return err
}

// asked writes the requests that the model's server has received, one line a message. Of
// the system prompt it writes only the names of its sections.
func asked(requests []upstream.Request, from int) string {
	var b strings.Builder
	for i, r := range requests[from:] {
		fmt.Fprintf(&b, "request %d: model %s, %d tools", from+i+1, r.Model, len(r.Tools))
		if len(r.ToolChoice) > 0 {
			fmt.Fprintf(&b, ", tool_choice %s", r.ToolChoice)
		}
		b.WriteString("\n")
		for _, m := range r.Messages {
			content := spelled(m.Content)
			if m.Role == "system" {
				content = promptSections(m.Text())
			}
			fmt.Fprintf(&b, "  %s", m.Role)
			if m.ToolCallID != "" {
				fmt.Fprintf(&b, " %s", m.ToolCallID)
			}
			if content != "" {
				fmt.Fprintf(&b, " %s", content)
			}
			for _, c := range m.ToolCalls {
				fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Function.Name, c.Function.Arguments)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// spelled returns JSON without the escapes that are only for HTML.
func spelled(raw json.RawMessage) string {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil || v == nil {
		return ""
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return strings.TrimSpace(b.String())
}

// checkUpstream checks that the model's server got one request for each reply of the
// transcript, with the key and the settings' temperature, and that no request is still open.
func (s *fixture) checkUpstream() {
	if got := s.up.Calls(); got != s.replies || len(s.up.Unscripted()) > 0 {
		s.t.Errorf("the model's server was asked %d times, %d of them without a reply, want %d and 0", got, len(s.up.Unscripted()), s.replies)
	}
	if s.up.Running() != 0 {
		s.t.Errorf("%d replies of the model's server are still under way, want 0", s.up.Running())
	}
	for _, r := range s.up.Requests() {
		if got := r.Header.Get("Authorization"); got != "Bearer "+canaryKey {
			s.t.Errorf("the model's server got the Authorization header %q, want the key", got)
		}
		if !r.Stream || r.Path != "/v1"+"/chat/completions" || http.Header(r.Header).Get("Cookie") != "" {
			s.t.Errorf("the model's server was asked at %s (stream: %t), want a stream of chat completions", r.Path, r.Stream)
		}
		if got, want := sentTemperature(r.Body), strconv.FormatFloat(s.config.Temperature, 'g', -1, 64); got != want {
			s.t.Errorf("the model's server got the temperature %s, want %s as in the settings", got, want)
		}
	}
}

// sentTemperature returns the temperature of a request as it is written there, "" for none.
func sentTemperature(body []byte) string {
	var sent struct {
		Temperature json.Number `json:"temperature"`
	}
	_ = json.Unmarshal(body, &sent) // the server has read it
	return sent.Temperature.String()
}
