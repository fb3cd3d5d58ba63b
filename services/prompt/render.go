package prompt

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of the service's notes about an earlier message, in characters unless
// noted otherwise.
const (
	maxNoteTools  = 20 // tool calls, payloads or warnings of a message
	maxNoteInput  = 200
	maxNoteOutput = 400
	maxNoteAction = 1_000
)

// unansweredNote is added to a question whose run was cancelled before it had
// an answer, so that the model does not answer it along with the next one.
const unansweredNote = "the user stopped this before it was answered"

// olderImages and refusedImages say why images are not shown again, and hiddenImages says it to
// the user.
const (
	olderImages   = "older images are not shown again"
	refusedImages = "images from before a refused answer are not shown again; if one is needed, ask the user to attach it again"
	hiddenImages  = "The model did not get the images from before the refused answer again. Attach them again if it needs them."
)

// historyTurn is an earlier message in the form that the model gets.
type historyTurn struct {
	id     string
	place  int // in the store's order
	role   turn.Role
	text   string
	images []turn.Image
}

func (t *historyTurn) overhead() int { return turnTokens + imageTokens*len(t.images) }

func (t *historyTurn) message() turn.Message {
	return turn.Message{Role: t.role, Content: t.text, Images: t.images}
}

// render makes turns from earlier messages. Empty messages are left out. The
// files of the newest messages are shown again, but no images from before an answer that was
// refused; if that was the newest answer, the user is told. Those that the current message has
// are not missing.
func (h *History) render(ctx context.Context, in HistoryInput, list []pastMessage, current []turn.Image) ([]historyTurn, error) {
	turns := make([]historyTurn, 0, len(list))
	files, images, left, answered, hidden := 0, maxHistoryImages, olderImages, false, false
	for _, past := range slices.Backward(list) {
		m := past.Message
		t := historyTurn{id: m.ID, place: past.place, role: turn.Assistant}
		if m.Role != "user" {
			if t.text = assistantText(&m); isRefused(&m) {
				images, left = 0, refusedImages
			}
		} else {
			t.role = turn.User
			msg := turn.Message{Content: userText(&m)}
			if len(m.Attachments) > 0 && files < maxHistoryFiles {
				files++
				hides, err := h.showFiles(ctx, in, &m, &msg, images, left, current)
				if err != nil {
					return nil, err
				}
				hidden = hides && left == refusedImages || hidden
				images -= len(msg.Images)
			} else if len(m.Attachments) > 0 {
				msg.Content = withNotes(msg.Content, fileNotes(m.Attachments))
			}
			if !answered && m.RunID != "" {
				msg.Content = withNotes(msg.Content, []string{unansweredNote})
			}
			t.text, t.images = msg.Content, msg.Images
		}
		if t.text != "" || len(t.images) > 0 {
			turns = append(turns, t)
		}
		answered = m.Role != "user"
	}
	if hidden && in.Warn != nil && refusedLast(list) {
		in.Warn(hiddenImages)
	}
	slices.Reverse(turns)
	return turns, nil
}

// showFiles adds an earlier message's files to msg, with at most so many images and a note about
// those that are left out, or notes their names if they cannot be read. Hidden reports whether
// images were left out that the current message does not have. The only error is that the
// database is not available.
func (h *History) showFiles(ctx context.Context, in HistoryInput, m *schemas.Message, msg *turn.Message, images int, left string, current []turn.Image) (hidden bool, err error) {
	err = h.addFiles(ctx, in, m, msg)
	if errors.Is(err, record.ErrUnavailable) {
		return false, err
	}
	if err != nil {
		msg.Content = withNotes(msg.Content, fileNotes(m.Attachments))
		return false, nil
	}
	shown := min(len(msg.Images), images)
	hidden = slices.ContainsFunc(msg.Images[shown:], func(i turn.Image) bool { return !slices.ContainsFunc(current, i.Same) })
	msg.Images = msg.Images[:shown]
	if hidden {
		msg.Content = withNotes(msg.Content, []string{left})
	}
	return hidden, nil
}

// refusedLast reports whether the newest answer was refused.
func refusedLast(list []pastMessage) bool {
	for _, past := range slices.Backward(list) {
		if past.Role != "user" {
			return isRefused(&past.Message)
		}
	}
	return false
}

