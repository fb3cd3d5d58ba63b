package chats_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/chats"
)

// newestFirst is a chat that is read from its end, as the store reads one.
type newestFirst struct{ kept }

func (k *newestFirst) Messages(_ context.Context, _ string, _ int64, q record.MessageQuery) ([]schemas.Message, string, error) {
	end := len(k.messages)
	if q.Cursor != "" {
		end, _ = strconv.Atoi(q.Cursor)
	}
	from, next := max(0, end-q.Limit), ""
	if from > 0 {
		next = strconv.Itoa(from)
	}
	return slices.Clone(k.messages[from:end]), next, nil
}

// free is what a chat without usage says.
type free struct{ chats.Content }

func (free) ChatUsage(context.Context, string, int64) (schemas.Usage, error) {
	return schemas.Usage{}, nil
}

// Each answer follows its question, wherever a page begins.
func TestPagesOfQueuedQuestions(t *testing.T) {
	k := new(newestFirst)
	for name := range strings.FieldsSeq("Qa Aa Q1 Q2 A1 Q3 A2 A3 Qb Ab Q4 Q5 Q6 A4 A5 A6 Qc Ac Q7 Q8 A7") {
		m := message(map[byte]string{'Q': "user", 'A': "assistant"}[name[0]], name)
		m.RunID = name[1:]
		k.messages = append(k.messages, m)
	}
	const want = "Qa Aa Q1 A1 Q2 A2 Q3 A3 Qb Ab Q4 A4 Q5 A5 Q6 A6 Qc Ac Q7 A7 Q8"
	for limit := 6; limit <= len(k.messages); limit++ {
		var all []string
		for q := (record.MessageQuery{Limit: limit}); ; {
			chat, err := chats.New(k, free{}, nil, nil, words{}).Get(t.Context(), ann, 1, q)
			if err != nil || len(chat.Messages) == 0 || len(chat.Messages) > limit {
				t.Fatalf("%d messages at once: got %d, %v", limit, len(chat.Messages), err)
			}
			var page []string
			for i := range chat.Messages {
				page = append(page, chat.Messages[i].Content)
			}
			all = append(page, all...)
			if q.Cursor = chat.NextCursor; q.Cursor == "" {
				break
			}
		}
		if got := strings.Join(all, " "); got != want {
			t.Errorf("%d messages at once: got %s, want %s", limit, got, want)
		}
	}
}

// A page between a question and its answer, with nothing else in between, is as long as asked,
// also with answers that were made again.
func TestPagesBetweenQuestionAndAnswer(t *testing.T) {
	k := new(newestFirst)
	for i, run := range []string{"a", "a", "b", "b again", "c", "c", "d", "d again", "e", "e"} {
		m := message([]string{"user", "assistant"}[i%2], strconv.Itoa(i))
		m.RunID = run
		k.messages = append(k.messages, m)
	}
	for limit := 1; limit <= len(k.messages); limit++ {
		chat, err := chats.New(k, free{}, nil, nil, words{}).Get(t.Context(), ann, 1, record.MessageQuery{Limit: limit})
		if err != nil || len(chat.Messages) != limit {
			t.Errorf("got %d messages, %v, want %d", len(chat.Messages), err, limit)
		}
	}
}

// Answers that were made again have no questions of their runs. They do not shorten a page: not
// several versions in a row, nor one whose question had waited.
func TestPagesWithVersions(t *testing.T) {
	for name, runs := range map[string]string{
		"versions in a row":      "Qa Aa Qb Ab Ax Ay Az Qc Ac Qd Ad",
		"a question that waited": "Qa Aa Qb Qc Ab Ax Qd Ad Qe Ae",
	} {
		k := new(newestFirst)
		for name := range strings.FieldsSeq(runs) {
			m := message(map[byte]string{'Q': "user", 'A': "assistant"}[name[0]], name)
			m.RunID = name[1:]
			k.messages = append(k.messages, m)
		}
		for limit := 1; limit <= len(k.messages); limit++ {
			want := limit
			if first := k.messages[len(k.messages)-limit].Content; strings.Contains(runs, "Qb Qc Ab") && (first == "Qc" || first == "Ab") {
				want = 5 // from Ax on
			}
			chat, err := chats.New(k, free{}, nil, nil, words{}).Get(t.Context(), ann, 1, record.MessageQuery{Limit: limit})
			if err != nil || len(chat.Messages) != want {
				t.Errorf("%s, %d at once: got %d messages, %v, want %d", name, limit, len(chat.Messages), err, want)
			}
		}
	}
}
