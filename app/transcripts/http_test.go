package transcripts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing/synctest"
	"time"
)

// exchange is a request with the part of its answer that has arrived.
type exchange struct {
	step    step
	request *http.Request
	sent    []byte
	cancel  context.CancelFunc
	shown   int // bytes of the body that are already shown

	mu     sync.Mutex
	status int
	head   http.Header
	body   bytes.Buffer
	done   bool
	err    error
}

// do runs one step and returns what the transcript shows of it.
func (s *fixture) do(st step) string {
	s.t.Helper()
	switch st.verb {
	case "#":
		return ""
	case "pass":
		d, err := time.ParseDuration(st.arg)
		if err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(d) //nolint:forbidigo // the time of the bubble: it passes at once
		return ""
	case "upstream":
		from := s.asked
		requests := s.up.Requests()
		s.asked = len(requests)
		return asked(requests, from)
	case "restart":
		s.stop()
		// A stop takes a millisecond longer if a connection is still in use.
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) //nolint:forbidigo // the time of the bubble
		s.start()
		synctest.Wait() // until the runs are taken up
		return ""
	case "SOCKET":
		s.wires[st.name] = s.openWire(st)
		return ""
	case "model":
		s.says(s.aliases.real(st.body))
		return ""
	case "send":
		s.sendWire(s.wires[st.arg], st.body)
		synctest.Wait()
		return ""
	case "read":
		if w := s.wires[st.arg]; w != nil {
			return s.readWire(w)
		}
		return s.read(s.opened(st.arg))
	case "close":
		if w := s.wires[st.arg]; w != nil {
			_ = w.conn.CloseNow() // it may be closed
			synctest.Wait()
			return ""
		}
		s.opened(st.arg).cancel()
		synctest.Wait()
		return ""
	}
	x := s.request(st)
	if st.name != "" {
		s.open[st.name] = x
		go x.run(s.client)
		synctest.Wait()
		return ""
	}
	x.run(s.client)
	s.finished(x)
	return x.show()
}

func (s *fixture) opened(name string) *exchange {
	x := s.open[name]
	if x == nil {
		s.t.Fatalf("the transcript has no request &%s, want it before this step", name)
	}
	return x
}

// request makes the request of a step, with names replaced by their values.
func (s *fixture) request(st step) *exchange {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	x := &exchange{step: st, sent: []byte(s.aliases.real(st.body)), cancel: cancel}
	var err error
	if x.request, err = http.NewRequestWithContext(ctx, st.verb, "http://chattray.test"+s.aliases.real(st.arg), bytes.NewReader(x.sent)); err != nil {
		s.t.Fatal(err)
	}
	if len(x.sent) > 0 {
		x.request.Header.Set("Content-Type", "application/json")
	}
	if token := s.bearer(st.user, st.roles); token != "" {
		x.request.Header.Set("Authorization", "Bearer "+token)
	}
	for _, h := range st.head {
		x.request.Header.Set(h[0], s.aliases.real(h[1]))
	}
	return x
}

// run sends the request and reads the answer to its end.
func (x *exchange) run(client *http.Client) {
	defer x.cancel()
	answer, err := client.Do(x.request)
	if err == nil {
		x.mu.Lock()
		x.status, x.head = answer.StatusCode, answer.Header
		x.mu.Unlock()
		_, err = io.Copy(x, answer.Body)
		answer.Body.Close()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done, x.err = true, err
}

// Write takes a piece of the body.
func (x *exchange) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.body.Write(p)
}

// finished checks a whole answer.
func (s *fixture) finished(x *exchange) {
	s.t.Helper()
	cut := errors.Is(x.err, io.ErrUnexpectedEOF) && ofWire(x.step.arg) // a wire has no other way to report it
	if x.err != nil && !errors.Is(x.err, context.Canceled) && !cut {
		s.t.Errorf("%s %s: %v", x.step.verb, x.step.arg, x.err)
	}
	s.checkAnswer(x)
}

// read returns what has arrived since the last read.
func (s *fixture) read(x *exchange) string {
	s.t.Helper()
	synctest.Wait()
	x.mu.Lock()
	done := x.done
	x.mu.Unlock()
	state := "(open)"
	if done {
		s.finished(x)
		delete(s.open, x.step.name)
		state = "(end)"
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.status == 0 {
		return state
	}
	text := x.show()
	if text != "" {
		text = strings.TrimRight(text, "\n") + "\n"
	}
	return text + state
}

// show returns the part of the answer that has not been shown: the status, the type and
// the headers that differ, then the body, with JSON indented.
func (x *exchange) show() string {
	var b strings.Builder
	body := x.body.Bytes()
	if x.shown == 0 {
		fmt.Fprintf(&b, "%d %s\n", x.status, x.head.Get("Content-Type"))
		for _, name := range []string{"X-Run-Id", "Retry-After", "WWW-Authenticate"} {
			if v := x.head.Get(name); v != "" {
				fmt.Fprintf(&b, "%s: %s\n", name, v)
			}
		}
		if len(body) > 0 {
			b.WriteString("\n")
		}
	}
	if strings.HasSuffix(x.head.Get("Content-Type"), "json") {
		var out bytes.Buffer
		if json.Indent(&out, body, "", "  ") == nil {
			body = out.Bytes()
		}
		b.Write(body)
		x.shown = max(x.shown, 1)
		return b.String()
	}
	b.Write(body[min(x.shown, len(body)):])
	x.shown = max(len(body), 1)
	return b.String()
}
