package resume

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// wireReader is a client of a wire: the request with which it asks, and the one with which
// it gets the answer again after its connection was cut. RUN is the run's id.
type wireReader struct {
	ask, body    string
	again        string
	resumes      string // the body; without one the request is a GET
	header, from string // of the second request: what the client has already
}

var wireReaders = map[string]wireReader{
	"ui": {
		ask: "/api/ui", body: `{"id":"ui","messages":[{"id":"u-ui","role":"user","parts":[{"type":"text","text":"ui"}]}]}`,
		again: "/api/ui/ui/messages",
	},
	"completions": {
		ask: "/v1/chat/completions?on_disconnect=continue", body: `{"model":"chattray","stream":true,"metadata":{"chat_id":"completions"},"messages":[{"role":"user","content":"completions"}]}`,
		again: "/v1/chat/completions?on_disconnect=continue", resumes: `{"model":"chattray","stream":true,"metadata":{"chat_id":"completions"},"messages":[{"role":"user","content":"completions"}]}`,
	},
	"agui": {
		ask: "/api/agui", body: `{"threadId":"agui","runId":"r","messages":[{"id":"u-agui","role":"user","content":"agui"}],"tools":[],"context":[],"state":{}}`,
		again: "/api/agui", resumes: `{"threadId":"agui","runId":"r","messages":[{"id":"u-agui","role":"user","content":"agui"}],"tools":[],"context":[],"state":{}}`,
		header: "Last-Event-ID", from: "2000",
	},
	"responses": {
		ask: "/v1/responses", body: `{"model":"chattray","stream":true,"background":true,"metadata":{"chat_id":"responses"},"input":"responses"}`,
		again: "/v1/responses/resp_RUN_0?stream=true&starting_after=2000",
	},
}

// TestStalledReadersOfWires has a client of each wire that never reads its answer. The run
// goes on to its end, the client is cut, and in its own way it gets the whole answer.
func TestStalledReadersOfWires(t *testing.T) {
	t.Parallel()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.Settings = append(system.Settings, stalledIsCut)
	system.Start()
	words := make([]string, 400)
	for i := range words {
		words[i] = strconv.Itoa(i) + strings.Repeat("x", 5000) + " "
	}
	system.Model.On(upstream.Any, upstream.Open(upstream.Say(words...), upstream.Finish("stop"), upstream.Usage(10, 2), upstream.Done()))
	for _, r := range wireReaders {
		stallAt(t, system, r)
	}
	for name, r := range wireReaders {
		var run string
		apptest.Eventually(t, name+" has its answer", func() bool {
			m := answerOf(t, system, name)
			run = m.RunID
			return m.Role == "assistant" && m.Status == schemas.MessageComplete
		})
		text := string(resumed(t, system, r, run))
		for _, word := range []string{words[0], words[200], words[399]} {
			if !strings.Contains(text, strings.TrimSpace(word)) {
				t.Errorf("%s gets %d bytes without the word %.5s, want all", name, len(text), word)
			}
		}
	}
	apptest.Eventually(t, "no reader is connected", func() bool {
		system.Client.CloseIdleConnections()
		return resourcesOf(system, t).streams == 0
	})
}

// stallAt asks the client's question and does not read the answer.
func stallAt(t *testing.T, system *apptest.System, r wireReader) {
	t.Helper()
	address := strings.TrimPrefix(system.URL(t), "http://")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil { //nolint:forcetypeassert // it was dialled over TCP
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		r.ask, address, keyOf(r), len(r.body), r.body); err != nil {
		t.Fatal(err)
	}
}

// keyOf is the Idempotency-Key of the client's question.
func keyOf(r wireReader) string { return "key of " + r.ask }

// answerOf returns the last message of the chat with the key.
func answerOf(t *testing.T, system *apptest.System, key string) schemas.Message {
	t.Helper()
	var list schemas.ChatList
	decode(t, apptest.Get(t, system.URL(t)+"/api/chats"), &list)
	for _, item := range list.Items {
		if item.ChatID != key {
			continue
		}
		var chat schemas.Chat
		decode(t, apptest.Get(t, fmt.Sprintf("%s/api/chats/%d", system.URL(t), item.ConversationID)), &chat)
		return chat.Messages[len(chat.Messages)-1]
	}
	return schemas.Message{}
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatal(err)
	}
}

// resumed returns what the client gets when it comes back.
func resumed(t *testing.T, system *apptest.System, r wireReader, run string) []byte {
	t.Helper()
	path := strings.ReplaceAll(r.again, "RUN", strings.ReplaceAll(run, "-", ""))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, system.URL(t)+path, http.NoBody)
	if r.resumes != "" {
		req, err = http.NewRequestWithContext(t.Context(), http.MethodPost, system.URL(t)+path, strings.NewReader(r.resumes))
		if err == nil {
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Idempotency-Key", keyOf(r))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.header != "" {
		req.Header.Set(r.header, r.from)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s gives %d %.200s and %v, want the answer", path, resp.StatusCode, body, err)
	}
	return body
}
