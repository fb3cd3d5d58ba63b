package chats_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/chats"
)

// says is a model that writes a text, or waits for its context to end.
type says struct {
	text  string
	hangs bool

	mu    sync.Mutex
	asked []turn.Request
}

func (s *says) Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, req)
	return func(yield func(turn.Event, error) bool) {
		if s.hangs {
			<-ctx.Done()
			yield(nil, ctx.Err())
			return
		}
		for word := range strings.SplitAfterSeq(s.text, " ") {
			if !yield(turn.TextDelta{Text: word}, nil) {
				return
			}
		}
	}
}

type titles map[int64]string

func (t titles) Chat(_ context.Context, _ string, id int64) (schemas.Chat, error) {
	switch id {
	case renamed:
		return schemas.Chat{Title: "another title"}, nil
	case deleted:
		return schemas.Chat{}, schemas.ErrNotFound
	}
	return schemas.Chat{Title: "first words"}, nil
}

// Chats that are not named.
const renamed, deleted = 100, 101

func (t titles) RetitleChat(_ context.Context, owner string, id int64, before, title string) (bool, error) {
	if owner != "ann" || before != "first words" {
		return false, errors.New("not the chat")
	}
	t[id] = title
	return true, nil
}

func first(id int64) record.FirstAnswer {
	return record.FirstAnswer{Owner: "ann", ConversationID: id, Title: "first words", Model: "m", Question: "What is it?", Answer: "[[tool:0]]\n\nIt is this."}
}

func TestTitles(t *testing.T) {
	for reply, want := range map[string]string{
		"Base editing trials":        "Base editing trials",
		"\n\"Quoted.\"\nand more":    "Quoted",
		"Title: **Bold** ":           "Bold",
		"**Title:** \"Bold\"":        "Bold",
		"# Title: Bold":              "Bold",
		strings.Repeat("word ", 100): strings.TrimSpace(strings.Repeat("word ", 12))[:59] + "…",
		" \n":                        "",
		"„Grüße“":                    "Grüße",
	} {
		synctest.Test(t, func(t *testing.T) {
			model, kept := &says{text: reply}, titles{}
			made := chats.NewTitles(model, kept, chats.TitleOptions{Log: slog.New(slog.DiscardHandler)})
			made.Answered(first(1))
			synctest.Wait()
			made.Close()
			if kept[1] != want {
				t.Errorf("of %q: got %q, want %q", reply, kept[1], want)
			}
			if r := model.asked[0]; r.Model != "m" || r.MaxTokens == 0 || strings.Contains(r.Messages[0].Content, "[[tool") || r.Facts.Purpose != turn.NameChat {
				t.Errorf("the model is asked %+v", r)
			}
		})
	}
}

// No model is asked for the title of a chat that has another one than its first words, or that
// is gone.
func TestTitlesThatAreNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		model := &says{text: "A title"}
		made := chats.NewTitles(model, titles{}, chats.TitleOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
		made.Answered(first(renamed))
		made.Answered(first(deleted))
		synctest.Wait()
		made.Close()
		if len(model.asked) > 0 || log.Len() > 0 {
			t.Errorf("the model was asked %d times, and the log says %q; want neither", len(model.asked), log.String())
		}
	})
}

// TestTitlesDelayNothing checks that a call without an answer ends, and that
// chats beyond the limit are not named.
func TestTitlesDelayNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, kept := &says{hangs: true}, titles{}
		made := chats.NewTitles(model, kept, chats.TitleOptions{AtOnce: 2, Log: slog.New(slog.DiscardHandler)})
		before := time.Now()
		for id := range int64(5) {
			made.Answered(first(id))
		}
		if time.Since(before) != 0 {
			t.Error("an answer waits for its title, want no wait")
		}
		synctest.Wait()
		if len(model.asked) != 2 {
			t.Errorf("%d titles at once", len(model.asked))
		}
		<-time.After(20 * time.Second)
		synctest.Wait()
		made.Answered(first(9))
		synctest.Wait()
		if len(model.asked) != 3 || len(kept) != 0 {
			t.Errorf("%d asked, %d named", len(model.asked), len(kept))
		}
		made.Close()
	})
}
