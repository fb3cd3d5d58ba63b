package outage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// scene is a scenario whose statements fail.
type scene struct {
	*testing.T
	system *apptest.System
	chat   string
	asked  []*apptest.Conversation // which are checked once nothing fails any longer
	checks []func()                // which are made then
	tried  []string                // requests that had to be repeated
	failed []string                // statements that have failed
}

// scenarios are what users do. Each leaves what it says in asked and checks.
var scenarios = map[string]func(s *scene){
	"answer": func(s *scene) { s.ask(nil) },
	"tools":  func(s *scene) { s.ask([][]string{{"look", "book"}, {"look"}}) },
	"approval": func(s *scene) {
		c := s.question(s.chat, "reject", [][]string{{"order"}})
		s.system.OnPhase("approval_request is read", func() {
			s.do("POST", "/api/chat/runs/"+c.RunID+"/approvals/"+s.wait(c).ApprovalID, map[string]any{"approved": true}, 200)
		})
		s.await(c.Start(s.T))
		s.ended(c, schemas.TypeComplete)
		s.called(c, 1)
	},
	"denial": func(s *scene) {
		c := s.question(s.chat, "reject", [][]string{{"order"}})
		s.system.OnPhase("approval_request is read", func() {
			s.do("POST", "/api/chat/runs/"+c.RunID+"/approvals/"+s.wait(c).ApprovalID, map[string]any{"approved": false}, 200)
		})
		s.await(c.Start(s.T))
		s.ended(c, schemas.TypeComplete)
		s.called(c, 0)
	},
	"tool of the page": func(s *scene) {
		c := s.question(s.chat, "reject", [][]string{{"pick"}})
		c.Body["client_tools"] = []any{map[string]any{"name": "pick", "description": "Pick a row.", "input_schema": map[string]any{"type": "object"}}}
		s.system.OnPhase("client_tool_call is read", func() {
			s.do("POST", "/api/chat/runs/"+c.RunID+"/tool_results", map[string]any{"tool_use_id": s.wait(c).ToolUseID, "output": "the third row"}, 200)
		})
		s.await(c.Start(s.T))
		s.ended(c, schemas.TypeComplete)
	},
	"queue":            func(s *scene) { s.queue(false) },
	"cancel of queued": func(s *scene) { s.queue(true) },
	"cancel instead": func(s *scene) {
		first := s.question(s.chat, "reject", nil)
		first.Gate = make(chan struct{})
		first.CancelledAt = s.system.Mark()
		done := first.Start(s.T)
		apptest.Eventually(s, "the first is accepted", first.Accepted.Load)
		second := s.question(s.chat, "cancel", [][]string{{"book"}})
		s.await(second.Start(s.T))
		s.await(done)
		s.asked = append(s.asked, first, second)
	},
	"cancel at once":     func(s *scene) { s.cancel("a first event is read", [][]string{{"book"}}) },
	"cancel in text":     func(s *scene) { s.cancel("text_delta is read", nil) },
	"cancel in a tool":   func(s *scene) { s.cancel("tool_start is read", [][]string{{"book"}}) },
	"cancel of approval": func(s *scene) { s.cancel("approval_request is read", [][]string{{"order"}}) },
	"answer in a block":  func(s *scene) { s.document("chat", "accept") },
	"rejected block":     func(s *scene) { s.document("chat", "reject") },
	"tool in a block":    func(s *scene) { s.document("agent", "accept") },
	"edit": func(s *scene) {
		first := s.question(s.chat, "reject", nil)
		s.await(first.Start(s.T))
		second := s.question(s.chat, "reject", [][]string{{"look"}})
		second.Body["edit_message_id"] = first.Frames[0].Event.UserMessageID
		s.await(second.Start(s.T))
		for _, c := range []*apptest.Conversation{first, second} {
			s.do("POST", fmt.Sprintf("/api/chats/%d/messages/%s/select", chatOf(c), c.Frames[0].Event.UserMessageID), nil, 200)
			s.answer(c)
		}
		s.asked = append(s.asked, second)
	},
	"regenerate": func(s *scene) {
		first := s.question(s.chat, "reject", nil)
		s.await(first.Start(s.T))
		second := s.question(s.chat, "reject", nil)
		second.Question, second.Turns, second.Want = first.Question, first.Turns, first.Want
		second.MarkScripted()
		second.Body["message"], second.Body["regenerate_message_id"] = "", s.answer(first).ID
		s.await(second.Start(s.T))
		m := s.answer(second)
		chat := fmt.Sprintf("/api/chats/%d", chatOf(first))
		s.do("POST", chat+"/messages/"+m.ID+"/feedback", map[string]any{"rating": "up"}, 200)
		s.do("PATCH", chat, map[string]any{"title": "X"}, 200)
		for _, p := range m.Payloads {
			s.do("POST", chat+"/payloads/"+p.PayloadID+"/resolve", map[string]any{"outcome": "accepted"}, 200)
		}
	},
	"message with an id": func(s *scene) {
		c := s.question(s.chat, "reject", nil)
		c.Body["message_id"], c.Key = "m-"+s.chat, ""
		s.await(c.Start(s.T))
		s.asked = append(s.asked, c)
	},
	"action": func(s *scene) {
		c := s.question(s.chat, "reject", [][]string{{"book"}})
		c.MarkScripted()
		c.Body["interaction_type"] = "action_executed"
		c.Body["action_metadata"] = map[string]any{"action_identifier": "ship", "action_data": map[string]any{"key": c.Keys()[0]}}
		s.await(c.Start(s.T))
		s.ended(c, schemas.TypeComplete)
		s.called(c, 1)
	},
	"action of a card": func(s *scene) {
		c := s.click()
		s.await(c.Start(s.T))
		s.ended(c, schemas.TypeComplete)
		s.called(c, 1)
	},
	"export": func(s *scene) {
		c := s.ask([][]string{{"look"}})
		for path, whole := range map[string]string{fmt.Sprintf("/api/chats/%d/export", chatOf(c)): c.Turns[1].Text, "/api/me/export": `{"kind":"end"`} {
			if got := s.do("GET", path, nil, 200); !bytes.Contains(got, []byte(whole)) {
				s.Errorf("GET %s: %.300s, want %s in it", path, got, whole)
			}
		}
		// The next export of the user has no more to read than this one.
		s.checks = append(s.checks, func() { s.do("DELETE", fmt.Sprintf("/api/chats/%d", chatOf(c)), nil, 204) })
	},
	"reads": func(s *scene) {
		document, block := "d-"+s.chat, "b-"+s.chat
		s.do("POST", "/api/documents", map[string]any{"id": document, "title": "T"}, 200, 409)
		s.do("POST", "/api/documents/"+document+"/blocks", map[string]any{"id": block, "type": "md", "content": "Old"}, 200, 409)
		s.do("PATCH", "/api/blocks/"+block, map[string]any{"content": "New"}, 200)
		c := s.ask([][]string{{"look"}})
		chat, run, m := fmt.Sprintf("/api/chats/%d", chatOf(c)), "/api/chat/runs/"+c.RunID, s.answer(c)
		paths := []string{
			"/api/chats?limit=5", "/api/chats?q=" + url.QueryEscape(c.Question), chat, chat + "/export", chat + "/payloads/" + m.Payloads[0].PayloadID,
			chat + "/messages/" + m.ID + "/versions", run, run + "/waits", run + "/diagnostics", run + "/tools/0", "/api/chat/runs?idempotency_key=" + c.Key,
			"/api/documents?limit=5", "/api/documents/" + document, "/api/documents/" + document + "/versions", "/api/documents/" + document + "/export", "/api/blocks/" + block,
			"/api/me/data", "/api/usage", "/api/streams", "/api/streams/1", "/api/reports", "/api/reports?q=heart", "/api/reports/10",
			"/api/admin/runs?limit=5", "/api/admin/runs/" + c.RunID + "/timeline", "/api/admin/runs/" + c.RunID + "/events", "/api/admin/runs/" + c.RunID + "/diagnostics",
		}
		got := make(map[string]string)
		for _, path := range paths {
			got[path] = string(s.do("GET", path, nil, 200))
		}
		s.checks = append(s.checks, func() {
			for _, path := range paths {
				if want := string(s.do("GET", path, nil, 200)); got[path] != want {
					s.Errorf("GET %s: %.400s, want, as later, %.400s", path, got[path], want)
				}
			}
		})
	},
	"deletion of a chat": func(s *scene) {
		c := s.question(s.chat, "reject", nil)
		s.await(c.Start(s.T))
		chat := fmt.Sprintf("/api/chats/%d", chatOf(c))
		s.do("DELETE", chat, nil, 204, 404)
		s.do("GET", chat, nil, 404)
		s.do("GET", "/api/chat/runs/"+c.RunID, nil, 404)
	},
	"deletion of everything": func(s *scene) {
		s.do("POST", "/api/documents", map[string]any{"id": "d-" + s.chat, "title": "T"}, 200, 409)
		s.await(s.question(s.chat, "reject", nil).Start(s.T))
		running := s.question(s.chat+"-running", "reject", nil)
		running.Gate = make(chan struct{})
		done := running.Start(s.T)
		s.system.AwaitModel(s.T, running)
		size := decode[schemas.DataSize](s, s.do("GET", "/api/me/data", nil, 200))
		s.do("DELETE", "/api/me/data?confirm="+size.Confirm, nil, 200)
		s.Log("the reader of the deleted run ended with", <-done)
		s.checks = append(s.checks, func() {
			for _, table := range []string{"chats", "blocks", "runs", "documents", "segments", "tool_calls", "waits", "traces", "payloads"} {
				if n := s.system.Number("SELECT COUNT(*) FROM " + table); n > 0 {
					s.Errorf("%d rows of %s are left, want none", n, table)
				}
			}
		})
	},
}

