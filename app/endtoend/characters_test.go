package endtoend

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// odd are characters that no database, stream or page may change.
func odd() string {
	var s strings.Builder
	for r := rune(1); r < 0xA0; r++ {
		if r < ' ' || r > '~' {
			s.WriteRune('x')
			s.WriteRune(r)
		}
	}
	for _, r := range []rune{0x2028, 0x2029, 0x202A, 0x202E, 0x2066, 0x2069, 0x200B, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF} {
		s.WriteRune('y')
		s.WriteRune(r)
	}
	return s.String() + "z"
}

// Characters that print nothing, end lines or turn the direction of text pass unchanged, on
// both databases and through each way to a page. U+0000, which Postgres cannot store, and
// half of a pair are refused where a client sends them.
func TestOddCharacters(t *testing.T) {
	text := odd()
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			up := upstream.NewMemory()
			c := apptest.ServeOn(t, d, app.Options{Models: up.Transport()}, apptest.Scripted())
			same := func(what, got string) {
				t.Helper()
				if got != text {
					t.Errorf("%s (-want +got):\n%s", what, cmp.Diff([]rune(text), []rune(got)))
				}
			}
			document := func() schemas.Document {
				return apptest.Decode[schemas.Document](t, c.Must(http.MethodGet, "/api/documents/d", nil))
			}
			c.Must(http.MethodPost, "/api/documents", map[string]any{"id": "d", "title": text})
			c.Must(http.MethodPost, "/api/documents/d/blocks", map[string]any{"id": "b", "type": "md", "content": text, "meta": map[string]any{"m": text}})
			c.Must(http.MethodPost, "/api/documents/d/blocks", map[string]any{"id": "e", "type": "md", "content": "old"})
			same("a document's title", document().Title)
			same("a block", *document().Blocks[0].Current)
			var meta map[string]string
			_ = json.Unmarshal(document().Blocks[0].Meta, &meta)
			same("a block's meta", meta["m"])
			c.Must(http.MethodPatch, "/api/documents/d", map[string]any{"title": "x"})
			c.Must(http.MethodPatch, "/api/documents/d", map[string]any{"title": text})
			same("a new title", document().Title)
			exported := c.Must(http.MethodGet, "/api/documents/d/export", nil).Body
			if !strings.Contains(exported, text) {
				t.Errorf("the export is %q", exported)
			}

			up.On(upstream.LastUser("write"), upstream.Stream(upstream.Call(0, "w", "edit_block", strings.NewReplacer(`\u2028`, "\u2028", `\u2029`, "\u2029").Replace(string(schemas.Encode(map[string]any{"block_id": "e", "content": text})))), upstream.Finish("tool_calls")), upstream.Text("ok"))
			up.On(upstream.LastUser("nul"), upstream.Stream(upstream.Call(0, "n", "edit_block", `{"block_id":"e","content":"a\u0000b \ud800c"}`), upstream.Finish("tool_calls")), upstream.Text("o\x00k"))
			up.On(upstream.Any, upstream.Text(text))
			for _, dialect := range []string{"chat", "messages"} {
				onOneLine(t, c.Open(http.MethodPost, "/api/chat/stream?dialect="+dialect, map[string]any{
					"message": text, "chat_id": dialect, "attachments": []any{map[string]any{"name": "a.txt", "mime": "text/plain", "content": text}},
				}))
			}
			for path, body := range map[string]map[string]any{
				"/v1/chat/completions": {"model": "chattray", "stream": true, "messages": []any{map[string]any{"role": "user", "content": text}}},
				"/v1/responses":        {"model": "chattray", "stream": true, "input": text},
				"/api/ui":              {"id": "u", "messages": []any{map[string]any{"id": "m1", "role": "user", "parts": []any{map[string]any{"type": "text", "text": text}}}}},
				"/api/agui":            {"threadId": "t", "runId": "r", "messages": []any{map[string]any{"id": "m2", "role": "user", "content": text}}},
			} {
				onOneLine(t, c.Open(http.MethodPost, path, body))
			}
			chat := apptest.Decode[struct{ Messages []schemas.Message }](t, c.Must(http.MethodGet, "/api/chats/1", nil))
			for _, m := range chat.Messages {
				same("the message of the "+m.Role, m.Content)
			}
			s := c.Dial("ann")
			s.Send(string(schemas.Encode(map[string]any{"name": "message", "message": map[string]any{"content": "write"}, "mode": "agent", "document_id": "d", "chat_id": "w"})))
			seen := s.Until(apptest.IsRunEnd)
			same("a block over the websocket", apptest.JoinContent(seen, "e"))
			same("a written block", *document().Blocks[1].New)
			for _, dialect := range []string{"chat", "messages"} {
				onOneLine(t, c.Open(http.MethodGet, "/api/chat/runs/"+seen[0].RunID+"/stream?dialect="+dialect, nil))
			}
			for bad, status := range map[string]int{`{"title":"a\u0000"}`: http.StatusUnprocessableEntity, `{"title":"a\ud800"}`: http.StatusBadRequest} {
				if r := c.Ask("ann", http.MethodPost, "/api/documents", "", json.RawMessage(bad)); r.Status != status {
					t.Errorf("%s is answered with %d, want %d: %s", bad, r.Status, status, r.Body)
				}
			}
			// A model may write U+0000: what readers see is what is stored.
			s.Send(`{"name":"message","message":{"content":"nul"},"mode":"agent","document_id":"d","chat_id":"w"}`)
			shown := apptest.JoinContent(s.Until(apptest.IsRunEnd), "e")
			if stored := *document().Blocks[1].New; stored != shown || strings.Contains(stored, "\x00") {
				t.Errorf("the websocket shows %q, and %q is stored", shown, stored)
			}
		})
	}
}

// onOneLine checks that each event of a stream is one line of JSON, also for a client that
// divides the stream by all that Unicode knows as the end of a line.
func onOneLine(t *testing.T, r *http.Response) {
	t.Helper()
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK || len(raw) == 0 {
		t.Errorf("the stream has the status %d: %v", r.StatusCode, err)
	}
	if at := bytes.IndexAny(raw, "\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"); at >= 0 {
		t.Errorf("an event has an end of a line: %q in %q", raw[at:at+3], raw[bytes.LastIndexByte(raw[:at], '\n')+1:at])
	}
	for line := range strings.Lines(string(raw)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]\n" && !json.Valid([]byte(data)) {
			t.Errorf("the data of an event is no JSON: %q", data)
		}
	}
}
