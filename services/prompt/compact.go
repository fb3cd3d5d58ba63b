package prompt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
)

const (
	// summaryPause is how long a model makes no summary of a chat after one that it did not
	// make in time.
	summaryPause = 10 * time.Minute
	// maxLateSummaries bounds the chats that are remembered.
	maxLateSummaries = 1_000
)

// lateSummaries are the chats of which a model did not make a summary in time: the next
// questions to it do not wait for another one, which would be late too. It is safe for
// concurrent use.
type lateSummaries struct {
	mu sync.Mutex
	at map[summaryKey]time.Time
}

// summaryKey is a chat, and the model that is to condense it.
type summaryKey struct {
	chat  int64
	model string
}

// note records that a summary was late.
func (l *lateSummaries) note(key summaryKey, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.at) >= maxLateSummaries {
		clear(l.at)
	}
	l.at[key] = now
}

// lately reports whether one was late a short time ago.
func (l *lateSummaries) lately(key summaryKey, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, late := l.at[key]
	if late && now.Sub(at).Abs() >= summaryPause {
		delete(l.at, key)
		late = false
	}
	return late
}

// compactInput returns the text to condense, within so many characters if limit is not 0: the
// summary so far and the older turns. If there are too many turns, the oldest are left out.
func compactInput(past historyRead, older []historyTurn, limit int) string {
	var parts []string
	size, room, sofar := 0, maxCompactInput, past.summary.Text
	if limit > 0 { // the summary may be of a model with a larger window
		sofar = text.Ellipsis(sofar, limit/2)
		room = min(room, limit-indentedSize(sofar)-compactFrame)
	}
	for _, t := range slices.Backward(older) {
		part := fmt.Sprintf("%s:\n%s\n", t.role, cutText(t.text, maxCompactMessage))
		if size += indentedSize(part); size > room && len(parts) > 0 {
			break
		}
		parts = append(parts, part)
	}
	left := len(older) - len(parts)
	var b strings.Builder
	if sofar != "" {
		writeData(&b, "summary so far", sofar)
	}
	if left > 0 || past.unread {
		b.WriteString("(some older messages are left out)\n")
	}
	slices.Reverse(parts)
	writeData(&b, "conversation", strings.Join(parts, "\n"))
	return b.String()
}

// summary returns the chat's running summary, or the zero value if none is valid. A
// summary that covers a superseded message is not valid. The only error is that the
// database is not available.
func (h *History) summary(ctx context.Context, in HistoryInput) (record.Summary, error) {
	s, err := h.store.Summary(ctx, in.Owner, in.ConversationID)
	if err == nil && s.Text != "" && s.Through != "" && s.Through != in.UserMessageID {
		var last schemas.Message
		if last, err = h.store.Message(ctx, in.Owner, in.ConversationID, s.Through); err == nil && last.Status != schemas.MessageSuperseded {
			return s, nil
		}
	}
	if errors.Is(err, record.ErrUnavailable) {
		return record.Summary{}, err
	}
	return record.Summary{}, nil
}
