package openai

import (
	"context"
	"errors"
	"fmt"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/openai/plain"
	"github.com/chattray/chattray/agents/openai/thoughts"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
)

// modelCall is one attempt at a reply.
type modelCall struct {
	*Model
	yield func(agents.Delta, error) bool
	shown bool // a token has been yielded
	gone  bool // the consumer stopped reading
	// release is called when the request has been sent.
	release func()
	told    said // by deltas: a message repeats it

	watch    *watch
	tools    assembly
	size     int
	finish   schemas.StopReason
	early    bool // there was more after a finish_reason
	thoughts thoughts.Splitter
	half     []byte // the escape of half a character, with which the last text ended
	refused  bool
	usage    schemas.Usage
}

// longSend is how long a request keeps its memory at most. One that is still being sent then has a
// server that does not read it, for which others must not wait.
const longSend = 20 * time.Second

// run makes the request and yields its reply. A nil error means that the whole
// reply was yielded or that the consumer stopped reading.
func (c *modelCall) run(ctx context.Context, req *agents.ModelRequest, q quirks) error {
	ctx, c.watch = watched(ctx, &c.cfg)
	defer c.watch.stop()
	defer c.release()
	defer time.AfterFunc(longSend, c.release).Stop()
	c.tools.limits = c.cfg.Limits
	r, err := c.open(ctx, req, q)
	if err != nil {
		return reason(ctx, err)
	}
	defer r.Close() // a failing close loses nothing
	for !c.gone {
		object, text, err := r.next()
		if err == nil {
			err = ctx.Err() // text in the buffer is not shown after a cancel
		}
		if err != nil {
			return c.end(reason(ctx, err))
		}
		err = c.take(object, text)
		switch {
		case err == nil:
		case unfinished(err, object) && r.holds(object): // the next line goes on with it
		case c.finish != "" && errors.Is(err, errUnreadable): // the reply is complete without it
		default:
			return err
		}
	}
	return nil
}

// take handles a chunk.
func (c *modelCall) take(object, text []byte) error {
	if text != nil {
		if text, ok := plain.Text(c.joined(text)); ok {
			c.told.text = c.told.text || text != ""
			words, thought := c.thoughts.Split(storable(text))
			return c.give(agents.Delta{Text: words, Thinking: thought}, len(words)+len(thought))
		}
	}
	return c.chunk(object)
}

// open makes the request. It drops go-openai's stream: the round tripper has given
// the body to a reader.
func (c *modelCall) open(ctx context.Context, req *agents.ModelRequest, q quirks) (*reader, error) {
	x := &exchange{request: req, quirks: q, watch: c.watch, release: c.release}
	err := concurrent.OnFreshStack(func() error {
		_, err := c.client.CreateChatCompletionStream(context.WithValue(ctx, exchangeKey{}, x), c.request(req, q))
		return err
	})
	return x.reader, err
}

// reason returns why a call failed: the cause set by our own timer, if one
// ended it.
func reason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && isOurs(cause) {
		return cause
	}
	return err
}

// give yields d, which holds size bytes.
func (c *modelCall) give(d agents.Delta, size int) error {
	if size == 0 || c.gone {
		return nil
	}
	if c.size += size; c.size > c.cfg.Limits.Reply {
		return fmt.Errorf("%w: more than %d bytes", errTooLarge, c.cfg.Limits.Reply)
	}
	if !c.shown {
		c.shown = true
		c.watch.token()
	}
	if c.finish != "" && !c.early { // some servers write it in every chunk
		c.early = true
		c.watch.token()
	}
	c.gone = !c.yield(d, nil)
	return nil
}

// chunk handles a chunk that is not plain.
func (c *modelCall) chunk(line []byte) error {
	ch, err := decode(line)
	if err != nil {
		if f, ok := errors.AsType[*fault](err); ok {
			err = f.without(c.cfg.hide)
		}
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	if ch.Usage != (schemas.Usage{}) { // some servers end with a usage of zeros
		c.usage = ch.Usage
	}
	for i := range ch.Choices {
		if ch.Choices[i].Index != 0 {
			continue // only one choice was requested
		}
		if err := c.choice(&ch.Choices[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *modelCall) choice(ch *choice) error {
	if p, full := ch.piece(); p != nil {
		if full {
			p.leaveOut(&c.told)
		} else {
			c.told.note(p)
		}
		if err := c.piece(p, full); err != nil {
			return err
		}
	}
	if ch.FinishReason == "" || ch.FinishReason == string(goopenai.FinishReasonNull) {
		return nil
	}
	stop, ok := stopReason(ch.FinishReason)
	if !ok {
		return unknownFinish(ch.FinishReason).without(c.cfg.hide)
	}
	c.finish = stop
	if !c.early {
		c.watch.phase(errTail, tailWait)
	}
	return nil
}

// piece yields the content of a delta or a message.
func (c *modelCall) piece(p *piece, full bool) error {
	words, thought, ok := written(c.joined(p.Content))
	if !ok {
		return protocol("content %.100q", p.Content).without(c.cfg.hide)
	}
	words, inText := c.thoughts.Split(words)
	thought += inText + p.thinking()
	if p.Refusal != "" {
		c.refused = true
		words += storable(p.Refusal)
	}
	if err := c.give(agents.Delta{Text: words, Thinking: thought, Full: full}, len(words)+len(thought)); err != nil {
		return err
	}
	if len(p.ToolCalls) > 0 {
		if err := c.rest(false); err != nil {
			return err
		}
	}
	for i := range p.ToolCalls {
		list, err := c.tools.add(&p.ToolCalls[i], i == 0)
		if err != nil {
			return err
		}
		if err := c.called(list); err != nil {
			return err
		}
	}
	return nil
}

// called yields fragments of calls.
func (c *modelCall) called(list []*agents.CallFragment) error {
	for _, f := range list {
		if err := c.give(agents.Delta{Call: f}, len(f.ID)+len(f.Name)+len(f.Arguments)+len(f.Extra)+1); err != nil {
			return err
		}
	}
	return nil
}

// rest yields the text that was held back for a tag that did not come.
func (c *modelCall) rest(cut bool) error {
	words, thought := c.thoughts.End(cut)
	return c.give(agents.Delta{Text: words, Thinking: thought}, len(words)+len(thought))
}

// end ends the reply. A reply with a finish_reason is complete, however the stream ended.
func (c *modelCall) end(err error) error {
	if c.finish == "" {
		if isOurs(err) {
			return err
		}
		return fmt.Errorf("%w: %w", errTruncated, err)
	}
	if c.refused && c.finish == schemas.EndTurn {
		c.finish = schemas.Refusal
	}
	if err := c.rest(c.finish != schemas.EndTurn); err != nil {
		return err
	}
	if c.half != nil {
		if err := c.give(agents.Delta{Text: "\uFFFD"}, 1); err != nil {
			return err
		}
	}
	if err := c.called(c.tools.settle(true)); err != nil {
		return err
	}
	c.gone = c.gone || !c.yield(agents.Delta{Stop: c.finish, Usage: c.usage}, nil)
	return nil
}
