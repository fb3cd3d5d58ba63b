package prepare_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/actions"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/pages/pagestest"
	"github.com/chattray/chattray/services/prepare"
	"github.com/chattray/chattray/services/prompt"
)

var ann = schemas.User{ID: "ann"}

// chat is Ann's chat 7, with blocks of her documents.
type chat struct {
	documents.Blocks
	messages []schemas.Message
	files    map[string][]schemas.Attachment
	blocks   map[string]schemas.Block
	document schemas.Document
	reads    []string
	summary  record.Summary
}

func (c *chat) Payloads(_ context.Context, owner string, id int64, except string) ([]schemas.CustomPayload, error) {
	c.reads = append(c.reads, "payloads without "+except)
	if owner != ann.ID || id != 7 {
		return nil, schemas.ErrNotFound
	}
	return []schemas.CustomPayload{{PayloadID: "p1", Type: "schema_proposal", Summary: "first one"}, {PayloadID: "p2", Type: "schema_proposal"}}, nil
}

func (c *chat) Messages(context.Context, string, int64, record.MessageQuery) ([]schemas.Message, string, error) {
	c.reads = append(c.reads, "messages")
	return slices.Clone(c.messages), "", nil
}

func (c *chat) Message(_ context.Context, _ string, _ int64, id string) (schemas.Message, error) {
	c.reads = append(c.reads, "message "+id)
	return schemas.Message{}, schemas.ErrNotFound
}

func (c *chat) Files(_ context.Context, _ string, _ int64, id string) ([]schemas.Attachment, error) {
	return c.files[id], nil
}

func (c *chat) Waiting(context.Context, int64) ([]string, error) { return nil, nil }

func (c *chat) Summary(context.Context, string, int64) (record.Summary, error) { return c.summary, nil }

func (c *chat) SetSummary(_ context.Context, _ string, _ int64, s record.Summary) error {
	c.summary = s
	return nil
}

func (c *chat) Block(_ context.Context, _, id string) (schemas.Block, error) {
	if b, ok := c.blocks[id]; ok {
		return b, nil
	}
	return schemas.Block{}, schemas.ErrNotFound
}

func (c *chat) Document(context.Context, string, string) (schemas.Document, error) {
	if c.document.ID == "" {
		return c.document, schemas.ErrNotFound
	}
	return c.document, nil
}

// asked is a run of Ann's that answers a request in the chat 7.
func asked(t *testing.T, body string) answer.Run {
	t.Helper()
	req := new(schemas.ChatRequest)
	if err := json.Unmarshal([]byte(body), req); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	m := schemas.Message{ID: "q", Role: "user", Content: req.Message}
	return answer.Run{ID: "run", Owner: ann, ChatID: 7, Request: req, UserMessageID: "q", UserMessage: &m}
}

// options are the options of a service with two models, of which one takes few tokens.
func options(t *testing.T, c *chat) prepare.Options {
	t.Helper()
	none, err := actions.New(actions.Action{
		Name: "apply_schema", Schema: json.RawMessage(`{"type":"object"}`), Handle: func(context.Context, actions.Call) (actions.Outcome, error) { return actions.Outcome{}, nil },
		Offered: func(_ context.Context, user schemas.User, _ schemas.Object) bool { return user.Admin() },
	})
	if err != nil {
		t.Fatal(err)
	}
	return prepare.Options{
		Pages: pagestest.Load(t, nil), Actions: none, Documents: c, Drafts: documents.New(nil, nil, c, nil, nil), Model: "large", Models: []string{"small"}, Windows: map[string]int{"small": 3000},
		Temperature: 0.5, MaxTokens: 400, MaxIterations: 6, ToolOutput: 900,
		NewFilter: func([]turn.PayloadType, []schemas.Action, func(string, json.RawMessage) error) answer.TextFilter {
			return nil
		},
	}
}

