// Package prepare gathers what a run needs to begin: its page's offer, the
// system prompt and the conversation, as the request for the loop. Package
// prompt writes the prompt's text, package answer records the answer.
package prepare

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"unique"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/actions"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/prompt"
)

// Options says what runs are given. Pages, Actions and NewFilter must be set; the
// zero value of the others is their default.
type Options struct {
	Pages    *pages.Pages
	Actions  *actions.Actions
	Research prompt.Research
	// Documents reads the documents that prompts show; nil shows none.
	Documents prompt.Documents
	// Drafts stores blocks while the model writes them; if nil, they are not
	// shown before the tool has run.
	Drafts  *documents.Documents
	Prompt  prompt.Options
	History prompt.HistoryOptions
	// NewFilter returns a filter for one run.
	NewFilter func(types []turn.PayloadType, actions []schemas.Action, fits func(action string, data json.RawMessage) error) answer.TextFilter

	// Model is used if a request names none; Models are the models that it may
	// name.
	Model         string
	Models        []string
	Temperature   float64
	MaxTokens     int
	MaxIterations int
	ToolOutput    int
	// Windows says by model how many tokens it takes. A model that is not in it
	// takes any number.
	Windows map[string]int
}

// OffersModel reports whether a request may name the model.
func (o *Options) OffersModel(name string) bool {
	return name == o.Model || slices.Contains(o.Models, name)
}

// Store reads chats.
type Store interface {
	// Payloads returns the chat's payloads without their data: message by message, those
	// of one in its order. Those of superseded messages and of the run except are left
	// out. An unknown chat, or another user's, is schemas.ErrNotFound.
	Payloads(ctx context.Context, owner string, id int64, except string) ([]schemas.CustomPayload, error)
}

// Ask makes one call of the model without tools and returns its text.
type Ask func(ctx context.Context, req turn.Request) (string, error)

// Preparer prepares runs. It is safe for concurrent use.
type Preparer struct {
	Options
	chats   Store
	prompts *prompt.Builder
	history *prompt.History
	ask     Ask
}

// New returns a Preparer that reads chats and messages, and asks for summaries of
// older turns.
func New(o Options, chats Store, messages prompt.HistoryStore, ask Ask, log *slog.Logger) *Preparer {
	return &Preparer{
		Options: o, chats: chats, prompts: prompt.NewBuilder(o.Research, o.Documents, o.Prompt),
		history: prompt.NewHistory(messages, o.History, log), ask: ask,
	}
}

// Outline is the part of Prepare that reads nothing from the store.
func (p *Preparer) Outline(ctx context.Context, run answer.Run) (*answer.Prepared, error) {
	prepared, _, err := p.outline(ctx, run)
	return prepared, err
}

func (p *Preparer) outline(ctx context.Context, run answer.Run) (*answer.Prepared, pages.Offer, error) {
	offer, err := p.Pages.OfferFor(run.Request.Context, run.Request.ClientTools, run.Owner)
	if err != nil {
		return nil, offer, fmt.Errorf("resolve the page: %w", err)
	}
	offer.Actions = p.Actions.Offered(ctx, run.Owner, run.Request.Context, offer.Actions)
	page := actions.Page{Own: offer.Handlers}
	return &answer.Prepared{Filter: p.NewFilter(offer.PayloadTypes, offer.Actions, page.Fits), Types: offer.PayloadTypes, Actions: offer.Actions}, offer, nil
}

// Prepare reads what the run needs and builds its prompt.
func (p *Preparer) Prepare(ctx context.Context, run answer.Run) (*answer.Prepared, error) {
	b, offer, err := p.outline(ctx, run)
	if err != nil {
		return nil, err
	}
	req := run.Request
	note, err := p.targetNote(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("read the target: %w", err)
	}
	offer.Note += note
	in := prompt.Input{Offer: offer, Context: req.Context, Owner: run.Owner.ID, ConversationID: run.ChatID}
	if !run.NewChat {
		// A later attempt has the prompt of the first one, without what that has made.
		if in.Payloads, err = p.chats.Payloads(ctx, run.Owner.ID, run.ChatID, run.ID); err != nil {
			return nil, fmt.Errorf("read the payloads: %w", err)
		}
		for _, payload := range in.Payloads {
			b.PayloadIDs = append(b.PayloadIDs, payload.PayloadID)
		}
	}
	system, outside := p.prompts.Build(ctx, in)
	b.Outside = outside
	b.Request = turn.Request{
		Model: req.Model, Temperature: p.Temperature, MaxTokens: p.MaxTokens, MaxIterations: p.MaxIterations, ToolOutput: p.ToolOutput,
		// Runs on one page within a minute have the same prompt, so they share it.
		System: unique.Make(system).Value(), Tools: offer.Tools,
		Facts: &turn.Facts{Context: in.Context, Payloads: offer.PayloadTypes, Actions: offer.Actions},
	}
	if b.Request.Model == "" {
		b.Request.Model = p.Model
	}
	if req.InteractionType == schemas.ActionExecuted {
		return b, nil
	}
	if b.Request.Messages, b.Request.Facts.Question, err = p.messages(ctx, run, b); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	return b, nil
}

// targetNote tells the model what the blocks are that the request names: what its answer
// is written into, or what the message is about.
func (p *Preparer) targetNote(ctx context.Context, run answer.Run) (string, error) {
	page := run.Request.Context
	document, blocks := turn.Answer(page)
	if document != "" {
		kind, err := p.Drafts.TargetType(ctx, run.Owner, page)
		return pages.ContentNote(kind), err
	}
	var about []string
	for _, id := range blocks {
		b, _, err := p.Drafts.Find(ctx, run.Owner, id)
		if err != nil {
			return "", err
		}
		if b.DocumentID != "" {
			about = append(about, id+" ("+b.Type+")")
		}
	}
	return pages.AboutNote(about), nil
}

// messages returns the conversation, within what the model takes besides the rest of
// the request, and the question to answer.
func (p *Preparer) messages(ctx context.Context, run answer.Run, b *answer.Prepared) ([]turn.Message, string, error) {
	model := b.Request.Model
	window := p.Windows[model]
	return p.history.Within(p.history.Room(&b.Request, window)).Messages(ctx, prompt.HistoryInput{
		Owner: run.Owner.ID, ConversationID: run.ChatID, UserMessageID: run.UserMessageID, Current: run.UserMessage,
		Alone:        run.NewChat && len(run.Request.ConversationHistory) == 0,
		Model:        model,
		Warn:         func(warning string) { b.Warnings = append(b.Warnings, warning) },
		SummaryLimit: prompt.SummaryLimit(window, p.MaxTokens),
		Summarize: func(ctx context.Context, text string, older []turn.Message) (string, error) {
			return p.ask(ctx, prompt.SummaryRequest(model, text, older, window, p.MaxTokens))
		},
	})
}