// question is a question to a chat. Its client waits while the service cannot answer.
func (s *scene) question(chat, ifBusy string, tools [][]string) *apptest.Conversation {
	c := s.system.NewConversation(chat, ifBusy)
	c.Plan(tools)
	c.Patient, c.Steady = true, true
	return c
}

// ask asks a question that is answered.
func (s *scene) ask(tools [][]string) *apptest.Conversation {
	s.Helper()
	c := s.question(s.chat, "reject", tools)
	s.await(c.Start(s.T))
	s.ended(c, schemas.TypeComplete)
	s.asked = append(s.asked, c)
	return c
}

// click asks for a card, and returns the click that does its action.
func (s *scene) click() *apptest.Conversation {
	s.Helper()
	asks := s.question(s.chat, "reject", nil)
	s.await(asks.Start(s.T))
	card := s.answer(asks).Payloads[0].PayloadID
	c := s.question(s.chat, "reject", [][]string{{"book"}})
	c.MarkScripted()
	c.Body["interaction_type"] = "action_executed"
	c.Body["action_metadata"] = map[string]any{"action_identifier": "ship", "action_data": map[string]any{"key": c.Keys()[0]}, "payload_id": card}
	return c
}

func (s *scene) queue(cancel bool) {
	s.Helper()
	gate := make(chan struct{})
	first, second := s.question(s.chat, "reject", nil), s.question(s.chat, "queue", [][]string{{"book"}})
	first.Gate = gate
	firstDone := first.Start(s.T)
	apptest.Eventually(s, "the first is accepted", first.Accepted.Load)
	secondDone := second.Start(s.T)
	apptest.Eventually(s, "the second is accepted", second.Accepted.Load)
	if cancel {
		second.CancelledAt = s.system.Mark()
		s.do("POST", "/api/chat/runs/"+second.RunID+"/cancel", nil, 200)
	}
	close(gate)
	s.await(firstDone)
	s.await(secondDone)
	s.asked = append(s.asked, first, second)
}

