package prompt_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/prompt"
)

const alice = "alice"

// storedChat is a chat in memory, one page of pageSize messages at a time.
type storedChat struct {
	messages []schemas.Message
	files    map[string][]schemas.Attachment
	summary  record.Summary
	waiting  []string
	pageSize int
	reads    int
	err      error
	setErr   error
	away     string // the read for which the database is away
	damaged  string // the read of what cannot be read any more
}

// lost returns the error of a read.
func (c *storedChat) lost(read string) error {
	switch read {
	case c.away:
		return record.ErrUnavailable
	case c.damaged:
		return errDatabase
	}
	return nil
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
	if err := c.lost("message"); err != nil {
		return schemas.Message{}, err
	}
	for _, m := range c.messages {
		if m.ID == id {
			return m, nil
		}
	}
	return schemas.Message{}, schemas.ErrNotFound
}

func (c *storedChat) Files(_ context.Context, _ string, _ int64, id string) ([]schemas.Attachment, error) {
	c.reads++
	if err := c.lost("files"); err != nil {
		return nil, err
	}
	if f, ok := c.files[id]; ok {
		return f, nil
	}
	return nil, schemas.ErrNotFound
}

func (c *storedChat) File(_ context.Context, _ string, _ int64, id string, n int) (string, error) {
	return c.files[id][n].Content, nil
}

func (c *storedChat) Waiting(context.Context, int64) ([]string, error) { return c.waiting, nil }

