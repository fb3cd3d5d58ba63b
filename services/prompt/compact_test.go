package prompt_test

import (
	"context"
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
	"github.com/chattray/chattray/services/prompt"
)

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
	h := prompt.NewHistory(c, prompt.HistoryOptions{}, nil)
	loads := h.CountLoads()
	if _, _, err := h.Messages(t.Context(), prompt.HistoryInput{Owner: alice, UserMessageID: c.last()}); err != nil {
		t.Fatal(err)
	}
	if *loads != 0 {
		t.Errorf("the tokens of a short chat were counted %d times", *loads)
	}
}

func TestLongHistoryIsCut(t *testing.T) {
	for _, tc := range []struct {
		name      string
		options   prompt.HistoryOptions
		summarize func(context.Context, string) (string, error)
	}{
		{"switched off", prompt.HistoryOptions{Budget: 1000, CompactOff: true}, func(context.Context, string) (string, error) { return "never", nil }},
		{"no model", prompt.HistoryOptions{Budget: 1000}, nil},
		{"model fails", prompt.HistoryOptions{Budget: 1000}, func(context.Context, string) (string, error) { return "", errDatabase }},
		{"model says nothing", prompt.HistoryOptions{Budget: 1000}, func(context.Context, string) (string, error) { return " \n", nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := longChat(30)
			list := historyOf(t, c, tc.options, tc.summarize)
			if got := list[0]; got.Role != turn.User || !strings.HasPrefix(got.Content, "(") || !strings.Contains(got.Content, "older messages left out.)\n\nquestion ") {
				t.Errorf("the history begins with %q, want a note of the messages left out and then a question", got.Content)
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
		for _, m := range historyOf(t, c, prompt.HistoryOptions{Budget: budget, CompactOff: true}, nil) {
			size += len(m.Content)
		}
		// These words are more than three bytes a token.
		if size > 7*budget || size < 2*budget {
			t.Errorf("a budget of %d tokens gave %d bytes", budget, size)
		}
	}
}

// A question may take most of the budget, and the summary may be of a model with a larger
// window: what is kept besides is less then.
func TestCompactedHistoryStaysInBudget(t *testing.T) {
	const budget = 2000
	for name, tt := range map[string]struct {
		question string
		stored   string // summary of all but the last 3 turns
		summary  string
	}{
		"long question":                               {question: strings.Repeat("alpha beta gamma ", budget/4), summary: "in short"},
		"long summary":                                {question: "why", summary: strings.Repeat("delta epsilon ", 550)},
		"long summary of rare characters":             {question: "why", summary: strings.Repeat("鬱龜麤讀", 1900)},
		"long summary of signs":                       {question: "why", summary: strings.Repeat("x9$#k ", 1300)},
		"long summary of short lines":                 {question: strings.Repeat("alpha beta gamma ", budget/4), stored: strings.Repeat("- a\n", 2000), summary: "in short"},
		"long summary of before, and a long question": {question: strings.Repeat("alpha beta gamma ", budget/4), stored: strings.Repeat("delta epsilon ", 550)},
	} {
		t.Run(name, func(t *testing.T) {
			c := longChat(20)
			c.messages[len(c.messages)-1].Content = tt.question
			if tt.stored != "" {
				c.summary = record.Summary{Text: tt.stored, Through: c.messages[len(c.messages)-4].ID}
			}
			h := prompt.NewHistory(c, prompt.HistoryOptions{}, nil).Within(budget)
			list, _, err := h.Messages(t.Context(), prompt.HistoryInput{
				Owner: alice, ConversationID: 1, UserMessageID: c.last(),
				Summarize: func(context.Context, string, []turn.Message) (string, error) { return tt.summary, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			tokens := 0
			for _, m := range list {
				tokens += h.Tokens(m.Content)
			}
			if tokens > budget || !strings.Contains(list[0].Content, `<data name="summary">`) || !strings.Contains(list[len(list)-1].Content, tt.question) {
				t.Errorf("a budget of %d tokens gave %d messages of %d, from %.60q on; want less with a summary and the question", budget, len(list), tokens, list[0].Content)
			}
		})
	}
}

// A question that takes almost all of the model's window is answered without the history that has
// no room beside it, whether or not the window is larger than the budget of histories.
func TestQuestionThatFillsTheWindow(t *testing.T) {
	const window = 2000
	for _, budget := range []int{window - 100, 10 * window} {
		c := longChat(20)
		question := strings.Repeat("alpha beta gamma ", window*9/30)
		c.messages[len(c.messages)-1].Content = question
		h := prompt.NewHistory(c, prompt.HistoryOptions{Budget: budget}, nil).Within(window)
		list, _, err := h.Messages(t.Context(), prompt.HistoryInput{
			Owner: alice, ConversationID: 1, UserMessageID: c.last(),
			Summarize: func(context.Context, string, []turn.Message) (string, error) {
				t.Error("a summary is asked for, for which there is no room")
				return "", nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		tokens := 0
		for _, m := range list {
			tokens += h.Tokens(m.Content)
		}
		if tokens > window || tokens < window*8/10 || !strings.Contains(list[0].Content, "left out") || !strings.Contains(list[len(list)-1].Content, question) {
			t.Errorf("with a budget of %d a window of %d tokens gets %d, from %.60q on; want the question and a note", budget, window, tokens, list[0].Content)
		}
	}
}

// A model with a small window cannot condense all older turns at once. The oldest are left out,
// which the summary so far may have, and not the newest.
func TestSummaryOfMoreThanAWindow(t *testing.T) {
	for _, lines := range []int{50, 1000} { // of the summary so far, which may be of a model with a larger window
		testSummaryOfMoreThanAWindow(t, strings.Repeat("so far\n", lines))
	}
}

func testSummaryOfMoreThanAWindow(t *testing.T, before string) {
	t.Helper()
	c := longChat(40)
	c.summary = record.Summary{Text: before, Through: c.messages[0].ID}
	var given string
	limit := prompt.SummaryLimit(2500, 500)
	h := prompt.NewHistory(c, prompt.HistoryOptions{}, nil).Within(2000)
	list, _, err := h.Messages(t.Context(), prompt.HistoryInput{
		Owner: alice, ConversationID: 1, UserMessageID: c.last(), SummaryLimit: limit,
		Summarize: func(_ context.Context, text string, older []turn.Message) (string, error) {
			given = prompt.SummaryRequest("m", text, older, 2500, 500).Messages[0].Content
			return "in short", nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(list[0].Content, "question ")
	var kept int
	if _, err := fmt.Sscan(first, &kept); err != nil {
		t.Fatalf("the history begins with %q: %v", list[0].Content, err)
	}
	last := fmt.Sprintf("answer %d ", kept-1)
	if !strings.Contains(given, last) || !strings.HasSuffix(given, "</data>\n") || !strings.Contains(given, "so far") || len(given) > limit || len(given) < limit/2 {
		t.Errorf("got a text of %d characters, want at most %d with the summary so far and %q: %.80q … %.80q", len(given), limit, last, given, given[len(given)-80:])
	}
}

func TestOlderTurnsAreCompacted(t *testing.T) {
	c := longChat(20)
	c.pageSize = 10
	options := prompt.HistoryOptions{Budget: 2000, Now: clock}
	var given []string
	summarize := func(_ context.Context, text string) (string, error) {
		given = append(given, text)
		return fmt.Sprintf(" summary %d ", len(given)), nil
	}
	list := historyOf(t, c, options, summarize)
	if len(given) != 1 || !strings.Contains(given[0], "question 0 ") || strings.Contains(given[0], "last question") {
		t.Fatalf("summaries were asked for from %q, want one, from the first question and without the last", given)
	}
	through := c.summary.Through
	if c.summary.Text != "summary 1" || !strings.HasPrefix(through, "a") || !c.summary.UpdatedAt.Equal(clock()) {
		t.Errorf("stored %+v", c.summary)
	}
	if want := "What was said before, in short:\n<data name=\"summary\">\n  summary 1\n</data>\n\nquestion "; !strings.HasPrefix(list[0].Content, want) {
		t.Errorf("the history begins with %q, want %q", list[0].Content, want)
	}
	if strings.Contains(given[0], list[2].Content) {
		t.Error("a turn is both kept and in the summary, want it once")
	}

	// The next turns need no other summary, and read only back to this one.
	c.say("assistant", "fine")
	c.say("user", "next")
	reads := c.reads
	again := historyOf(t, c, options, summarize)
	if len(given) != 1 {
		t.Error("the summary was made again, want the stored one")
	}
	if diff := cmp.Diff(append(list, turn.Message{Role: "assistant", Content: "fine"}, turn.Message{Role: "user", Content: "next"}), again); diff != "" {
		t.Errorf("next history (-want +got):\n%s", diff)
	}
	if n := c.reads - reads; n > 5 {
		t.Errorf("%d reads", n)
	}

	// Much later a new summary includes this one.
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

// What a chat costs may be in its files and its tools, and not in its texts.
func TestSummaryOfFilesAndNotesIsMadeOnce(t *testing.T) {
	many := strings.Repeat("alpha beta gamma ", 400)
	for name, add := range map[string]func(*storedChat){
		"file": func(c *storedChat) {
			m := c.say("user", "what does it say")
			m.Attachments = []schemas.AttachmentInfo{{Name: "a.md", MIME: "text/markdown", Size: len(many)}}
			c.files[m.ID] = []schemas.Attachment{{Name: "a.md", MIME: "text/markdown", Content: many}}
			c.say("assistant", "much")
		},
		"tools": func(c *storedChat) {
			for range 4 {
				c.say("user", "search")
				m := c.say("assistant", "found")
				for range 10 {
					m.ToolHistory = append(m.ToolHistory, schemas.ToolCall{ToolName: "search", Input: []byte("{}"), Output: many})
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &storedChat{files: map[string][]schemas.Attachment{}}
			add(c)
			c.say("user", "next")
			var given []string
			ask := func() []turn.Message {
				return historyOf(t, c, prompt.HistoryOptions{Budget: 1000, Keep: 200}, func(_ context.Context, text string) (string, error) {
					given = append(given, text)
					return "the summary", nil
				})
			}
			first := ask()
			c.say("assistant", "fine")
			c.say("user", "and now")
			if second := ask(); len(given) != 1 || len(second) != len(first)+2 || !strings.HasPrefix(second[0].Content, first[0].Content) {
				t.Errorf("after %d summaries, want 1, the history is\n%safter\n%s", len(given), conversation(second), conversation(first))
			}
		})
	}
}

func TestSummaryOfSupersededTurnsIsNotUsed(t *testing.T) {
	c := longChat(3)
	c.pageSize = 3
	c.summary = record.Summary{Text: "stale", Through: "a3"}
	c.messages[3].Status = schemas.MessageSuperseded
	got := conversation(historyOf(t, c, prompt.HistoryOptions{}, nil))
	if strings.Contains(got, "stale") || !strings.Contains(got, "question 0") {
		t.Errorf("got\n%s", got)
	}
	c.messages[3].Status = schemas.MessageComplete
	got = conversation(historyOf(t, c, prompt.HistoryOptions{}, nil))
	if !strings.Contains(got, "stale") || strings.Contains(got, "question 0") {
		t.Errorf("with the answer current again, got\n%s", got)
	}
}

func TestCompactionNeverSwallowsAQueuedQuestion(t *testing.T) {
	c := longChat(30)
	for i := range c.messages {
		c.messages[i].RunID = fmt.Sprintf("r%d", i/2)
	}
	// The question to answer was asked before all answers but the first.
	question := c.messages[len(c.messages)-1]
	c.messages = append([]schemas.Message{c.messages[0], question}, c.messages[1:len(c.messages)-1]...)
	called := false
	_, _, err := prompt.NewHistory(c, prompt.HistoryOptions{Budget: 1000}, nil).Messages(t.Context(), prompt.HistoryInput{
		Owner: alice, UserMessageID: question.ID,
		Summarize: func(context.Context, string, []turn.Message) (string, error) { called = true; return "s", nil },
	})
	if err != nil || called || c.summary.Through != "" {
		t.Errorf("got %v, called %t, stored %+v", err, called, c.summary)
	}
}

func TestSummaryIsBounded(t *testing.T) {
	c := longChat(30)
	var given string
	c.messages[2].Content = strings.Repeat("long ", 20_000)
	c.setErr = errDatabase // it is still used
	list := historyOf(t, c, prompt.HistoryOptions{Budget: 1000}, func(_ context.Context, text string) (string, error) {
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
		list := historyOf(t, c, prompt.HistoryOptions{Budget: 1000}, func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("it took %v", took)
		}
		if !strings.Contains(list[0].Content, "left out") {
			t.Errorf("the history begins with %q, want a note of what is left out", list[0].Content)
		}
	})
}

// A model that does not make a summary in time is not asked for one with each question: every
// one would wait for that.
func TestLateSummaryIsTriedLater(t *testing.T) {
	c := longChat(30)
	now, asked, slow := clock(), 0, true
	h := prompt.NewHistory(c, prompt.HistoryOptions{Now: func() time.Time { return now }, CompactTimeout: time.Millisecond}, nil)
	ask := func(ctx context.Context, chat int64, model string, want int) {
		t.Helper()
		_, _, err := h.Within(1000).Messages(ctx, prompt.HistoryInput{
			Owner: alice, ConversationID: chat, UserMessageID: c.last(), Model: model,
			Summarize: func(ctx context.Context, _ string, _ []turn.Message) (string, error) {
				if asked++; slow {
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "in short", nil
			},
		})
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		if asked != want {
			t.Errorf("%d summaries were asked for, want %d", asked, want)
		}
	}
	ask(t.Context(), 1, "slow", 1)
	ask(t.Context(), 1, "slow", 1)
	ask(t.Context(), 2, "slow", 2) // another chat
	ask(t.Context(), 1, "fast", 3) // another model
	now = now.Add(10 * time.Minute)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	ask(stopped, 1, "slow", 4) // which says nothing about the model
	slow = false
	ask(t.Context(), 1, "slow", 5)
	if c.summary.Text != "in short" {
		t.Errorf("stored %+v, want the summary", c.summary)
	}
}

func TestCancelledCompactionEndsTheHistory(t *testing.T) {
	cause := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := longChat(30)
	_, _, err := prompt.NewHistory(c, prompt.HistoryOptions{Budget: 1000}, nil).Messages(ctx, prompt.HistoryInput{
		Owner: alice, UserMessageID: c.last(),
		Summarize: func(ctx context.Context, _ string, _ []turn.Message) (string, error) {
			cancel(cause)
			return "", ctx.Err()
		},
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
	list := historyOf(t, c, prompt.HistoryOptions{}, nil)
	if c.reads > prompt.MaxHistoryMessages/100+2 || len(list) > prompt.MaxHistoryMessages+1 {
		t.Errorf("%d reads, %d messages", c.reads, len(list))
	}
	if !strings.HasPrefix(list[0].Content, "(Older messages are left out.)") {
		t.Errorf("the history begins with %q, want the note of the older messages", list[0].Content)
	}
}