// cancel asks a question and cancels it in the phase.
func (s *scene) cancel(phase string, tools [][]string) {
	s.Helper()
	c := s.question(s.chat, "reject", tools)
	s.system.OnPhase(phase, func() {
		c.CancelledAt = s.system.Mark()
		s.do("POST", "/api/chat/runs/"+c.RunID+"/cancel", nil, 200)
	})
	s.await(c.Start(s.T))
	s.asked = append(s.asked, c)
}

// document has a block written, as the answer or by a tool, and decides about it.
func (s *scene) document(mode, decision string) {
	s.Helper()
	const text = "This is the whole text of the block, no more and no less."
	document, block := "d-"+s.chat, "b-"+s.chat
	s.do("POST", "/api/documents", map[string]any{"id": document, "title": "T"}, 200, 409)
	s.do("POST", "/api/documents/"+document+"/blocks", map[string]any{"id": block, "type": "md", "content": "Old"}, 200, 409)
	c := s.question(s.chat, "reject", nil)
	c.MarkScripted()
	c.Body["context"] = map[string]any{"current_page": "document", "document_id": document, "block_ids": block, "mode": mode}
	asks := upstream.Match(func(r upstream.Request) bool { return strings.HasSuffix(r.Last("user").Text(), c.Question) })
	half := text[:len(text)/2]
	if mode == "chat" {
		s.system.Model.On(asks, upstream.Text(half, text[len(half):]))
	} else {
		s.system.Model.On(asks.After(0), upstream.Stream(upstream.Call(0, "call_1", "write_block", `{"block_id":"`+block+`","content":"`+half, text[len(half):]+`"}`), upstream.Finish("tool_calls")))
		s.system.Model.On(asks.After(1), upstream.Text("Done."))
	}
	s.await(c.Start(s.T))
	s.ended(c, schemas.TypeComplete)
	if b := s.block(block); b.New == nil || *b.New != text || b.State != schemas.BlockPendingEdit {
		s.Errorf("the block is %s, want %q to wait in it", apptest.JSON(b), text)
	}
	want := map[string]string{"accept": text, "reject": "Old"}[decision]
	s.do("POST", "/api/blocks/"+block+"/"+decision, nil, 200)
	s.checks = append(s.checks, func() {
		if b := s.block(block); b.New != nil || b.Current == nil || *b.Current != want {
			s.Errorf("the block is %s, want %q in it and nothing that waits", apptest.JSON(b), want)
		}
		client := &apptest.Client{T: s.T, URL: s.system.URL(s)}
		socket := client.Dial("")
		socket.Send(`{"name":"resume","run_id":"` + c.RunID + `"}`)
		shown := ""
		for _, chunk := range socket.Until(apptest.IsRunEnd) {
			switch {
			case chunk.Type == schemas.ChunkReset:
				shown = ""
			case apptest.IsContent(chunk) && chunk.BlockIDs == block:
				shown += *chunk.Content
			}
		}
		if shown != text && (mode == "chat" || shown != "") { // the end of a call shows the page that there is something to read
			s.Errorf("a socket shows %q, want %q", shown, text)
		}
	})
}

