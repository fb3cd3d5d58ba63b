package services_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services"
)

const alice = "alice"

// storedChat is a chat in memory, one page of pageSize messages at a time.
type storedChat struct {
	messages []schemas.Message
	files    map[string][]schemas.Attachment
	summary  record.Summary
	pageSize int
	reads    int
	err      error
	setErr   error
}

func (c *storedChat) Messages(_ context.Context, owner string, _ int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	c.reads++
	if c.err != nil {
		return nil, "", c.err
	}
	if owner != alice {
		return nil, "", schemas.ErrNotFound
	}
	var list []schemas.Message
	for _, m := range c.messages {
		if m.ID == q.Cursor {
			break
		}
		if m.Status != schemas.MessageSuperseded || q.Superseded {
			list = append(list, m)
		}
	}
	size := q.Limit
	if c.pageSize > 0 {
		size = min(size, c.pageSize)
	}
	if len(list) <= size {
		return list, "", nil
	}
	list = list[len(list)-size:]
	return list, list[0].ID, nil
}

func (c *storedChat) Message(_ context.Context, _ string, _ int64, id string) (schemas.Message, error) {
	c.reads++
	for _, m := range c.messages {
		if m.ID == id {
			return m, nil
		}
	}
	return schemas.Message{}, schemas.ErrNotFound
}

func (c *storedChat) Files(_ context.Context, _ string, _ int64, id string) ([]schemas.Attachment, error) {
	c.reads++
	if f, ok := c.files[id]; ok {
		return f, nil
	}
	return nil, schemas.ErrNotFound
}

func (c *storedChat) Summary(context.Context, string, int64) (record.Summary, error) {
	c.reads++
	return c.summary, nil
}

func (c *storedChat) SetSummary(_ context.Context, _ string, _ int64, s record.Summary) error {
	if c.setErr == nil {
		c.summary = s
	}
	return c.setErr
}

// say adds a message; its id is its role's letter and number.
func (c *storedChat) say(role, text string) *schemas.Message {
	id := fmt.Sprintf("%c%d", role[0], len(c.messages))
	c.messages = append(c.messages, schemas.Message{ID: id, Role: role, Content: text, Status: schemas.MessageComplete})
	return &c.messages[len(c.messages)-1]
}

func (c *storedChat) last() string { return c.messages[len(c.messages)-1].ID }

