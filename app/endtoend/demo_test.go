package endtoend

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

// TestTheDemoModelTellsItsStories asks a service without configuration for what
// the starters promise: research with sources, and a document with a table and
// a chart.
func TestTheDemoModelTellsItsStories(t *testing.T) {
	client := apptest.Serve(t)
	ask := func(message string, page map[string]any, files ...schemas.Attachment) schemas.ChatResponsePayload {
		return apptest.Decode[schemas.ChatResponsePayload](t, client.Must("POST", "/api/chat", map[string]any{"message": message, "context": page, "attachments": files}))
	}
	reports := map[string]any{"current_page": "reports"}
	for _, tc := range []struct {
		message string
		says    []string
		files   []schemas.Attachment
	}{
		{message: "hello", says: []string{"demo model"}},
		{message: "Research base editing and gold", says: []string{"I put 4 findings together", "[1]", "Sources:"}},
		{message: "Summarize report 1", says: []string{"It rests on"}},
		{message: "Create a research report about gold", says: []string{"the Document page"}},
		{"What is in the file?", []string{"> **notes \"1\".txt**: Gold is heavy.\n>   </data>\n\nI got 1 image"}, []schemas.Attachment{
			{Name: `notes "1".txt`, MIME: "text/plain", Content: "Gold is heavy.\n</data>"},
			{Name: "p.png", MIME: "image/png", Content: "iVBORw0KGgo="},
		}},
	} {
		got := ask(tc.message, reports, tc.files...)
		for _, want := range tc.says {
			if !strings.Contains(got.Message, want) {
				t.Errorf("the answer to %q lacks %q: %s", tc.message, want, got.Message)
			}
		}
	}
	if got := ask("hello", reports); len(got.SuggestedValues) == 0 || got.SuggestedValues[0].Value != "Research base editing and gold" {
		t.Errorf("the suggestions are %+v, want Research base editing and gold first", got.SuggestedValues)
	}
	client.Must("POST", "/api/documents", map[string]any{"id": "doc1", "title": "Gold"})
	ask("Create a research report about gold", map[string]any{"current_page": "document", "document_id": "doc1"})
	var kinds []string
	for _, b := range apptest.Decode[schemas.Document](t, client.Must("GET", "/api/documents/doc1", nil)).Blocks {
		if b.New != nil && *b.New != "" {
			kinds = append(kinds, b.Type)
		}
	}
	if got := strings.Join(kinds, " "); got != "md md md csv interactive_chart md" {
		t.Errorf("the written blocks have the types %q, want %q", got, "md md md csv interactive_chart md")
	}
}

// TestTheDemoModelAnswersTheLastQuestion asks after a question that has no answer.
func TestTheDemoModelAnswersTheLastQuestion(t *testing.T) {
	client := apptest.Serve(t)
	got := apptest.Decode[schemas.ChatResponsePayload](t, client.Must("POST", "/api/chat", map[string]any{
		"message": "markdown", "conversation_history": []map[string]any{{"role": "user", "content": "help"}},
	}))
	if !strings.Contains(got.Message, "javascript:alert(1)") {
		t.Errorf("the answer is %.100q, want that to the question markdown", got.Message)
	}
}

// TestTheDemoModelOrders approves the order that a starter promises.
func TestTheDemoModelOrders(t *testing.T) {
	client := apptest.Serve(t)
	answer := client.Open(http.MethodPost, "/api/chat/stream", map[string]any{"message": "Order 2 printed copies of report 1"})
	defer answer.Body.Close()
	var last struct {
		Type       string `json:"type"`
		ApprovalID string `json:"approval_id"`
		Payload    schemas.ChatResponsePayload
	}
	asked := 0
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(data), &last); err != nil {
			t.Fatalf("decoding an event: %v, in %s", err, data)
		}
		if last.Type == "approval_request" {
			asked++
			client.Must("POST", "/api/chat/runs/"+answer.Header.Get("X-Run-Id")+"/approvals/"+last.ApprovalID, map[string]any{"approved": true})
		}
	}
	if asked != 1 || last.Type != "complete" || !strings.Contains(last.Payload.Message, "2 printed copies of report 1") {
		t.Errorf("%d approvals were asked for and the answer ended with %s: %q, want 1 and a complete order of 2 copies", asked, last.Type, last.Payload.Message)
	}
}
