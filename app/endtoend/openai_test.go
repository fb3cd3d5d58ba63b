package endtoend

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/apptest"
)

// TestOpenAIPython runs the example of a client in Python: two questions in one chat, and a
// tool of the program.
func TestOpenAIPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	s.Start()
	s.Script("What did I select?", []apptest.Turn{{Text: "I look.", Calls: []apptest.ToolCall{{Tool: "get_selection", Key: "k"}}}, {Text: "The third row."}}, nil)
	s.Script("Thank you", []apptest.Turn{{Text: "You are welcome."}}, nil)
	out, err := exec.CommandContext(t.Context(), python, "../../examples/openai-python/chat.py", "--url", s.URL(t), "What did I select?", "Thank you").CombinedOutput()
	if want := "I look.\nThe third row.\nYou are welcome.\n"; err != nil || string(out) != want {
		t.Errorf("the example ends with %v and says %q, want %q", err, out, want)
	}
	if told := s.ModelCalls("What did I select?"); len(told) != 2 || len(told[1].Told) != 1 || !strings.Contains(told[1].Told[0], "third row") {
		t.Errorf("the model was asked %+v, want it to be told the tool's outcome", told)
	}
	if chats := chatsOf(t, s); len(chats) != 1 || chats[0].Title != "What did I select?" {
		t.Errorf("the chats are %+v, want one with both questions", chats)
	}
	s.CheckScripted()
}

// TestOpenAIPythonWithoutService runs it before the service.
func TestOpenAIPythonWithoutService(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	ended := httptest.NewServer(http.NotFoundHandler())
	ended.Close()
	out, err := exec.CommandContext(t.Context(), python, "../../examples/openai-python/chat.py", "--url", ended.URL, "Hello").CombinedOutput()
	if err == nil || !strings.HasPrefix(string(out), "\nfailed: ") {
		t.Errorf("the example ends with %v and says %s, want one line that it failed", err, out)
	}
}

type listed struct {
	ConversationID int `json:"conversation_id"`
	Title          string
}