// conversation shows messages one a line.
func conversation(list []turn.Message) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%s: %s", m.Role, m.Content)
		for range m.Images {
			b.WriteString(" [image]")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func historyOf(t *testing.T, c *storedChat, o services.HistoryOptions, summarize func(context.Context, string) (string, error)) []turn.Message {
	t.Helper()
	list, err := services.NewHistorian(c, o).Messages(t.Context(), services.HistoryInput{Owner: alice, ConversationID: 1, UserMessageID: c.last(), Summarize: summarize})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestHistoryShowsWhatHappened(t *testing.T) {
	c := &storedChat{files: map[string][]schemas.Attachment{}}
	c.say("user", "Find CRISPR")
	found := c.say("assistant", "Let me look.\n\n[[tool:0]]\n\nFound \\[[tool:x]] two.\n\n[[tool:1]]")
	found.ToolHistory = []schemas.ToolCall{
		{ToolName: "search_pubmed", Input: json.RawMessage("{\n\"query\": \"CRISPR\"}"), Output: "Found 2:\n</note>\n1. A"},
		{ToolName: "fetch_webpage", Input: json.RawMessage(`{}`), Output: strings.Repeat("x", 500), IsError: true},
	}
	found.Payloads = []schemas.CustomPayload{{PayloadID: "0a1b2c3d", Type: "pubmed_search_results", Summary: "PubMed search: CRISPR (2 of 2)", Data: json.RawMessage(`{"secretdata":1}`), Outcome: "rejected"}}
	replaced := c.say("user", "Old wording")
	replaced.Status = schemas.MessageSuperseded
	clicked := c.say("user", "Apply Changes")
	clicked.Action = &schemas.ActionMetadata{ActionIdentifier: "apply_schema", ActionData: json.RawMessage(`{"stream_id": 1}`)}
	stopped := c.say("assistant", "Half an ans")
	stopped.Status = schemas.MessageCancelled
	c.say("user", "Go on")
	failed := c.say("assistant", "")
	failed.Status, failed.Error = schemas.MessageError, &schemas.MessageFailure{Code: schemas.CodeUpstreamTimeout, Message: "the model did not answer in time"}
	shown := c.say("user", "See this")
	shown.Attachments = []schemas.AttachmentInfo{{Name: "a.md", MIME: "text/markdown", Size: 2}}
	c.files[shown.ID] = []schemas.Attachment{{Name: "a.md", MIME: "text/markdown", Content: "hi"}}
	lost := c.say("user", "And this")
	lost.Attachments = []schemas.AttachmentInfo{{Name: "b.md", MIME: "text/markdown", Size: 3}}
	cut := c.say("assistant", "Cut")
	cut.Status = schemas.MessageIncomplete
	c.say("user", "Now?")
	want := `user: Find CRISPR
assistant: Let me look.

Found \[[tool:x]] two.

<note>
- tool search_pubmed {"query":"CRISPR"} gave: Found 2: </note> 1. A
- tool fetch_webpage {} failed with: ` + strings.Repeat("x", 399) + `…
- payload 0a1b2c3d (pubmed_search_results): PubMed search: CRISPR (2 of 2) [rejected by the user]
</note>
user: Apply Changes

<note>
- the user clicked the action apply_schema with {"stream_id":1}
</note>
assistant: Half an ans

<note>
- the user stopped this answer
</note>
user: Go on
assistant: <note>
- this answer failed: the model did not answer in time (upstream_timeout)
</note>
user: See this

Attached file (text/markdown):
<data name="a.md">
  hi
</data>

And this

<note>
- attached: b.md (text/markdown, 3 bytes), not shown again
</note>
assistant: Cut

<note>
- this answer was cut off
</note>
user: Now?
`
	if diff := cmp.Diff(want, conversation(historyOf(t, c, services.HistoryOptions{}, nil))); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestHistoryShowsFilesOfTheQuestion(t *testing.T) {
	image := schemas.Attachment{Name: "p.png", MIME: "image/png", Content: "iVBORw0KGgo="}
	c := &storedChat{files: map[string][]schemas.Attachment{}}
	for range 5 {
		m := c.say("user", "look")
		m.Attachments = []schemas.AttachmentInfo{{Name: "p.png", MIME: "image/png", Size: 8}}
		c.files[m.ID] = []schemas.Attachment{image, image}
		c.say("assistant", "nice")
	}
	asked := c.say("user", "and now")
	asked.Attachments = []schemas.AttachmentInfo{{Name: "p.png", MIME: "image/png", Size: 8}}
	c.files[asked.ID] = []schemas.Attachment{image, image, image}
	got := conversation(historyOf(t, c, services.HistoryOptions{}, nil))
	if n := strings.Count(got, "[image]"); n != 7 {
		t.Errorf("got %d images, want 4 earlier ones and 3 of the question:\n%s", n, got)
	}
	if !strings.HasSuffix(got, "user: and now [image] [image] [image]\n") {
		t.Errorf("the question has not its files:\n%s", got)
	}
}

func TestHistoryOfANewChatReadsNothing(t *testing.T) {
	c := &storedChat{err: errDatabase}
	list, err := services.NewHistorian(c, services.HistoryOptions{}).Messages(t.Context(), services.HistoryInput{
		Owner: alice, UserMessageID: "u0", Alone: true,
		Current: &record.UserMessage{Message: schemas.Message{ID: "u0", Role: "user", Content: "Hi"}, Files: []schemas.Attachment{{Name: "a", MIME: "text/csv", Content: "1"}}},
	})
	if err != nil || c.reads != 0 {
		t.Fatalf("got %v after %d reads", err, c.reads)
	}
	want := "user: Hi\n\nAttached file (text/csv):\n<data name=\"a\">\n  1\n</data>\n"
	if diff := cmp.Diff(want, conversation(list)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestHistoryPutsQueuedQuestionsInOrder(t *testing.T) {
	c := &storedChat{}
	for _, m := range []schemas.Message{
		{ID: "u1", Role: "user", Content: "first", RunID: "r1"},
		{ID: "u2", Role: "user", Content: "second", RunID: "r2"},
		{ID: "u3", Role: "user", Content: "third", RunID: "r3"},
		{ID: "a1", Role: "assistant", Content: "one", RunID: "r1"},
		{ID: "a2", Role: "assistant", Content: "two", RunID: "r2"},
	} {
		m.Status = schemas.MessageComplete
		c.messages = append(c.messages, m)
	}
	for id, want := range map[string]string{
		"u3": "user: first\nassistant: one\nuser: second\nassistant: two\nuser: third\n",
		"u2": "user: first\nassistant: one\nassistant: two\nuser: second\n",
	} {
		list, err := services.NewHistorian(c, services.HistoryOptions{}).Messages(t.Context(), services.HistoryInput{Owner: alice, UserMessageID: id})
		if err != nil {
			t.Fatal(err)
		}
		want = strings.ReplaceAll(want, "one\nassistant: two", "one\n\ntwo")
		if diff := cmp.Diff(want, conversation(list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

func TestHistoryErrors(t *testing.T) {
	for _, tc := range []struct {
		name, owner, message string
		chat                 *storedChat
		want                 error
	}{
		{"database away", alice, "u0", &storedChat{err: errDatabase}, errDatabase},
		{"somebody else's", "bob", "u0", &storedChat{}, schemas.ErrNotFound},
		{"no such question", alice, "u9", &storedChat{}, schemas.ErrNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := services.NewHistorian(tc.chat, services.HistoryOptions{}).Messages(t.Context(), services.HistoryInput{Owner: tc.owner, UserMessageID: tc.message})
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// longChat has turns of about 120 tokens each, and a question.
func longChat(turns int) *storedChat {
	c := &storedChat{}
	for i := range turns {
		c.say("user", fmt.Sprintf("question %d ", i)+strings.Repeat("alpha beta gamma ", 20))
		c.say("assistant", fmt.Sprintf("answer %d ", i)+strings.Repeat("delta epsilon zeta ", 15))
	}
	c.say("user", "last question")
	return c
}

func TestShortHistoryIsNotCounted(t *testing.T) {
	c := longChat(10)
	h := services.NewHistorian(c, services.HistoryOptions{})
	loads := h.CountLoads()
	if _, err := h.Messages(t.Context(), services.HistoryInput{Owner: alice, UserMessageID: c.last()}); err != nil {
		t.Fatal(err)
	}
	if *loads != 0 {
		t.Errorf("the tokens of a short chat were counted %d times", *loads)
	}
}

func TestLongHistoryIsCut(t *testing.T) {
	for _, tc := range []struct {
		name      string
		options   services.HistoryOptions
		summarize func(context.Context, string) (string, error)
	}{
		{"switched off", services.HistoryOptions{Budget: 1000, CompactOff: true}, func(context.Context, string) (string, error) { return "never", nil }},
		{"no model", services.HistoryOptions{Budget: 1000}, nil},
		{"model fails", services.HistoryOptions{Budget: 1000}, func(context.Context, string) (string, error) { return "", errDatabase }},
		{"model says nothing", services.HistoryOptions{Budget: 1000}, func(context.Context, string) (string, error) { return " \n", nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := longChat(30)
			list := historyOf(t, c, tc.options, tc.summarize)
			if got := list[0]; got.Role != turn.User || !strings.HasPrefix(got.Content, "(") || !strings.Contains(got.Content, "older messages left out.)\n\nquestion ") {
				t.Errorf("the history begins with %q", got.Content)
			}
			if n := len(list); n < 9 || n > 25 || list[n-1].Content != "last question" {
				t.Errorf("got %d messages, the last is %q", n, list[n-1].Content)
			}
			for i, m := range list {
				if want := []turn.Role{turn.User, turn.Assistant}[i%2]; m.Role != want {
					t.Fatalf("message %d is the %s's", i, m.Role)
				}
			}
			if c.summary.Text != "" {
				t.Errorf("summary %q was stored", c.summary.Text)
			}
		})
	}
}

func TestHistoryStaysInBudget(t *testing.T) {
	c := longChat(200)
	c.pageSize = 7
	for _, budget := range []int{300, 1000, 5000} {
		size := 0
		for _, m := range historyOf(t, c, services.HistoryOptions{Budget: budget, CompactOff: true}, nil) {
			size += len(m.Content)
		}
		// These words are more than three bytes a token.
		if size > 7*budget || size < 2*budget {
			t.Errorf("a budget of %d tokens gave %d bytes", budget, size)
		}
	}
}

func TestOlderTurnsAreCompacted(t *testing.T) {
	c := longChat(20)
	c.pageSize = 10
	options := services.HistoryOptions{Budget: 2000, Now: clock}
	var given []string
	summarize := func(_ context.Context, text string) (string, error) {
		given = append(given, text)
		return fmt.Sprintf(" summary %d ", len(given)), nil
	}
	list := historyOf(t, c, options, summarize)
	if len(given) != 1 || !strings.Contains(given[0], "question 0 ") || strings.Contains(given[0], "last question") {
		t.Fatalf("%d summaries were asked for", len(given))
	}
	through := c.summary.Through
	if c.summary.Text != "summary 1" || !strings.HasPrefix(through, "a") || !c.summary.UpdatedAt.Equal(clock()) {
		t.Errorf("stored %+v", c.summary)
	}
	if want := "What was said before, in short:\n<data name=\"summary\">\n  summary 1\n</data>\n\nquestion "; !strings.HasPrefix(list[0].Content, want) {
		t.Errorf("the history begins with %q", list[0].Content)
	}
	if strings.Contains(given[0], list[2].Content) {
		t.Error("a turn is both kept and in the summary")
	}

	// The next turns need no other one, and read back to the summary only.
	c.say("assistant", "fine")
	c.say("user", "next")
	reads := c.reads
	again := historyOf(t, c, options, summarize)
	if len(given) != 1 {
		t.Error("the summary was made again")
	}
	if diff := cmp.Diff(append(list, turn.Message{Role: "assistant", Content: "fine"}, turn.Message{Role: "user", Content: "next"}), again); diff != "" {
		t.Errorf("next history (-want +got):\n%s", diff)
	}
	if n := c.reads - reads; n > 5 {
		t.Errorf("%d reads", n)
	}

	// Much later the summary goes into a new one.
	for i := range 20 {
		c.say("assistant", fmt.Sprintf("later %d ", i)+strings.Repeat("delta epsilon zeta ", 15))
		c.say("user", fmt.Sprintf("and %d ", i)+strings.Repeat("alpha beta gamma ", 20))
	}
	historyOf(t, c, options, summarize)
	if len(given) != 2 || !strings.HasPrefix(given[1], "<data name=\"summary so far\">\n  summary 1\n</data>\n") || strings.Contains(given[1], "question 0 ") {
		t.Fatalf("the second summary was made of %q", given[1:])
	}
	if c.summary.Text != "summary 2" || c.summary.Through == through {
		t.Errorf("stored %+v", c.summary)
	}
}

func TestSummaryOfSupersededTurnsIsNotUsed(t *testing.T) {
	c := longChat(3)
	c.pageSize = 3
	c.summary = record.Summary{Text: "stale", Through: "a3"}
	c.messages[3].Status = schemas.MessageSuperseded
	got := conversation(historyOf(t, c, services.HistoryOptions{}, nil))
	if strings.Contains(got, "stale") || !strings.Contains(got, "question 0") {
		t.Errorf("got\n%s", got)
	}
	c.messages[3].Status = schemas.MessageComplete
	got = conversation(historyOf(t, c, services.HistoryOptions{}, nil))
	if !strings.Contains(got, "stale") || strings.Contains(got, "question 0") {
		t.Errorf("with the answer back, got\n%s", got)
	}
}

func TestCompactionNeverSwallowsAQueuedQuestion(t *testing.T) {
	c := longChat(30)
	for i := range c.messages {
		c.messages[i].RunID = fmt.Sprintf("r%d", i/2)
	}
	// The question to answer was asked before all answers but the first came.
	question := c.messages[len(c.messages)-1]
	c.messages = append([]schemas.Message{c.messages[0], question}, c.messages[1:len(c.messages)-1]...)
	called := false
	_, err := services.NewHistorian(c, services.HistoryOptions{Budget: 1000}).Messages(t.Context(), services.HistoryInput{
		Owner: alice, UserMessageID: question.ID,
		Summarize: func(context.Context, string) (string, error) { called = true; return "s", nil },
	})
	if err != nil || called || c.summary.Through != "" {
		t.Errorf("got %v, called %t, stored %+v", err, called, c.summary)
	}
}

func TestSummaryIsBounded(t *testing.T) {
	c := longChat(30)
	var given string
	c.messages[2].Content = strings.Repeat("long ", 20_000)
	c.setErr = errDatabase // it is used all the same
	list := historyOf(t, c, services.HistoryOptions{Budget: 1000}, func(_ context.Context, text string) (string, error) {
		given = text
		return strings.Repeat("s", 50_000), nil
	})
	if len(given) > 130_000 || !strings.Contains(given, "characters in all)") {
		t.Errorf("%d bytes were to be condensed", len(given))
	}
	if n := len(list[0].Content); n < 8_000 || n > 10_000 {
		t.Errorf("the summary and the first message have %d bytes", n)
	}
}

func TestSlowSummaryIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := longChat(30)
		began := time.Now()
		list := historyOf(t, c, services.HistoryOptions{Budget: 1000}, func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		if took := time.Since(began); took != services.DefaultCompactTimeout {
			t.Errorf("it took %v", took)
		}
		if !strings.Contains(list[0].Content, "left out") {
			t.Errorf("the history begins with %q", list[0].Content)
		}
	})
}

func TestCancelledCompactionEndsTheHistory(t *testing.T) {
	cause := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := longChat(30)
	_, err := services.NewHistorian(c, services.HistoryOptions{Budget: 1000}).Messages(ctx, services.HistoryInput{
		Owner: alice, UserMessageID: c.last(),
		Summarize: func(ctx context.Context, _ string) (string, error) { cancel(cause); return "", ctx.Err() },
	})
	if !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

func TestHistoryReadsABoundedPart(t *testing.T) {
	c := &storedChat{}
	for range 3_000 {
		c.say("user", "hi")
		c.say("assistant", "ho")
	}
	c.say("user", "now")
	list := historyOf(t, c, services.HistoryOptions{}, nil)
	if c.reads > services.MaxHistoryMessages/100+2 || len(list) > services.MaxHistoryMessages+1 {
		t.Errorf("%d reads, %d messages", c.reads, len(list))
	}
	if !strings.HasPrefix(list[0].Content, "(Older messages are left out.)") {
		t.Errorf("the history begins with %q", list[0].Content)
	}
}
