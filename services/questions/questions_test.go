package questions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/actions"
	"github.com/chattray/chattray/services/clicks"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/pages/pagestest"
	"github.com/chattray/chattray/services/questions"
)

var (
	ann = schemas.User{ID: "ann"}
	now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// chats are Ann's chat 7 with the key "seven", its messages and the files of each, and the
// runs of its answers.
type chats struct {
	messages []schemas.Message
	files    map[string][]schemas.Attachment
	runs     map[string]string // the question of a run
	underway map[string]string // the question of an answer under way
	page     int               // messages that are read at once
	begun    record.Run        // by a message with an id
}

func (c *chats) Chat(_ context.Context, owner string, id int64) (schemas.Chat, error) {
	if owner != ann.ID || id != 7 {
		return schemas.Chat{}, schemas.ErrNotFound
	}
	return schemas.Chat{ConversationID: 7, ChatID: "seven"}, nil
}

func (c *chats) ChatByKey(ctx context.Context, owner, key string) (schemas.Chat, error) {
	if key != "seven" {
		return schemas.Chat{}, schemas.ErrNotFound
	}
	return c.Chat(ctx, owner, 7)
}

// Messages returns the newest messages first, page by page; a cursor is the number of those
// before it.
func (c *chats) Messages(ctx context.Context, owner string, id int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	if _, err := c.Chat(ctx, owner, id); err != nil {
		return nil, "", err
	}
	end := len(c.messages)
	if q.Cursor != "" {
		_, _ = fmt.Sscan(q.Cursor, &end)
	}
	start := max(0, end-min(q.Limit, c.page))
	if start == 0 {
		return slices.Clone(c.messages[:end]), "", nil
	}
	return slices.Clone(c.messages[start:end]), fmt.Sprint(start), nil
}

func (c *chats) Message(ctx context.Context, owner string, id int64, messageID string) (schemas.Message, error) {
	if _, err := c.Chat(ctx, owner, id); err != nil {
		return schemas.Message{}, err
	}
	for _, m := range c.messages {
		if m.ID == messageID {
			return m, nil
		}
	}
	return schemas.Message{}, schemas.ErrNotFound
}

func (c *chats) Files(_ context.Context, _ string, _ int64, messageID string) ([]schemas.Attachment, error) {
	return c.files[messageID], nil
}

func (c *chats) Run(_ context.Context, id string) (record.Run, error) {
	if c.runs[id] == "" {
		return record.Run{}, schemas.ErrNotFound
	}
	return record.Run{ID: id, UserMessageID: c.runs[id]}, nil
}

func (c *chats) RunOfAnswer(_ context.Context, _ string, _ int64, answer string) (record.Run, error) {
	if c.underway[answer] == "" {
		return record.Run{}, schemas.ErrNotFound
	}
	return record.Run{UserMessageID: c.underway[answer]}, nil
}

func (c *chats) Payloads(ctx context.Context, owner string, id int64, _ string) ([]schemas.CustomPayload, error) {
	_, err := c.Chat(ctx, owner, id)
	return []schemas.CustomPayload{{PayloadID: "p1", Type: "schema_proposal"}}, err
}

func (c *chats) RunByKey(context.Context, string, string) (record.Run, error) {
	return record.Run{}, schemas.ErrNotFound
}

func (c *chats) RunByMessage(_ context.Context, _, id string) (record.Run, error) {
	if id != c.begun.UserMessageID || id == "" {
		return record.Run{}, schemas.ErrNotFound
	}
	return c.begun, nil
}

func (c *chats) AcceptPayload(context.Context, string, int64, string, string, string) error {
	return nil
}

func (c *chats) ReopenPayload(context.Context, string, int64, string, string) error { return nil }

// writing are tools of which some write documents.
type writing struct{ pages.Tools }

func (w writing) Resolve(names []string, user schemas.User) ([]turn.Tool, error) {
	list, err := w.Tools.Resolve(names, user)
	for i := range list {
		list[i].Document = list[i].Name == "write_block"
	}
	return list, err
}

// sevens is a chat with two turns that were sent along, one that was asked here, and one
// that is superseded.
func sevens() *chats {
	return &chats{
		messages: []schemas.Message{ // q4 was asked before a3 had ended
			{ID: "q1", Role: "user", Content: "one"},
			{ID: "a1", Role: "assistant"},
			{ID: "q2", Role: "user", Attachments: []schemas.AttachmentInfo{{Name: "a.md"}, {Name: "b.md"}}},
			{ID: "a2", Role: "assistant"},
			{ID: "q3", Role: "user"},
			{ID: "q4", Role: "user"},
			{ID: "a3", Role: "assistant", RunID: "r3"},
			{ID: "qs", Role: "user", Status: schemas.MessageSuperseded},
			{ID: "as", Role: "assistant", Status: schemas.MessageSuperseded},
		},
		files:    map[string][]schemas.Attachment{"q2": {{Name: "a.md", MIME: "text/markdown", Content: "A"}, {Name: "b.md", MIME: "text/markdown", Content: "B"}}},
		runs:     map[string]string{"r3": "q3"},
		underway: map[string]string{"a4": "q4"},
		page:     1000,
	}
}

func newQuestions(t *testing.T, c *chats, log *slog.Logger) *questions.Questions {
	t.Helper()
	parts := pagestest.Parts()
	parts.Tools = writing{parts.Tools}
	parts.MakeClientTool = func(def schemas.ClientTool) (turn.Tool, error) { return turn.Tool{Name: def.Name, Client: true}, nil }
	files, err := pages.Load(pages.Sources{}, parts)
	if err != nil {
		t.Fatal(err)
	}
	done, err := actions.New(actions.Action{
		Name: "apply_schema", Schema: json.RawMessage(`{"type":"object"}`), Handle: func(context.Context, actions.Call) (actions.Outcome, error) { return actions.Outcome{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return questions.New(questions.Options{
		Store: c, Runs: c, Pages: files, Now: func() time.Time { return now }, Logger: log,
		Clicks:      clicks.New(clicks.Options{Store: c, Pages: files, Actions: done, Logger: log}),
		OffersModel: func(name string) bool { return name == "small" },
	})
}

// first returns the question of a request as JSON.
func first(t *testing.T, c *chats, body string) (*questions.Question, *schemas.ChatRequest, error) {
	t.Helper()
	req := new(schemas.ChatRequest)
	if err := json.Unmarshal([]byte(body), req); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	q, err := newQuestions(t, c, slog.New(slog.DiscardHandler)).FirstWrite(t.Context(), ann, req, record.StartOptions{Body: []byte(body), IdempotencyKey: "key", BodyHash: "hash"})
	return q, req, err
}

// must returns the question of a request that is accepted.
func must(t *testing.T, c *chats, body string) *questions.Question {
	t.Helper()
	q, _, err := first(t, c, body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return q
}

func TestFirstWrite(t *testing.T) {
	q := must(t, sevens(), `{"message":"What is gold?","context":{"current_page":"reports"},"conversation_id":7,"model":"small"}`)
	run, m := q.Run, q.UserMessage.Message
	want := record.Run{
		ID: run.ID, ConversationID: 7, Owner: ann, CreatedAt: now, MessageID: run.MessageID, UserMessageID: m.ID, IdempotencyKey: "key", BodyHash: "hash", Page: "reports",
		Request: []byte(`{"message":"What is gold?","context":{"current_page":"reports"},"conversation_id":7,"model":"small"}`),
	}
	if diff := cmp.Diff(want, run); diff != "" {
		t.Errorf("the run differs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(schemas.Message{ID: m.ID, Role: "user", Type: "md", Content: "What is gold?", Status: schemas.MessageComplete, CreatedAt: now, RunID: run.ID}, m); diff != "" {
		t.Errorf("the message differs (-want +got):\n%s", diff)
	}
	if ids := []string{run.ID, run.MessageID, m.ID}; slices.Contains(ids, "") || ids[0] == ids[1] || ids[1] == ids[2] || ids[0] == ids[2] {
		t.Errorf("the ids are %q, want three of them", ids)
	}
	if q.ConversationID != 7 || q.ChatKey != "" || q.Supersede != "" || q.Reserve || q.Named || q.Queue || q.Cancels || q.Unlisted || q.History != nil {
		t.Errorf("got %+v, want nothing but the chat", q.Begin)
	}
}

// What a request says about its run and its chat arrives there.
func TestFirstWriteOf(t *testing.T) {
	for name, tt := range map[string]struct {
		body  string
		wrong func(q *questions.Question) bool
	}{
		"queue":    {`{"message":"m","if_busy":"queue"}`, func(q *questions.Question) bool { return !q.Queue || q.Cancels }},
		"cancel":   {`{"message":"m","if_busy":"cancel"}`, func(q *questions.Question) bool { return q.Queue || !q.Cancels }},
		"reject":   {`{"message":"m","if_busy":"reject"}`, func(q *questions.Question) bool { return q.Queue || q.Cancels }},
		"unlisted": {`{"message":"m","unlisted":true}`, func(q *questions.Question) bool { return !q.Unlisted }},
		"key": {`{"message":"m","chat_id":"mine"}`, func(q *questions.Question) bool {
			return q.ChatKey != "mine" || q.Run.ChatKey != "mine" || q.ConversationID != 0
		}},
		"both": {`{"message":"m","chat_id":"seven","conversation_id":7}`, func(q *questions.Question) bool { return q.ChatKey != "seven" || q.ConversationID != 7 }},
		"own id": {`{"message":"m","message_id":"mine"}`, func(q *questions.Question) bool {
			return !q.Named || q.Run.UserMessageID != "mine" || q.UserMessage.ID != "mine"
		}},
		"value":         {`{"message":"m","interaction_type":"value_selected"}`, func(q *questions.Question) bool { return q.UserMessage.InteractionType != "value_selected" }},
		"text":          {`{"message":"m","interaction_type":"text_input"}`, func(q *questions.Question) bool { return q.UserMessage.InteractionType != "" }},
		"unknown page":  {`{"message":"m","context":{"current_page":"nowhere"}}`, func(q *questions.Question) bool { return q.Run.Page != "" }},
		"title":         {`{"message":"  Two\n lines "}`, func(q *questions.Question) bool { return q.Title != "Two lines" || q.FirstMessage != "  Two\n lines " }},
		"long title":    {`{"message":"` + strings.Repeat("word ", 30) + `"}`, func(q *questions.Question) bool { return len([]rune(q.Title)) > 61 || len(q.Title) < 50 }},
		"no title":      {`{"message":" \n "}`, func(q *questions.Question) bool { return q.Title != "New chat" }},
		"history":       {`{"message":"m","conversation_history":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"}]}`, func(q *questions.Question) bool { return q.Title != "Hello" || q.FirstMessage != "Hello" }},
		"empty history": {`{"message":"m","conversation_history":[{"role":"user","content":""}]}`, func(q *questions.Question) bool { return q.Title != "m" }},
		"block": {`{"message":"m","context":{"block_ids":"b1,b2"}}`, func(q *questions.Question) bool {
			return q.Run.MessageID != "b1" || !q.Reserve || !slices.Equal(q.Aliases, []string{"b2"})
		}},
		"block of a key": {`{"message":"m","chat_id":"mine","context":{"block_ids":"b1"}}`, func(q *questions.Question) bool { return q.ChatKey != "mine" || q.Run.MessageID != "b1" }},
		"into a document": {`{"message":"m","context":{"block_ids":"b1","document_id":"d"}}`, func(q *questions.Question) bool {
			return q.Reserve || q.Run.MessageID == "b1" || q.Claim.Document != "d" || !slices.Equal(q.Claim.Blocks, []string{"b1"}) || !strings.Contains(string(q.Run.Request), `"mode":"chat"`)
		}},
		"beside a document": {`{"message":"m","context":{"block_ids":"b1","document_id":"d","mode":"agent"}}`, func(q *questions.Question) bool {
			return strings.Contains(string(q.Run.Request), `"mode":"chat"`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if q := must(t, sevens(), tt.body); tt.wrong(q) {
				t.Errorf("got %+v, message %+v, claim %+v, cancels %t", q.Begin, q.UserMessage, q.Claim, q.Cancels)
			}
		})
	}
}

// Messages that a client sends along begin a new chat, in their order, and none are added to
// a chat that exists.
func TestMessagesThatAreSentAlong(t *testing.T) {
	const history = `"conversation_history":[{"role":"user","content":"Hello"},{"role":"assistant","content":"Hi"}]`
	q := must(t, sevens(), `{"message":"m",`+history+`}`)
	if len(q.History) != 2 || q.History[0].ID == q.History[1].ID {
		t.Fatalf("got %+v, want two messages", q.History)
	}
	for i, m := range []schemas.Message{{Role: "user", Content: "Hello"}, {Role: "assistant", Content: "Hi"}} {
		m.ID, m.Type, m.Status, m.CreatedAt = q.History[i].ID, "md", schemas.MessageComplete, now
		if diff := cmp.Diff(m, q.History[i]); diff != "" {
			t.Errorf("message %d differs (-want +got):\n%s", i, diff)
		}
	}
	if q := must(t, sevens(), `{"message":"m","conversation_id":7,`+history+`}`); q.History != nil {
		t.Errorf("a chat that exists gets %+v, want nothing", q.History)
	}
}

// An edit and a second answer replace a current message and those after it, and ask the
// right question.
func TestSupersede(t *testing.T) {
	for _, tt := range []struct{ name, body, supersede, asked string }{
		{"an edit", `{"message":"m","conversation_id":7,"edit_message_id":"q1"}`, "q1", "*"},
		{"an edit by the chat's key", `{"message":"m","chat_id":"seven","edit_message_id":"q1"}`, "q1", "*"},
		{"the answer of a run", `{"conversation_id":7,"regenerate_message_id":"a3"}`, "a3", "q3"},
		{"an answer that was sent along", `{"conversation_id":7,"regenerate_message_id":"a2"}`, "a2", "q2"},
		{"the first answer", `{"conversation_id":7,"regenerate_message_id":"a1"}`, "a1", "q1"},
		{"an answer under way", `{"chat_id":"seven","regenerate_message_id":"a4"}`, "", "q4"},
	} {
		for _, page := range []int{1000, 1} {
			t.Run(fmt.Sprint(tt.name, " ", page), func(t *testing.T) {
				c := sevens()
				c.page = page
				q := must(t, c, tt.body)
				if q.Supersede != tt.supersede || q.ConversationID != 7 || q.Run.ConversationID != 7 {
					t.Errorf("supersedes %q in the chat %d, the run's is %d; want %q, 7", q.Supersede, q.ConversationID, q.Run.ConversationID, tt.supersede)
				}
				if tt.asked == "*" {
					if q.UserMessage == nil || q.Run.UserMessageID != q.UserMessage.ID || q.Run.UserMessageID == tt.supersede {
						t.Errorf("asks %q, message %+v; want a new one", q.Run.UserMessageID, q.UserMessage)
					}
				} else if q.UserMessage != nil || q.Run.UserMessageID != tt.asked {
					t.Errorf("asks %q, message %+v; want %q and none", q.Run.UserMessageID, q.UserMessage, tt.asked)
				}
			})
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct {
		body    string
		code    schemas.Code
		pointer string
	}{
		{`{"message":"m","model":"large"}`, schemas.CodeInvalid, "/model"},
		{`{"message":"m","conversation_id":8}`, "", ""}, // the store finds out
		{`{"message":"m","conversation_id":8,"chat_id":"seven"}`, schemas.CodeNotFound, ""},
		{`{"message":"m","conversation_id":7,"chat_id":"eight"}`, schemas.CodeInvalid, ""},
		{`{"message":"m","edit_message_id":"q1"}`, schemas.CodeInvalid, "/conversation_id"},
		{`{"message":"m","chat_id":"eight","edit_message_id":"q1"}`, schemas.CodeNotFound, ""},
		{`{"message":"m","conversation_id":7,"edit_message_id":"q9"}`, schemas.CodeNotFound, ""},
		{`{"message":"m","conversation_id":7,"edit_message_id":"a1"}`, schemas.CodeInvalid, "/edit_message_id"},
		{`{"message":"m","conversation_id":7,"edit_message_id":"qs"}`, schemas.CodeInvalid, "/edit_message_id"},
		{`{"conversation_id":7,"edit_message_id":"q1","regenerate_message_id":"a1"}`, schemas.CodeInvalid, "/regenerate_message_id"},
		{`{"conversation_id":7,"regenerate_message_id":"a1","message_id":"mine"}`, schemas.CodeInvalid, "/message_id"},
		{`{"conversation_id":7,"regenerate_message_id":"q1"}`, schemas.CodeInvalid, "/regenerate_message_id"},
		{`{"conversation_id":7,"regenerate_message_id":"as"}`, schemas.CodeInvalid, "/regenerate_message_id"},
		{`{"conversation_id":7,"regenerate_message_id":"a9"}`, schemas.CodeNotFound, ""},
		{`{"message":"m","context":{"block_ids":"b 1"}}`, schemas.CodeInvalid, "/context/block_ids"},
		{`{"message":"m","context":{"block_ids":","}}`, schemas.CodeInvalid, "/context/block_ids"},
		{`{"message":"m","context":{"block_ids":7}}`, schemas.CodeInvalid, "/context/block_ids"},
		{`{"message":"m","context":{"block_ids":"` + strings.Repeat("b,", 17) + `"}}`, schemas.CodeInvalid, "/context/block_ids"},
		{`{"message":"m","context":{"block_ids":"` + strings.Repeat("b,", 16) + `"}}`, "", ""},
		{`{"message":"m","context":{"block_ids":"b1,, b2 ,"}}`, "", ""},
		{`{"message":"m","context":{"block_ids":null,"document_id":""}}`, "", ""},
		{`{"message":"m","context":{"block_ids":""}}`, "", ""},
		{`{"message":"m","context":{"document_id":"d d"}}`, "", ""}, // nothing is written there
		{`{"message":"m","context":{"document_id":"d d","block_ids":"b"}}`, schemas.CodeInvalid, "/context/document_id"},
		{`{"message":"m","context":{"document_id":"d d","mode":"chat"}}`, schemas.CodeInvalid, "/context/document_id"},
		{`{"message":"m","context":{"document_id":7,"mode":"chat"}}`, schemas.CodeInvalid, "/context/document_id"},
		{`{"message":"m","context":{"document_id":"d d","current_page":"document"}}`, schemas.CodeInvalid, "/context/document_id"},
		{`{"interaction_type":"action_executed"}`, schemas.CodeInvalid, "/action_metadata"},
		{`{"interaction_type":"action_executed","action_metadata":{"action_identifier":"apply_schema"},"context":{"current_page":"reports"}}`, schemas.CodeForbidden, ""},
		{`{"message":"m","client_tools":[{"name":"pick","description":"Picks.","input_schema":{"type":"object"}}]}`, "", ""},
		{`{"message":"m","client_tools":[{"name":"search_pubmed","description":"Picks.","input_schema":{"type":"object"}}]}`, schemas.CodeInvalid, "/client_tools/0/name"},
	} {
		_, _, err := first(t, sevens(), tt.body)
		if tt.code == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.body, err)
			}
			continue
		}
		seen, pointer := schemas.Visible(err), ""
		if len(seen.Fields) > 0 {
			pointer = seen.Fields[0].Pointer
		}
		if err == nil || seen.Code != tt.code || pointer != tt.pointer {
			t.Errorf("%s: got %v at %q, want %s at %q", tt.body, err, pointer, tt.code, tt.pointer)
		}
	}
	c := sevens()
	c.messages[0].Role = "assistant" // so is the message before the answer
	if _, _, err := first(t, c, `{"conversation_id":7,"regenerate_message_id":"a1"}`); schemas.Visible(err).Code != schemas.CodeInvalid {
		t.Errorf("an answer without a question: got %v, want that it is refused", err)
	}
}

// A click is stored with what was clicked and the payload that it accepts, so that another
// attempt does the same.
func TestClicks(t *testing.T) {
	const click = `"interaction_type":"action_executed","conversation_id":7,"action_metadata":{"action_identifier":"apply_schema","action_data":{"stream_id":1}},` +
		`"context":{"current_page":"edit_stream","active_tab":"semantic"}`
	for body, label := range map[string]string{`{` + click + `}`: "apply_schema", `{"message":"Apply it",` + click + `}`: "Apply it"} {
		q := must(t, sevens(), body)
		want := &schemas.ActionMetadata{ActionIdentifier: "apply_schema", ActionData: json.RawMessage(`{"stream_id":1}`), PayloadID: "p1"}
		if m := q.UserMessage; m.Content != label || m.InteractionType != "" || !cmp.Equal(want, m.Action) {
			t.Errorf("%s: the message is %+v with the action %+v, want %q with %+v", body, m.Message, m.Action, label, want)
		}
		var stored schemas.ChatRequest
		if err := json.Unmarshal(q.Run.Request, &stored); err != nil || !cmp.Equal(want, stored.ActionMetadata) {
			t.Errorf("%s: the stored request is %s, %v; want the payload in it", body, q.Run.Request, err)
		}
	}
}

// An edit keeps the files of the message unless it says otherwise; a new question has only
// its own.
func TestFilesOfAnEdit(t *testing.T) {
	const edit = `{"message":"m","conversation_id":7,"edit_message_id":"q2"`
	const file = `"attachments":[{"name":"c.md","mime":"text/markdown","content":"C"}]`
	for _, tt := range []struct{ name, body, want string }{
		{"nothing about files", edit + `}`, "a.md b.md"},
		{"other files", edit + `,` + file + `}`, "c.md"},
		{"no files", edit + `,"attachments":[]}`, ""},
		{"one is kept", edit + `,"keep_attachments":[1]}`, "b.md"},
		{"in another order", edit + `,"keep_attachments":[1,0]}`, "b.md a.md"},
		{"one is kept beside another", edit + `,"keep_attachments":[0],` + file + `}`, "a.md c.md"},
		{"none is kept", edit + `,"keep_attachments":[]}`, ""},
		{"none is kept beside another", edit + `,"keep_attachments":[],` + file + `}`, "c.md"},
		{"no edit", `{"message":"m","conversation_id":7,` + file + `}`, "c.md"},
		{"an edit of a message without files", `{"message":"m","conversation_id":7,"edit_message_id":"q1"}`, ""},
		{"too many", edit + `,"keep_attachments":[0,2]}`, "/keep_attachments/1 is no file of the message, which has 2"},
		{"below them", edit + `,"keep_attachments":[-1]}`, "/keep_attachments/0 is no file of the message, which has 2"},
		{"of a message without files", `{"message":"m","conversation_id":7,"edit_message_id":"q1","keep_attachments":[0]}`, "/keep_attachments/0 is no file of the message, which has 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q, _, err := first(t, sevens(), tt.body)
			if err != nil {
				f := schemas.Visible(err).Fields
				if len(f) != 1 || f[0].Pointer+" "+f[0].Detail != tt.want {
					t.Errorf("got %v %+v, want %q", err, f, tt.want)
				}
				return
			}
			var names, infos []string
			for _, f := range q.UserMessage.Files {
				names = append(names, f.Name)
			}
			for _, f := range q.UserMessage.Attachments {
				infos = append(infos, f.Name)
			}
			if got := strings.Join(names, " "); got != tt.want || !slices.Equal(names, infos) {
				t.Errorf("the files are %q, shown as %q; want %q", got, infos, tt.want)
			}
		})
	}
}

// A page that no file describes is no error. Its name may be misspelt, so the log has it,
// but not for each question.
func TestUnknownPagesAreLogged(t *testing.T) {
	var out strings.Builder
	q := newQuestions(t, sevens(), slog.New(slog.NewTextHandler(&out, nil)))
	for _, page := range []string{`"reprots"`, `"reprots"`, `"reports"`, `""`, `null`, `"` + strings.Repeat("p", 300) + `"`} {
		req := &schemas.ChatRequest{Message: "m", Context: schemas.Object{"current_page": json.RawMessage(page)}}
		if _, err := q.FirstWrite(t.Context(), ann, req, record.StartOptions{}); err != nil {
			t.Errorf("%s: %v", page, err)
		}
	}
	got := out.String()
	if strings.Count(got, "level=INFO") != 2 || strings.Count(got, "current_page=reprots left_out=0") != 1 || strings.Contains(got, strings.Repeat("p", 101)) {
		t.Errorf("the log is %q, want one line for each unknown name, and the beginning of a long one", got)
	}
}