// prepared returns what is prepared for a run.
func prepared(t *testing.T, c *chat, run answer.Run, ask prepare.Ask) *answer.Prepared {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	got, err := prepare.New(options(t, c), c, c, ask, log).Prepare(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOffersModel(t *testing.T) {
	o := options(t, new(chat))
	for model, want := range map[string]bool{"large": true, "small": true, "": false, "other": false} {
		if o.OffersModel(model) != want {
			t.Errorf("%q is offered: %t, want %t", model, !want, want)
		}
	}
}

// The first question of a chat is prepared without a read.
func TestPrepareTheFirstQuestion(t *testing.T) {
	c := new(chat)
	run := asked(t, `{"message":"What is gold?","context":{"current_page":"edit_stream","active_tab":"semantic","stream_id":1}}`)
	run.NewChat = true
	b := prepared(t, c, run, nil)
	r := b.Request
	if r.Model != "large" || r.Temperature != 0.5 || r.MaxTokens != 400 || r.MaxIterations != 6 || r.ToolOutput != 900 {
		t.Errorf("got the model %q, temperature %v and the limits %d, %d, %d; want those of the options", r.Model, r.Temperature, r.MaxTokens, r.MaxIterations, r.ToolOutput)
	}
	if diff := cmp.Diff([]turn.Message{{Role: turn.User, Content: "What is gold?"}}, r.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if r.Facts.Question != "What is gold?" || r.Facts.Context.String("current_page") != "edit_stream" || len(r.Facts.Payloads) == 0 || len(r.Facts.Actions) != 1 {
		t.Errorf("the facts are %+v, want the question, its context, and what the page offers", r.Facts)
	}
	if !slices.ContainsFunc(r.Tools, func(t turn.Tool) bool { return t.Name == "get_stream" }) || !strings.Contains(r.System, "edits what a research stream") {
		t.Errorf("the tools are %d, the prompt is %q; want those of the page", len(r.Tools), r.System)
	}
	if len(b.Actions) != 1 || b.Actions[0].Action != "close_chat" { // apply_schema is for admins
		t.Errorf("the actions are %+v, want close_chat", b.Actions)
	}
	if len(b.Types) == 0 || len(b.PayloadIDs) > 0 || len(c.reads) > 0 || b.Outside {
		t.Errorf("got the types %d, payloads %q, reads %q, outside %t", len(b.Types), b.PayloadIDs, c.reads, b.Outside)
	}
}

// A later question has the chat, without what its own earlier attempts have made.
func TestPrepareALaterQuestion(t *testing.T) {
	c := &chat{messages: []schemas.Message{{ID: "q0", Role: "user", Content: "Hello"}, {ID: "a0", Role: "assistant", Content: "Hi"}, {ID: "q", Role: "user", Content: "What is gold?"}}}
	b := prepared(t, c, asked(t, `{"message":"What is gold?","model":"small"}`), nil)
	if b.Request.Model != "small" || !slices.Equal(b.PayloadIDs, []string{"p1", "p2"}) || !strings.Contains(b.Request.System, "first one") {
		t.Errorf("got the model %q, the payloads %q and the prompt %q", b.Request.Model, b.PayloadIDs, b.Request.System)
	}
	want := []turn.Message{{Role: turn.User, Content: "Hello"}, {Role: turn.Assistant, Content: "Hi"}, {Role: turn.User, Content: "What is gold?"}}
	if diff := cmp.Diff(want, b.Request.Messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if !slices.Equal(c.reads, []string{"payloads without run", "messages"}) {
		t.Errorf("reads %q", c.reads)
	}
	// A new chat to which messages were sent along has them.
	c.reads = nil
	run := asked(t, `{"message":"What is gold?","conversation_history":[{"role":"user","content":"Hello"}]}`)
	run.NewChat = true
	if b := prepared(t, c, run, nil); len(b.Request.Messages) != 3 || !slices.Equal(c.reads, []string{"messages"}) {
		t.Errorf("with messages that were sent along: %d messages, reads %q", len(b.Request.Messages), c.reads)
	}
}

// A click has no conversation: no model is called.
func TestPrepareAClick(t *testing.T) {
	c := new(chat)
	b := prepared(t, c, asked(t, `{"interaction_type":"action_executed","action_metadata":{"action_identifier":"apply_schema"}}`), nil)
	if len(b.Request.Messages) > 0 || slices.Contains(c.reads, "messages") || len(b.PayloadIDs) != 2 {
		t.Errorf("got %d messages, reads %q, payloads %q", len(b.Request.Messages), c.reads, b.PayloadIDs)
	}
}

// A model with a small window gets a summary of older turns, which it writes itself.
func TestPrepareForASmallModel(t *testing.T) {
	c := new(chat)
	for i := range 40 {
		c.messages = append(c.messages, schemas.Message{ID: fmt.Sprint("q", i), Role: "user", Content: strings.Repeat("word ", 200)}, schemas.Message{ID: fmt.Sprint("a", i), Role: "assistant", Content: "Yes."})
	}
	for model, summaries := range map[string]int{"large": 0, "small": 1} {
		var calls []turn.Request
		b := prepared(t, c, asked(t, `{"message":"What is gold?","model":"`+model+`"}`), func(_ context.Context, req turn.Request) (string, error) {
			calls = append(calls, req)
			return "They said many words.", nil
		})
		whole := len(b.Request.Messages) == 81
		if len(calls) != summaries || whole == (summaries > 0) {
			t.Errorf("%s: %d calls for summaries and %d messages", model, len(calls), len(b.Request.Messages))
			continue
		}
		if summaries > 0 && (calls[0].Model != "small" || calls[0].MaxTokens != 400 || !strings.Contains(fmt.Sprint(b.Request.Messages), "They said many words.")) {
			t.Errorf("the summary was asked of %q with %d tokens; the messages are %v", calls[0].Model, calls[0].MaxTokens, b.Request.Messages)
		}
	}
}

// What the model does not get is told to the user with the answer.
func TestPrepareWarns(t *testing.T) {
	c := &chat{
		messages: []schemas.Message{
			{ID: "q0", Role: "user", Content: "look", Attachments: []schemas.AttachmentInfo{{Name: "p.png", MIME: "image/png"}}},
			{ID: "a0", Role: "assistant", Status: schemas.MessageError, Error: &schemas.MessageFailure{Code: schemas.CodeUpstreamError}},
		},
		files: map[string][]schemas.Attachment{"q0": {{Name: "p.png", MIME: "image/png", Content: "iVBORw0KGgo="}}},
	}
	if b := prepared(t, c, asked(t, `{"message":"And now?"}`), nil); len(b.Warnings) != 1 || !strings.Contains(b.Warnings[0], "Attach them again") {
		t.Errorf("the warnings are %q, want one about the image", b.Warnings)
	}
}

// A document with blocks is text from outside; one without is not.
func TestPrepareKnowsTextFromOutside(t *testing.T) {
	text := "Gold is heavy."
	for _, blocks := range [][]schemas.Block{nil, {{ID: "b", Type: schemas.BlockMarkdown, Current: &text}}} {
		c := &chat{document: schemas.Document{ID: "doc", Title: "Gold", Blocks: blocks}}
		b := prepared(t, c, asked(t, `{"message":"m","context":{"current_page":"document","document_id":"doc"}}`), nil)
		if b.Outside != (len(blocks) > 0) {
			t.Errorf("with %d blocks: text from outside %t; the prompt is %q", len(blocks), b.Outside, b.Request.System)
		}
	}
}

// The model is told what the blocks are that a request names.
func TestPrepareNotesTheTarget(t *testing.T) {
	c := &chat{blocks: map[string]schemas.Block{
		"t1": {ID: "t1", DocumentID: "doc", Type: schemas.BlockCSV}, "m1": {ID: "m1", DocumentID: "doc", Type: schemas.BlockMarkdown}, "c1": {ID: "c1", ChatID: "seven"},
	}}
	for body, want := range map[string]string{
		`{"message":"m","context":{"document_id":"doc","block_ids":"t1","mode":"chat"}}`:           "The block is a table",
		`{"message":"m","context":{"document_id":"doc","block_ids":"t1,m1,c1,n1","mode":"agent"}}`: "about these blocks of the document: t1 (csv), m1 (md).",
		`{"message":"m","context":{"block_ids":"c1"}}`:                                             "",
	} {
		system := prepared(t, c, asked(t, body), nil).Request.System
		if !strings.Contains(system, want) || want == "" && strings.Contains(system, "about these blocks") {
			t.Errorf("%s: the prompt is %q, want %q in it", body, system, want)
		}
	}
}

// An outline has what does not need the store.
func TestOutline(t *testing.T) {
	c := new(chat)
	got, err := prepare.New(options(t, c), c, c, nil, nil).Outline(t.Context(), asked(t, `{"message":"m","context":{"current_page":"edit_stream","active_tab":"semantic"}}`))
	if err != nil || len(got.Types) == 0 || len(got.Actions) != 1 || len(c.reads) > 0 {
		t.Errorf("got %+v, %v, reads %q", got, err, c.reads)
	}
}

var _ prompt.HistoryStore = (*chat)(nil)