func (c *storedChat) Summary(context.Context, string, int64) (record.Summary, error) {
	c.reads++
	return c.summary, c.lost("summary")
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

func historyOf(t *testing.T, c *storedChat, o prompt.HistoryOptions, summarize func(context.Context, string) (string, error)) []turn.Message {
	t.Helper()
	in := prompt.HistoryInput{Owner: alice, ConversationID: 1, UserMessageID: c.last()}
	if summarize != nil {
		in.Summarize = func(ctx context.Context, text string, older []turn.Message) (string, error) {
			if len(older) == 0 {
				t.Error("got a request for a summary without turns, want none")
			}
			return summarize(ctx, text)
		}
	}
	list, _, err := prompt.NewHistory(c, o, nil).Messages(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Clients choose ids of messages: another user's message may have the same one, and an
// answer may be replaced by another one of the same length.
func TestHistoryCountsTextsOfOneID(t *testing.T) {
	c := &storedChat{}
	c.say("user", "q")
	c.say("assistant", strings.Repeat("word ", 60))
	c.say("user", "next")
	h := prompt.NewHistory(c, prompt.HistoryOptions{Budget: 120, CompactOff: true}, nil)
	messages := func() int {
		list, _, err := h.Messages(t.Context(), prompt.HistoryInput{Owner: alice, ConversationID: 1, UserMessageID: c.last()})
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if got := messages(); got != 3 {
		t.Errorf("got %d messages of a short answer, want 3", got)
	}
	c.messages[1].Content = strings.Repeat("^~@;|", 60)[1:] // a text is shown without the space at its end
	if got := messages(); got != 1 {
		t.Errorf("got %d messages of an answer with more tokens, want only the next question with a note", got)
	}
}

// While the database is away, a conversation does not go on without its files or its summary,
// as if they did not exist: the run waits for the database. It goes on without those that are
// damaged.
func TestHistoryWithoutTheDatabase(t *testing.T) {
	c := &storedChat{pageSize: 3, files: map[string][]schemas.Attachment{}}
	for range 3 {
		c.say("user", "question")
		c.say("assistant", "answer")
	}
	c.summary = record.Summary{Text: "summary", Through: c.messages[1].ID}
	c.messages[4].Attachments = []schemas.AttachmentInfo{{Name: "a.md", MIME: "text/markdown", Size: 2}}
	c.files[c.messages[4].ID] = []schemas.Attachment{{Name: "a.md", MIME: "text/markdown", Content: "hi"}}
	c.say("user", "now?")
	for read, want := range map[string]error{"": nil, "files": record.ErrUnavailable, "summary": record.ErrUnavailable, "message": record.ErrUnavailable} {
		c.away = read
		list, _, err := prompt.NewHistory(c, prompt.HistoryOptions{}, nil).Messages(t.Context(), prompt.HistoryInput{Owner: alice, ConversationID: 1, UserMessageID: c.last()})
		if !errors.Is(err, want) || want == nil && !strings.Contains(conversation(list), "summary") {
			t.Errorf("without %q: got %v and\n%s\nwant %v", read, err, conversation(list), want)
		}
	}
	c.away = ""
	for read, missing := range map[string]string{"files": "hi", "summary": "summary", "message": "summary"} {
		c.damaged = read
		list, _, err := prompt.NewHistory(c, prompt.HistoryOptions{}, nil).Messages(t.Context(), prompt.HistoryInput{Owner: alice, ConversationID: 1, UserMessageID: c.last()})
		if got := conversation(list); err != nil || strings.Contains(got, missing) || !strings.Contains(got, "now?") {
			t.Errorf("with a damaged %s: got %v and\n%s\nwant the conversation without it", read, err, got)
		}
	}
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
	cut.Warnings = []string{"The block intro was rejected or deleted while the answer was written into it."}
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
- the user was told: The block intro was rejected or deleted while the answer was written into it.
</note>
user: Now?
`
	if diff := cmp.Diff(want, conversation(historyOf(t, c, prompt.HistoryOptions{}, nil))); diff != "" {
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
	got := conversation(historyOf(t, c, prompt.HistoryOptions{}, nil))
	if n := strings.Count(got, "[image]"); n != 7 {
		t.Errorf("got %d images, want 4 earlier ones and 3 of the question:\n%s", n, got)
	}
	if !strings.HasSuffix(got, "user: and now [image] [image] [image]\n") {
		t.Errorf("the question lacks its files:\n%s", got)
	}
}

// No image is in memory for as long as the run goes on: those that are shown are read again when
// they are sent.
func TestHistoryKeepsNoImages(t *testing.T) {
	c := &storedChat{files: map[string][]schemas.Attachment{}}
	for n := range 6 {
		asked := c.say("user", "look")
		asked.Attachments = []schemas.AttachmentInfo{{Name: "n.md", MIME: "text/markdown", Size: 1}, {Name: "p.png", MIME: "image/png", Size: 8}}
		c.files[asked.ID] = []schemas.Attachment{{Name: "n.md", MIME: "text/markdown", Content: "x"}, {Name: "p.png", MIME: "image/png", Content: fmt.Sprintf("iVBORw0K\r\nGgoA%04d", n)}}
		c.say("assistant", "nice")
	}
	c.say("user", "and then?")
	var got []string
	for _, m := range historyOf(t, c, prompt.HistoryOptions{Files: c}, nil) {
		for _, i := range m.Images {
			content, err := i.Source.Base64(t.Context())
			if err != nil || len(content) != i.Size {
				t.Errorf("got %q, %v; want %d characters", content, err, i.Size)
			}
			got = append(got, content)
		}
	}
	if want := []string{"iVBORw0KGgoA0002", "iVBORw0KGgoA0003", "iVBORw0KGgoA0004", "iVBORw0KGgoA0005"}; !slices.Equal(got, want) {
		t.Errorf("got the images %q, want %q", got, want)
	}
}

// The files of a prompt are read within the memory of all prompts, message by message.
func TestHistoryReadsFilesWithinMemory(t *testing.T) {
	c := &storedChat{files: map[string][]schemas.Attachment{}}
	for range 2 {
		asked := c.say("user", "look")
		asked.Attachments = []schemas.AttachmentInfo{{Name: "p.png", MIME: "image/png", Size: 9}}
		c.files[asked.ID] = []schemas.Attachment{{Name: "p.png", MIME: "image/png", Content: "iVBORw0KGgoA"}}
		c.say("assistant", "nice")
	}
	held, taken, before := 0, 0, 0
	memory := func(_ context.Context, bytes int) (func(), error) {
		if bytes < 2*len("iVBORw0KGgoA") {
			t.Errorf("%d bytes are taken, want what is stored and what is read", bytes)
		}
		held, taken, before = held+1, taken+1, c.reads
		return func() {
			if held--; c.reads != before+1 {
				t.Errorf("%d reads while the memory is held, want 1", c.reads-before)
			}
		}, nil
	}
	c.messages = c.messages[:3] // the last one is the question
	historyOf(t, c, prompt.HistoryOptions{Memory: memory}, nil)
	if held != 0 || taken != 2 {
		t.Errorf("memory was taken %d times, of which %d are held; want 2 and none", taken, held)
	}
}

// A run that ends while it waits for memory makes no prompt.
func TestHistoryEndsWhileItWaitsForMemory(t *testing.T) {
	c := &storedChat{files: map[string][]schemas.Attachment{}}
	c.say("user", "look").Attachments = []schemas.AttachmentInfo{{Name: "p.png", MIME: "image/png", Size: 9}}
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	o := prompt.HistoryOptions{Memory: func(ctx context.Context, _ int) (func(), error) {
		stop(stopped)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}}
	if _, _, err := prompt.NewHistory(c, o, nil).Messages(ctx, prompt.HistoryInput{Owner: alice, UserMessageID: c.last()}); !errors.Is(err, stopped) {
		t.Errorf("got %v, want %v", err, stopped)
	}
}

// An image that a model's server has refused is not sent again with later questions, which it
// would refuse too.
func TestHistoryLeavesRefusedImagesOut(t *testing.T) {
	for _, tc := range []struct {
		code   schemas.Code
		answer string
		want   int
	}{
		{schemas.CodeUpstreamError, "", 2},
		{schemas.CodeContentFilter, "", 2},
		{schemas.CodeUpstreamError, "I see", 4},
		{schemas.CodeUpstreamUnavailable, "", 4},
		{"", "I see", 4},
	} {
		c := &storedChat{files: map[string][]schemas.Attachment{}}
		for i, answer := range []string{"nice", tc.answer, "nice", ""} {
			asked := c.say("user", "look")
			asked.Attachments = []schemas.AttachmentInfo{{Name: "p.png", MIME: "image/png", Size: 8}}
			c.files[asked.ID] = []schemas.Attachment{{Name: "p.png", MIME: "image/png", Content: "iVBORw0KGgo" + string(rune('A'+i))}}
			c.say("assistant", answer)
		}
		if failed := &c.messages[3]; tc.code != "" {
			failed.Status, failed.Error = schemas.MessageError, &schemas.MessageFailure{Code: tc.code, Message: "no"}
		}
		c.messages = c.messages[:7]
		got := conversation(historyOf(t, c, prompt.HistoryOptions{}, nil))
		if n := strings.Count(got, "[image]"); n != tc.want {
			t.Errorf("%q after %s: got %d images, want %d:\n%s", tc.answer, tc.code, n, tc.want, got)
		}
		if n := strings.Count(got, "ask the user to attach it again"); n != 4-tc.want {
			t.Errorf("%q after %s: %d messages say that their image has to be attached again, want %d:\n%s", tc.answer, tc.code, n, 4-tc.want, got)
		}
		// The user is told with the first answer after the refused one.
		for answer, asked := range map[int]bool{1: tc.want < 4, 2: false} {
			list := storedChat{files: c.files, messages: c.messages[:2*answer+3]}
			var told []string
			_, _, err := prompt.NewHistory(&list, prompt.HistoryOptions{}, nil).Messages(t.Context(), prompt.HistoryInput{
				Owner: alice, ConversationID: 1, UserMessageID: list.last(), Warn: func(w string) { told = append(told, w) },
			})
			if err != nil || (len(told) == 1) != asked {
				t.Errorf("%q after %s: the user is told %q with answer %d, %v", tc.answer, tc.code, told, answer, err)
			}
		}
	}
}

// A user who has attached the images again is not told to do so, and the model is not told that
// they are missing.
func TestHistoryOfImagesThatAreAttachedAgain(t *testing.T) {
	image := func(end string) schemas.Attachment {
		return schemas.Attachment{Name: "p.png", MIME: "image/png", Content: "iVBORw0KGgo" + end}
	}
	for _, tc := range []struct {
		name  string
		again []schemas.Attachment
		told  bool
	}{
		{"none", nil, true},
		{"one of them", []schemas.Attachment{image("B")}, true},
		{"another one", []schemas.Attachment{image("C"), image("D")}, true},
		{"both", []schemas.Attachment{image("B"), image("A")}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &storedChat{files: map[string][]schemas.Attachment{}}
			for _, files := range [][]schemas.Attachment{{image("A"), image("B")}, tc.again} {
				asked := c.say("user", "look")
				asked.Attachments = make([]schemas.AttachmentInfo, len(files))
				c.files[asked.ID] = files
				failed := c.say("assistant", "")
				failed.Status, failed.Error = schemas.MessageError, &schemas.MessageFailure{Code: schemas.CodeUpstreamError, Message: "no"}
			}
			c.messages = c.messages[:3]
			told := 0
			list, _, err := prompt.NewHistory(c, prompt.HistoryOptions{}, nil).Messages(t.Context(), prompt.HistoryInput{
				Owner: alice, ConversationID: 1, UserMessageID: c.last(), Warn: func(string) { told++ },
			})
			if noted := strings.Contains(fmt.Sprint(list), "ask the user to attach it again"); err != nil || (told == 1) != tc.told || noted != tc.told || told > 1 {
				t.Errorf("the user is told %d times, the model %t, %v; want %t", told, noted, err, tc.told)
			}
		})
	}
}

// A file that is no image for a model is only noted, in earlier messages and in the
// question: a model's server refuses a request with it.
func TestHistoryLeavesBrokenImagesOut(t *testing.T) {
	c := &storedChat{files: map[string][]schemas.Attachment{}}
	for _, asked := range []string{"look", "and now"} {
		m := c.say("user", asked)
		m.Attachments = []schemas.AttachmentInfo{{Name: "a.png", MIME: "image/png", Size: 12}}
		c.files[m.ID] = []schemas.Attachment{
			{Name: "a.png", MIME: "image/png", Content: "bm90IGFuIGltYWdl"},
			{Name: "b.png", MIME: "image/png", Content: "iVBORw0KGgo="},
			{Name: "c.svg", MIME: "image/svg+xml", Content: "PHN2Zy8+"},
			{Name: "d", MIME: "image/*", Content: "iVBORw0KGgo="},
		}
		if asked == "look" {
			c.say("assistant", "nice")
		}
	}
	const note = `
<note>
- attached: a.png (image/png), not shown, because it is no image that a model can read
- attached: c.svg (image/svg+xml), not shown, because it is no image that a model can read
- attached: d (image/*), not shown, because it is no image that a model can read
</note> [image]
`
	want := "user: look\n" + note + "assistant: nice\nuser: and now\n" + note
	if diff := cmp.Diff(want, conversation(historyOf(t, c, prompt.HistoryOptions{}, nil))); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestHistoryOfANewChatReadsNothing(t *testing.T) {
	c := &storedChat{err: errDatabase}
	list, question, err := prompt.NewHistory(c, prompt.HistoryOptions{}, nil).Messages(t.Context(), prompt.HistoryInput{
		Owner: alice, UserMessageID: "u0", Alone: true,
		Current: &schemas.Message{ID: "u0", Role: "user", Content: "Hi"},
	})
	if err != nil || c.reads != 0 || question != "Hi" {
		t.Fatalf("got the question %q, %v after %d reads; want %q and no reads", question, err, c.reads, "Hi")
	}
	if diff := cmp.Diff("user: Hi\n", conversation(list)); diff != "" {
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
		list, _, err := prompt.NewHistory(c, prompt.HistoryOptions{}, nil).Messages(t.Context(), prompt.HistoryInput{Owner: alice, UserMessageID: id})
		if err != nil {
			t.Fatal(err)
		}
		want = strings.ReplaceAll(want, "one\nassistant: two", "one\n\ntwo")
		if diff := cmp.Diff(want, conversation(list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}

// A question that is asked again before later ones were answered is answered without these:
// the answer is shown before them. The third one's answer was generated again, by a run that
// has no question.
func TestHistoryLeavesLaterAnswersOut(t *testing.T) {
	c := &storedChat{waiting: []string{"r5"}}
	for _, m := range []schemas.Message{
		{ID: "u1", Role: "user", Content: "first", RunID: "r1"},
		{ID: "a1", Role: "assistant", Content: "one", RunID: "r1"},
		{ID: "u2", Role: "user", Content: "second", RunID: "r2"},
		{ID: "u3", Role: "user", Content: "third", RunID: "r3"},
		{ID: "a3", Role: "assistant", Content: "three", RunID: "r6"},
		{ID: "u4", Role: "user", Content: "fourth", RunID: "r4"},
		{ID: "a4", Role: "assistant", Content: "four", RunID: "r4"},
		{ID: "u5", Role: "user", Content: "waits", RunID: "r5"},
	} {
		m.Status = schemas.MessageComplete
		c.messages = append(c.messages, m)
	}
	list, _, err := prompt.NewHistory(c, prompt.HistoryOptions{}, nil).Messages(t.Context(), prompt.HistoryInput{Owner: alice, UserMessageID: "u2"})
	if err != nil {
		t.Fatal(err)
	}
	want := "user: first\nassistant: one\nuser: second\n"
	if diff := cmp.Diff(want, conversation(list)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

// A question whose turn has come is after those that still wait; one that was
// stopped before its answer has a note.
func TestHistoryLeavesWaitingQuestionsOut(t *testing.T) {
	c := &storedChat{waiting: []string{"r3"}}
	for _, m := range []schemas.Message{
		{ID: "u1", Role: "user", Content: "stopped", RunID: "r1"},
		{ID: "u3", Role: "user", Content: "waits", RunID: "r3"},
		{ID: "u2", Role: "user", Content: "now", RunID: "r2"},
	} {
		m.Status = schemas.MessageComplete
		c.messages = append(c.messages, m)
	}
	list, question, err := prompt.NewHistory(c, prompt.HistoryOptions{}, nil).Messages(t.Context(), prompt.HistoryInput{Owner: alice, UserMessageID: "u2"})
	if err != nil || question != "now" {
		t.Fatalf("got the question %q, %v; want %q alone", question, err, "now")
	}
	want := "user: stopped\n\n<note>\n- the user stopped this before it was answered\n</note>\n\nnow\n"
	if diff := cmp.Diff(want, conversation(list)); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestHistoryErrors(t *testing.T) {
	for _, tc := range []struct {
		name, owner, message string
		chat                 *storedChat
		want                 error
	}{
		{"database away", alice, "u0", &storedChat{err: errDatabase}, errDatabase},
		{"another user's", "bob", "u0", &storedChat{}, schemas.ErrNotFound},
		{"no such question", alice, "u9", &storedChat{}, schemas.ErrNotFound},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, err := prompt.NewHistory(tc.chat, prompt.HistoryOptions{}, nil).Messages(t.Context(), prompt.HistoryInput{Owner: tc.owner, UserMessageID: tc.message})
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}