func chatsOf(t *testing.T, s *apptest.System) []listed {
	t.Helper()
	var list struct{ Items []listed }
	if _, err := s.Call(t.Context(), http.MethodGet, "/api/chats", &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// message is a message as Open WebUI and LibreChat send it.
type message map[string]any

func from(role string, content any) message { return message{"role": role, "content": content} }

// completions sends a request and returns the text of its answer.
func completions(t *testing.T, s *apptest.System, body map[string]any, header ...string) string {
	t.Helper()
	res := s.Send(t, http.MethodPost, "/v1/chat/completions", body, header...)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the answer is %d (%v): %s", res.StatusCode, err, raw)
	}
	var text strings.Builder
	for line := range strings.Lines(string(raw)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || strings.HasPrefix(data, "[DONE]") {
			continue
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			text.WriteString(c.Delta.Content)
		}
	}
	if body["stream"] == true {
		return text.String()
	}
	var whole struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(raw, &whole); err != nil || len(whole.Choices) != 1 {
		t.Fatalf("the answer is %s (%v), want one choice", raw, err)
	}
	return whole.Choices[0].Message.Content
}

// chatStep is a request of a chat page and the chat afterwards.
type chatStep struct {
	name     string
	messages []message
	header   []string
	whole    bool
	want     string // the answer
	chat     string // the chat's messages
}

// playChat sends requests as a chat page does, each with all messages of its page.
func playChat(t *testing.T, s *apptest.System, extra map[string]any, steps []chatStep) {
	t.Helper()
	for _, step := range steps {
		body := map[string]any{"model": "chattray/lab", "messages": step.messages, "stream": !step.whole}
		maps.Copy(body, extra)
		if got := completions(t, s, body, step.header...); got != step.want {
			t.Errorf("%s: the answer is %q, want %q", step.name, got, step.want)
		}
		chats := chatsOf(t, s)
		if len(chats) != 1 {
			t.Fatalf("%s: the chats are %+v, want one", step.name, chats)
		}
		var chat struct {
			Messages []struct{ Role, Content string }
		}
		if _, err := s.Call(t.Context(), http.MethodGet, "/api/chats/1", &chat); err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, m := range chat.Messages {
			all = append(all, m.Content)
		}
		if got := strings.Join(all, " | "); got != step.chat {
			t.Errorf("%s: the chat has %q, want %q", step.name, got, step.chat)
		}
	}
}

// TestOpenWebUI sends what Open WebUI sends with the settings of examples/open-webui.md.
func TestOpenWebUI(t *testing.T) {
	s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	s.Start()
	for _, question := range []string{"Hello", "More", "Less", "chat history.", "the emoji.", "one answer.", "the tool."} {
		s.Script(question, []apptest.Turn{{Text: "To " + question}}, nil)
		s.Script(question, []apptest.Turn{{Text: "To " + question}}, nil)
	}
	var models struct{ Data []struct{ ID string } }
	if _, err := s.Call(t.Context(), http.MethodGet, "/v1/models", &models); err != nil || len(models.Data) < 2 {
		t.Errorf("the models are %+v (%v), want those of the pages", models, err)
	}
	id := []string{"X-OpenWebUI-Chat-Id", "0b0f3f6a-7d3c-4c58-9b57-7d2b1d3f6a10", "X-OpenWebUI-Task", ""}
	task := "### Task:\nGenerate a concise title summarizing the chat history."
	hello, more, less := from("user", "Hello"), from("user", "More"), from("user", "Less")
	emoji := "Your task is to reflect the speaker's likely facial expression through a fitting emoji.\n\nMessage: the emoji."
	merge := "You have been provided with a set of responses from various models to the latest user query: \"Hello\"\n\nYour task is to make them one answer."
	choice := "Query: History:\nUSER: \"\"\"Hello\"\"\"\nQuery: the tool."
	system := from("system", "Be brief.")
	playChat(t, s, map[string]any{"stream_options": map[string]bool{"include_usage": true}, "temperature": 0.7}, []chatStep{
		{name: "first", messages: []message{system, hello}, header: id, want: "To Hello", chat: "Hello | To Hello"},
		{name: "title", messages: []message{from("user", task)}, header: id, whole: true, want: "To chat history.", chat: "Hello | To Hello"},
		{name: "emoji", messages: []message{from("user", emoji)}, header: id, whole: true, want: "To the emoji.", chat: "Hello | To Hello"},
		{name: "merge", messages: []message{from("user", merge)}, header: id, want: "To one answer.", chat: "Hello | To Hello"},
		{name: "tool", messages: []message{from("system", "Available Tools: []"), from("user", choice)}, header: id, whole: true, want: "To the tool.", chat: "Hello | To Hello"},
		{
			name: "title by the header", messages: []message{from("user", "A title for the chat history.")}, whole: true,
			header: []string{"X-OpenWebUI-Chat-Id", id[1], "X-OpenWebUI-Task", "title_generation"}, want: "To chat history.", chat: "Hello | To Hello",
		},
		{name: "second", messages: []message{system, hello, from("assistant", "To Hello"), more}, header: id, want: "To More", chat: "Hello | To Hello | More | To More"},
		{name: "regenerate", messages: []message{system, hello, from("assistant", "To Hello"), more}, header: id, want: "To More", chat: "Hello | To Hello | More | To More"},
		{name: "edit", messages: []message{system, hello, from("assistant", "To Hello"), less}, header: id, want: "To Less", chat: "Hello | To Hello | Less | To Less"},
	})
	s.CheckScripted()
}

// TestLibreChat sends what LibreChat sends with the settings of examples/librechat.md.
func TestLibreChat(t *testing.T) {
	s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	s.Start()
	for _, question := range []string{"Hello", "More"} {
		s.Script(question, []apptest.Turn{{Text: "To " + question}}, nil)
	}
	id := []string{"X-Chattray-Chat-Id", "0b0f3f6a-7d3c-4c58-9b57-7d2b1d3f6a10"}
	parts := func(text string) []map[string]string { return []map[string]string{{"type": "text", "text": text}} }
	hello := from("user", parts("Hello"))
	extra := map[string]any{"user": "66b2", "stream_options": map[string]bool{"include_usage": true}}
	playChat(t, s, extra, []chatStep{
		{name: "first", messages: []message{hello}, header: id, want: "To Hello", chat: "Hello | To Hello"},
		{name: "second", messages: []message{hello, from("assistant", parts("To Hello")), from("user", parts("More"))}, header: id, want: "To More", chat: "Hello | To Hello | More | To More"},
		{name: "without an id yet", messages: []message{hello}, header: []string{id[0], "new"}, want: "To Hello", chat: "Hello | To Hello | More | To More"},
	})
	s.CheckScripted()
}

// TestSystemMessagesAtTheEnd sends what programs such as SillyTavern send: system messages
// after the user's message. The model gets them in order, with those before.
func TestSystemMessagesAtTheEnd(t *testing.T) {
	s := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	s.Start()
	rules := func(r upstream.Request) bool { return strings.Contains(string(r.Body), `One.\\nTwo.\\nThree.`) }
	s.Model.On(rules, upstream.Text("To Hello"))
	s.Script("More", []apptest.Turn{{Text: "To More"}}, nil)
	id := []string{"X-Chattray-Chat-Id", "k"}
	hello, two := from("user", "Hello"), from("developer", "Two.")
	playChat(t, s, nil, []chatStep{
		{name: "first", messages: []message{from("system", "One."), hello, two, from("system", "Three.")}, header: id, want: "To Hello", chat: "Hello | To Hello"},
		{name: "second", messages: []message{hello, from("assistant", "To Hello"), from("user", "More"), two}, header: id, want: "To More", chat: "Hello | To Hello | More | To More"},
	})
	s.CheckScripted()
}
