package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
)

// defaultCooldown is how long a model that failed is tried last.
const defaultCooldown = 30 * time.Second

// FallbackOptions say which models replace one that fails.
type FallbackOptions struct {
	// Order returns the models to ask, in their order, when a model fails; they
	// should not include the model itself. It is called once for each call of a
	// model.
	Order func(model string) []string
	// Window returns the size of a model's context window in tokens; 0 means
	// unknown. A nil Window means that all are unknown.
	Window func(model string) int
	// Cooldown is how long a model is tried last after its server was unreachable,
	// busy or silent, or refused our key. 0 means defaultCooldown.
	Cooldown time.Duration
	// Logger logs each call that another model takes over. Nil drops it.
	Logger *slog.Logger
}

// Fallback returns a model that calls next. When a call fails before its first
// token, Fallback repeats it with the next model of the order, unless the
// failure is not the model's: an invalid request, a cancel, a refusal by the
// content filter. A prompt that is too long for a model goes only to models
// whose window is larger or unknown. When all models fail, the error is the
// last model's. The first delta of a substitute has its name in Delta.Model.
func Fallback(next Model, o FallbackOptions) Model {
	o.Cooldown = cmp.Or(max(o.Cooldown, 0), defaultCooldown)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Window == nil {
		o.Window = func(string) int { return 0 }
	}
	return &fallback{FallbackOptions: o, next: next, cooling: make(map[string]time.Time)}
}

type fallback struct {
	FallbackOptions
	next Model

	mu      sync.Mutex
	cooling map[string]time.Time // the time until which a model is tried last
}

// Stream calls the request's model, and after a failure its substitutes.
func (f *fallback) Stream(ctx context.Context, req ModelRequest) iter.Seq2[Delta, error] {
	order := f.Order(req.Model)
	if len(order) == 0 {
		return f.next.Stream(ctx, req)
	}
	return func(yield func(Delta, error) bool) {
		asked, last := req.Model, error(nil)
		queue := f.queue(asked, order)
		for len(queue) > 0 {
			req.Model, queue = queue[0], queue[1:]
			if last != nil {
				f.Logger.WarnContext(ctx, "model call failed; trying another model", "model", asked, "fallback", req.Model, "error", last)
			}
			if req.Asked != nil && !req.Asked(req.Model, last) {
				return
			}
			began, failed := f.ask(ctx, asked, req, yield)
			switch {
			case failed == nil:
				return
			case ctx.Err() != nil && !errors.Is(failed, context.Cause(ctx)):
				yield(Delta{}, fmt.Errorf("agents: the call was cancelled: %w", context.Cause(ctx)))
				return
			case began || ctx.Err() != nil:
				yield(Delta{}, failed)
				return
			}
			last = failed
			queue = f.others(req.Model, queue, failed)
		}
		yield(Delta{}, last)
	}
}

// ask makes one call. It reports whether something was yielded, and returns an
// error that it did not yield; nil if the call is complete.
func (f *fallback) ask(ctx context.Context, asked string, req ModelRequest, yield func(Delta, error) bool) (began bool, failed error) {
	for d, err := range f.next.Stream(ctx, req) {
		if err != nil {
			return began, err
		}
		if !began && req.Model != asked {
			d.Model = req.Model
		}
		began = true
		if !yield(d, nil) {
			return began, nil
		}
	}
	if !began {
		return false, errTruncated
	}
	return began, nil
}

// queue returns the model and its substitutes; models that failed recently come
// last.
func (f *fallback) queue(model string, order []string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	ready, late := make([]string, 0, len(order)+1), []string(nil)
	for _, m := range append([]string{model}, order...) {
		if until, ok := f.cooling[m]; ok && now.Before(until) {
			late = append(late, m)
			continue
		}
		ready = append(ready, m)
	}
	return append(ready, late...)
}

// others returns the models of the queue that may succeed where this one failed.
func (f *fallback) others(model string, queue []string, failed error) []string {
	switch schemas.Visible(failed).Code {
	case schemas.CodeRateLimited, schemas.CodeUpstreamAuth, schemas.CodeUpstreamTimeout, schemas.CodeUpstreamUnavailable:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.cooling[model] = time.Now().Add(f.Cooldown)
		return queue
	case schemas.CodeUpstreamTruncated, schemas.CodeUpstreamError:
		return queue
	case schemas.CodeContextTooLong:
		var larger []string
		for _, m := range queue {
			if w := f.Window(m); w == 0 || w > f.Window(model) {
				larger = append(larger, m)
			}
		}
		return larger
	default:
		return nil
	}
}
