// Package modeltest is the contract of agents.Model as tests: Contract for any
// model, Protocol for adapters of the OpenAI streaming protocol, run against
// the scripted HTTP upstream in the sub-package upstream. Script is a model in
// memory for tests of what is built on agents.
package modeltest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// ErrScriptEnd is a Script's error when its replies are used up.
var ErrScriptEnd = errors.New("modeltest: the script has no more replies")

// Reply writes one scripted reply. yield returns false when the reader has stopped.
type Reply func(ctx context.Context, req agents.ModelRequest, yield func(agents.Delta) bool) error

// Script is a Model that gives its replies in order. It is safe for concurrent
// use.
type Script struct {
	mu       sync.Mutex
	replies  []Reply
	requests []agents.ModelRequest
}

// NewScript returns a Script of these replies.
func NewScript(replies ...Reply) *Script { return &Script{replies: replies} }

// Push appends replies.
func (s *Script) Push(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = append(s.replies, replies...)
}

// Requests returns the requests so far, in order.
func (s *Script) Requests() []agents.ModelRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Stream gives the next reply.
func (s *Script) Stream(ctx context.Context, req agents.ModelRequest) iter.Seq2[agents.Delta, error] {
	return func(yield func(agents.Delta, error) bool) {
		s.mu.Lock()
		req.Messages = slices.Clone(req.Messages)
		s.requests = append(s.requests, req)
		reply := Fail(ErrScriptEnd)
		if len(s.replies) > 0 {
			reply, s.replies = s.replies[0], s.replies[1:]
		}
		s.mu.Unlock()
		reading := true
		err := reply(ctx, req, func(d agents.Delta) bool {
			reading = reading && yield(d, nil)
			return reading
		})
		if err != nil && reading {
			yield(agents.Delta{}, err)
		}
	}
}

// scriptUsage is the usage of every scripted reply that ends.
var scriptUsage = schemas.Usage{InputTokens: 10, OutputTokens: 2, TotalTokens: 12}

// Say writes the texts and ends the turn.
func Say(texts ...string) Reply { return Then(Deltas(texts...), Stop(schemas.EndTurn)) }

// Ask writes a text, when it is not empty, asks for the calls, and stops.
func Ask(text string, calls ...turn.ToolCall) Reply {
	deltas := make([]agents.Delta, 0, len(calls)+1)
	if text != "" {
		deltas = append(deltas, agents.Delta{Text: text})
	}
	for i, c := range calls {
		deltas = append(deltas, agents.Delta{Call: &agents.CallFragment{Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments}})
	}
	return Then(Raw(deltas...), Stop(schemas.EndTurn))
}

// Deltas writes texts without an end.
func Deltas(texts ...string) Reply {
	deltas := make([]agents.Delta, len(texts))
	for i, t := range texts {
		deltas[i].Text = t
	}
	return Raw(deltas...)
}

// Raw writes deltas unchanged.
func Raw(deltas ...agents.Delta) Reply {
	return func(_ context.Context, _ agents.ModelRequest, yield func(agents.Delta) bool) error {
		for _, d := range deltas {
			if !yield(d) {
				return nil
			}
		}
		return nil
	}
}

// Stop ends a reply with usage 10 + 2 tokens.
func Stop(reason schemas.StopReason) Reply {
	return Raw(agents.Delta{Stop: reason, Usage: scriptUsage})
}

// Fail ends a reply with err.
func Fail(err error) Reply {
	return func(context.Context, agents.ModelRequest, func(agents.Delta) bool) error { return err }
}

// Hang waits until the call is cancelled.
func Hang() Reply { return Wait(nil) }

// Wait waits for ch to be closed, or until the call is cancelled.
func Wait(ch <-chan struct{}) Reply {
	return func(ctx context.Context, _ agents.ModelRequest, _ func(agents.Delta) bool) error {
		select {
		case <-ch:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Then joins parts to one reply.
func Then(parts ...Reply) Reply {
	return func(ctx context.Context, req agents.ModelRequest, yield func(agents.Delta) bool) error {
		reading := true
		for _, part := range parts {
			err := part(ctx, req, func(d agents.Delta) bool {
				reading = yield(d)
				return reading
			})
			if err != nil || !reading {
				return err
			}
		}
		return nil
	}
}
