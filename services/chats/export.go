package chats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
)

// The formats of an export.
const (
	formatMarkdown = "markdown"
	formatJSON     = "json"
)

// Limits of an export.
const (
	// exportPage is how many messages are read at once.
	exportPage = 100
	// maxExport is how many messages are exported; the export says if some are left out.
	maxExport = 20_000
	// maxOpen is how far from a page's end a question may be whose answer is on the next page:
	// other questions that waited for their turn, and their answers, are in between.
	maxOpen = 40
	// exportWait is how long an export waits for another one of the user. It is longer than
	// a client that does not read may hold an export.
	exportWait = 15 * time.Second
	// maxTitle is the length of a title in characters.
	maxTitle = 200
)

// errExporting is for an export that has waited for another one.
var errExporting = &schemas.Error{Code: schemas.CodeBusy, Message: "another export of a chat is under way; try again later", RetryAfter: 15}

// Export returns a chat and, piece by piece, its text in a format: the current
// messages, oldest first. The pieces end with an error when the rest cannot be
// read. As each export holds a page of messages, which may be large, those of one user are
// read one after the other; one that would wait longer than exportWait has the code busy.
func (c *Chats) Export(ctx context.Context, user schemas.User, id int64, format string) (schemas.Chat, iter.Seq2[[]byte, error], error) {
	chat, err := c.conversations.Chat(ctx, user.ID, id)
	if err != nil {
		return schemas.Chat{}, nil, err
	}
	pages := c.pages(ctx, user, id)
	if format == formatJSON {
		return chat, c.inTurn(ctx, user, asJSON(chat, pages)), nil
	}
	return chat, c.inTurn(ctx, user, asMarkdown(chat, pages)), nil
}

// inTurn begins to read the pieces when no other export of the user is read.
func (c *Chats) inTurn(ctx context.Context, user schemas.User, pieces iter.Seq2[[]byte, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		waiting, cancel := context.WithTimeoutCause(ctx, exportWait, errExporting)
		unlock, err := c.exports.Lock(waiting, user.ID)
		cancel()
		if err != nil {
			yield(nil, err)
			return
		}
		defer unlock()
		pieces(yield)
	}
}

// pages reads the messages of a chat. With the last page it reports whether
// there are more.
func (c *Chats) pages(ctx context.Context, user schemas.User, id int64) iter.Seq2[[]schemas.Message, error] {
	return func(yield func([]schemas.Message, error) bool) {
		q := record.MessageQuery{Limit: exportPage, Forward: true}
		var open []schemas.Message // may have their answers on the next page
		for read := 0; read < maxExport; read += exportPage {
			list, next, err := c.conversations.Messages(ctx, user.ID, id, q)
			list = afterQuestions(append(open, list...))
			if open = nil; next != "" && read+exportPage < maxExport {
				at := firstOpen(list)
				list, open = list[:at], list[at:]
			}
			c.addWords(list, user)
			if !yield(list, err) || err != nil || next == "" {
				return
			}
			q.Cursor = next
		}
		yield(nil, errCut)
	}
}

// firstOpen returns the place of the first question near the end of ordered messages that
// has no answer among them.
func firstOpen(list []schemas.Message) int {
	for i := max(0, len(list)-maxOpen); i < len(list); i++ {
		if m := &list[i]; m.Role == "user" && m.RunID != "" && (i+1 == len(list) || list[i+1].RunID != m.RunID) {
			return i
		}
	}
	return len(list)
}

// errCut ends the pages of a chat that is longer than an export.
var errCut = fmt.Errorf("chats: an export has at most %d messages", maxExport)

// asJSON writes the chat with its messages as GET /api/chats/{id} does.
func asJSON(chat schemas.Chat, pages iter.Seq2[[]schemas.Message, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		chat.Messages, chat.NextCursor = nil, ""
		head, err := json.Marshal(chat)
		if err != nil || !yield(append(head[:len(head)-1], `,"messages":[`...), nil) {
			return
		}
		first, end := true, "]}\n"
		for list, err := range pages {
			if errors.Is(err, errCut) {
				end = `],"truncated":true}` + "\n"
			} else if err != nil {
				yield(nil, err)
				return
			}
			for i := range list {
				piece, err := json.Marshal(&list[i])
				if !first {
					piece = append([]byte{','}, piece...)
				}
				if first = false; !yield(piece, err) || err != nil {
					return
				}
			}
		}
		yield([]byte(end), nil)
	}
}

// asMarkdown writes the chat for people to read: who said what, when, with
// which files and tools.
func asMarkdown(chat schemas.Chat, pages iter.Seq2[[]schemas.Message, error]) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		if !yield([]byte("# "+text.EscapeMarkdown(text.Line(chat.Title, maxTitle))+"\n"), nil) {
			return
		}
		for list, err := range pages {
			if errors.Is(err, errCut) {
				yield(fmt.Appendf(nil, "\n---\n\n*Only the first %d messages are here.*\n", maxExport), nil)
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range list {
				if !yield([]byte(markdownOf(&list[i])), nil) {
					return
				}
			}
		}
	}
}

// roleNames are the headings of messages in Markdown.
var roleNames = map[string]string{"user": "You", "assistant": "Assistant"}

func markdownOf(m *schemas.Message) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s · %s\n", roleNames[m.Role], m.CreatedAt.UTC().Format(time.DateTime+" UTC"))
	for _, a := range m.Attachments {
		fmt.Fprintf(&b, "\n*Attached: %s (%s, %d bytes)*\n", text.EscapeMarkdown(a.Name), text.EscapeMarkdown(a.MIME), a.Size)
	}
	var tools []string
	for _, t := range m.ToolHistory {
		name := "`" + strings.ReplaceAll(t.ToolName, "`", "") + "`"
		if t.IsError {
			name += " (failed)"
		}
		tools = append(tools, name)
	}
	if len(tools) > 0 {
		fmt.Fprintf(&b, "\n*Tools: %s*\n", strings.Join(tools, ", "))
	}
	content := m.Content
	if m.Role != "user" { // a user may write about markers
		content = text.WithoutMarkers(content)
	}
	if content = strings.TrimSpace(content); content != "" {
		b.WriteString("\n" + fences.Closed(content) + "\n")
	}
	switch {
	case m.Error != nil:
		fmt.Fprintf(&b, "\n*Failed: %s*\n", text.EscapeMarkdown(m.Error.Message))
	case m.Status == schemas.MessageCancelled:
		b.WriteString("\n*Stopped.*\n")
	case m.Status == schemas.MessageIncomplete:
		b.WriteString("\n*Incomplete.*\n")
	}
	return b.String()
}
