package services

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unique"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/actions"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/prompt"
)

// briefing is what one turn begins with: the work for the loop, the filter for
// its text, and the payload types and ids of the chat.
type briefing struct {
	request    turn.Request
	filter     TextFilter
	types      []turn.PayloadType
	payloadIDs []string // in the order in which they were stored
	outside    bool     // the prompt has text from outside
}

// offer is what the request's page, tab and subtab allow.
func (r *Runs) offer(req *schemas.ChatRequest, user schemas.User) (pages.Offer, error) {
	c := req.Context
	offer, err := r.Pages.Resolve(c.String("current_page"), c.String("active_tab"), c.String("active_subtab"), user)
	if err == nil {
		offer.Tools = r.withClientTools(forMode(offer.Tools, c), req.ClientTools)
	}
	return offer, err
}

// briefApart is brief on a goroutine of its own, so that the deep stack that it
// takes is given back and not kept for as long as the model streams.
func (r *Runs) briefApart(ctx context.Context, one *run) (b *briefing, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic at %s: %v", concurrent.PanicPlace(), p)
			}
		}()
		b, err = r.brief(ctx, one)
	}()
	<-done
	return b, err
}

// outline is the part of a briefing for which nothing is read.
func (r *Runs) outline(one *run) (*briefing, pages.Offer, error) {
	offer, err := r.offer(one.req, one.owner)
	if err != nil {
		return nil, offer, fmt.Errorf("resolve the page: %w", err)
	}
	return &briefing{filter: r.NewFilter(offer.PayloadTypes, offer.Actions), types: offer.PayloadTypes}, offer, nil
}

// brief reads what the run needs and builds its prompt.
func (r *Runs) brief(ctx context.Context, one *run) (*briefing, error) {
	b, offer, err := r.outline(one)
	if err != nil {
		return nil, err
	}
	in := prompt.Input{Offer: offer, Context: one.req.Context, Owner: one.owner.ID, ConversationID: one.conversationID}
	if !one.newChat {
		if in.Payloads, err = r.Store.Payloads(ctx, one.owner.ID, one.conversationID); err != nil {
			return nil, fmt.Errorf("read the payloads: %w", err)
		}
		for _, p := range in.Payloads {
			b.payloadIDs = append(b.payloadIDs, p.PayloadID)
		}
	}
	system, outside := r.prompts.Build(ctx, in)
	b.outside = outside
	b.request = turn.Request{
		Model: one.req.Model, Temperature: r.Temperature, MaxTokens: r.MaxTokens, MaxIterations: r.MaxIterations, ToolOutput: r.ToolOutput,
		// Runs on one page have the same prompt within a minute; they share it.
		System: unique.Make(system + modeNote(in.Context)).Value(), Tools: offer.Tools,
		Facts: &turn.Facts{Context: in.Context, Payloads: offer.PayloadTypes, Actions: offer.Actions},
	}
	if b.request.Model == "" {
		b.request.Model = r.Model
	}
	if one.req.InteractionType == schemas.ActionExecuted {
		return b, nil
	}
	b.request.Messages, err = r.history.Within(r.history.Room(&b.request, r.Windows[b.request.Model])).Messages(ctx, prompt.HistoryInput{
		Owner: one.owner.ID, ConversationID: one.conversationID, UserMessageID: one.userMessageID, Current: one.userMessage,
		Alone: one.newChat && len(one.req.ConversationHistory) == 0,
		Summarize: func(ctx context.Context, text string, older []turn.Message) (string, error) {
			return r.summarize(ctx, b.request.Model, text, older)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	return b, nil
}

// summarize condenses older turns with one call of the model.
func (r *Runs) summarize(ctx context.Context, model, text string, older []turn.Message) (string, error) {
	return r.ask(ctx, prompt.SummaryRequest(model, text, older, r.Windows[model], r.MaxTokens))
}

// ask makes one call of the model without tools and returns its text.
func (r *Runs) ask(ctx context.Context, req turn.Request) (string, error) {
	var text strings.Builder
	for event, err := range r.Agent.Run(ctx, req) {
		if err != nil {
			return "", err
		}
		switch e := event.(type) {
		case turn.TextDelta:
			text.WriteString(e.Text)
		case turn.FullText:
			text.WriteString(e.Text)
		case turn.Cancelled:
			return "", e.Cause
		case turn.CallStart, turn.Thinking, turn.ToolArguments, turn.Reply, turn.ToolWaiting, turn.ToolAnswered, turn.ToolStart, turn.ToolProgress, turn.ToolComplete, turn.PayloadMade, turn.LoopComplete,
			turn.ThreadEvent, turn.ThreadStart, turn.ThreadEnd:
		}
	}
	return text.String(), nil
}

// repair asks the model once for the value that the end of its reply cut off,
// and for that alone.
func (r *Runs) repair(one *run, rec *recorder, brief *briefing) {
	if rec.write(&record.Write{}).Wait(one.ctx) != nil { // the reply is whole
		return
	}
	cut := rec.cut
	req := brief.request
	req.Tools, req.Steps, req.Writing, req.MaxIterations = nil, nil, nil, 1
	req.Messages = append(slices.Clip(req.Messages),
		turn.Message{Role: turn.Assistant, Content: rec.message() + "\n\n" + cut.Marker + " " + cut.Text},
		turn.Message{Role: turn.User, Content: "Your reply was cut off inside the JSON behind " + cut.Marker +
			" Write that JSON value again, complete and as short as it can be, and nothing else."})
	text, err := r.ask(one.ctx, req)
	if err != nil {
		r.Logger.Warn("ask for a cut off value again", "run_id", one.id, "error", err)
		return
	}
	rec.levels.openBlock("llm")
	rec.repaired(text)
	rec.levels.closeBlock("completed")
}

// actionCall is the click of a request; the chat is 0 while there is none yet.
func actionCall(req *schemas.ChatRequest, user schemas.User, conversationID int64) actions.Call {
	return actions.Call{Action: req.ActionMetadata.ActionIdentifier, User: user, ConversationID: conversationID, Context: req.Context, Data: req.ActionMetadata.ActionData}
}

// act runs the server action that the user clicked, without a call of the model.
// That it begins is on disk first, so
// that it never runs twice.
func (r *Runs) act(one *run, rec *recorder) outcome {
	rec.checkpoint, rec.checkpointN = &checkpoint{Action: true}, 1
	if err := rec.write(&record.Write{}).Wait(one.ctx); err != nil {
		return r.stopped(one, err)
	}
	done, err := r.Actions.Run(one.ctx, actionCall(one.req, one.owner, one.conversationID))
	if err != nil {
		return r.stopped(one, err)
	}
	rec.show(done.Text)
	rec.levels.closeBlock("completed")
	if done.Payload != nil {
		if named := rec.name(*done.Payload, "tool"); named != nil {
			rec.pending = append(rec.pending, *named)
		}
	}
	rec.stop = schemas.EndTurn
	return outcome{state: schemas.RunCompleted}
}