// await waits for the end of a conversation.
func (s *scene) await(done <-chan error) {
	s.Helper()
	if err := <-done; err != nil {
		s.Fatal(err)
	}
}

// ended checks how a conversation has ended.
func (s *scene) ended(c *apptest.Conversation, want string) {
	s.Helper()
	if last := c.Frames[len(c.Frames)-1]; last.Event.Type != want {
		s.Errorf("the run ends with %s, want %s", last.Data, want)
	}
}

// called checks how often the first tool of a conversation was called.
func (s *scene) called(c *apptest.Conversation, want int) {
	s.Helper()
	if n := len(s.system.ToolCalls(c.Keys()[0])); n != want {
		s.Errorf("the tool was called %d times, want %d", n, want)
	}
}

// do makes a request until it is not answered with 503, or its answer breaks off, and
// returns the answer. Further statuses are those of a request that was done before.
func (s *scene) do(method, path string, body any, want int, done ...int) []byte {
	s.Helper()
	for deadline := time.Now().Add(apptest.Limit); ; {
		status, raw, err := s.once(method, path, body)
		if (err != nil || status == http.StatusServiceUnavailable) && time.Now().Before(deadline) {
			s.tried = append(s.tried, fmt.Sprintf("%s %s: status %d, %v", method, path, status, err))
			continue
		}
		wanted := status == want
		for _, other := range done {
			wanted = wanted || status == other && len(s.tried) > 0
		}
		if !wanted {
			s.Errorf("%s %s: status %d, %v, want %d: %s", method, path, status, err, want, raw)
		}
		return raw
	}
}

func (s *scene) once(method, path string, body any) (int, []byte, error) {
	resp, err := s.system.Request(s.Context(), method, path, body)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		s.Errorf("%s %s: 503 without Retry-After: %s", method, path, raw)
	}
	return resp.StatusCode, raw, err
}

func decode[T any](s *scene, raw []byte) (v T) {
	s.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		s.Fatalf("decoding %s: %v", raw, err)
	}
	return v
}

// wait is what the run waits for.
func (s *scene) wait(c *apptest.Conversation) schemas.Wait {
	s.Helper()
	list := decode[schemas.WaitList](s, s.do("GET", "/api/chat/runs/"+c.RunID+"/waits", nil, 200))
	if len(list.Items) != 1 {
		s.Errorf("the run waits for %s, want one answer", apptest.JSON(list))
		return schemas.Wait{}
	}
	return list.Items[0]
}

func (s *scene) block(id string) schemas.Block {
	s.Helper()
	return decode[schemas.Block](s, s.do("GET", "/api/blocks/"+id, nil, 200))
}

// answer is the answer that the chat shows, which has to be the one in complete.
func (s *scene) answer(c *apptest.Conversation) schemas.Message {
	s.Helper()
	shown := c.Frames[len(c.Frames)-1].Event.Payload
	chat := decode[schemas.Chat](s, s.do("GET", fmt.Sprintf("/api/chats/%d", chatOf(c)), nil, 200))
	for _, m := range chat.Messages {
		if m.RunID == c.RunID && m.Role == "assistant" && shown != nil && m.Content == shown.Message {
			return m
		}
	}
	s.Fatalf("the chat has %s, want the answer %s", apptest.JSON(chat.Messages), apptest.JSON(shown))
	return schemas.Message{}
}

func chatOf(c *apptest.Conversation) int64 { return c.Frames[0].Event.ConversationID }