// isRefused reports whether the model's server took nothing of an answer's prompt. If an image
// is the reason, which the model cannot read or see, every later question with it is refused too.
func isRefused(m *schemas.Message) bool {
	return m.Status == schemas.MessageError && m.Content == "" && m.Error != nil &&
		(m.Error.Code == schemas.CodeUpstreamError || m.Error.Code == schemas.CodeContentFilter)
}

// userTurn returns a user's message, without its files, in the form that the model gets.
func userTurn(m *schemas.Message) turn.Message {
	return turn.Message{Role: turn.User, Content: userText(m)}
}

func userText(m *schemas.Message) string {
	switch {
	case m.InteractionType == schemas.ValueSelected:
		return withNotes(m.Content, []string{"the user chose this from the suggested values"})
	case m.Action == nil:
		return m.Content
	}
	note := fmt.Sprintf("the user clicked the action %s", text.Line(m.Action.ActionIdentifier, maxPromptName))
	if len(m.Action.ActionData) > 0 {
		note += " with " + shortJSON(m.Action.ActionData, maxNoteAction)
	}
	return withNotes(m.Content, []string{note})
}

func fileNotes(files []schemas.AttachmentInfo) []string {
	notes := make([]string, len(files))
	for i, f := range files {
		notes[i] = fmt.Sprintf("attached: %s (%s, %d bytes), not shown again", text.Line(f.Name, maxPromptName), text.Line(f.MIME, maxPromptName), f.Size)
	}
	return notes
}

var blankLines = regexp.MustCompile(`\n[ \t]*\n\s*\n`)

// assistantText returns an answer without markers, and with notes about its
// other parts: tool calls, payloads, how it ended, what the user was told.
func assistantText(m *schemas.Message) string {
	answer := strings.TrimSpace(blankLines.ReplaceAllString(text.StripMarkers(m.Content), "\n\n"))
	var notes []string
	for i, c := range m.ToolHistory {
		if i == maxNoteTools {
			notes = append(notes, text.Plural(len(m.ToolHistory)-i, "more tool call"))
			break
		}
		notes = append(notes, toolNote(&c))
	}
	payloads := m.Payloads
	if len(payloads) == 0 && m.CustomPayload != nil && m.CustomPayload.PayloadID != "" {
		payloads = []schemas.CustomPayload{*m.CustomPayload}
	}
	for _, p := range payloads[:min(len(payloads), maxNoteTools)] {
		note := fmt.Sprintf("payload %s (%s): %s", text.Line(p.PayloadID, maxPromptName), text.Line(p.Type, maxPromptName), text.Line(p.Summary, maxManifestSummary))
		if p.Outcome != "" {
			note += " [" + text.Line(p.Outcome, maxPromptName) + " by the user]"
		}
		notes = append(notes, note)
	}
	switch m.Status {
	case schemas.MessageCancelled:
		notes = append(notes, "the user stopped this answer")
	case schemas.MessageIncomplete:
		notes = append(notes, "this answer was cut off")
	case schemas.MessageError:
		note := "this answer failed"
		if m.Error != nil {
			note += ": " + text.Line(m.Error.Message, maxNoteOutput) + " (" + string(m.Error.Code) + ")"
		}
		notes = append(notes, note)
	case schemas.MessageComplete, schemas.MessageSuperseded:
	}
	for _, w := range m.Warnings[:min(len(m.Warnings), maxNoteTools)] {
		notes = append(notes, "the user was told: "+text.Line(w, maxNoteOutput))
	}
	return withNotes(answer, notes)
}

func toolNote(c *schemas.ToolCall) string {
	outcome := "gave"
	if c.IsError {
		outcome = "failed with"
	}
	return fmt.Sprintf("tool %s %s %s: %s", text.Line(c.ToolName, maxPromptName), shortJSON(c.Input, maxNoteInput), outcome, text.Line(c.Output, maxNoteOutput))
}

// withNotes adds notes after a message's text, each on a line of its own.
func withNotes(text string, notes []string) string {
	if len(notes) == 0 {
		return text
	}
	var b strings.Builder
	if text != "" {
		b.WriteString(text + "\n\n")
	}
	b.WriteString("<note>\n")
	for _, note := range notes {
		b.WriteString("- " + note + "\n")
	}
	b.WriteString("</note>")
	return b.String()
}
