// Package concurrent runs branches of one piece of work side by side: All, Any
// and Race. It is not in agents, because tools use it too.
//
// Every function is bounded, and joins what it started: when it returns, its
// branches have ended. The one exception is a branch that ignores its cancelled
// context for longer than Options.Grace: it is abandoned and its outcome
// dropped. A panic in a branch is that branch's error.
package concurrent

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// The defaults of Options.
const (
	// defaultParallel is how many branches run at a time.
	defaultParallel = 8
	// defaultGrace is how long a call waits for a cancelled branch.
	defaultGrace = 300 * time.Millisecond
)

// The errors of branches without a result, and of calls without branches.
var (
	// ErrLost is the cause of the context of branches that Any and Race no longer need.
	ErrLost = errors.New("concurrent: another branch was first")
	errNone = errors.New("concurrent: there are no branches")
	errGone = errors.New("concurrent: a branch ended its goroutine")
)

// Options are the limits; a zero field is its default.
type Options struct {
	Parallel int
	Grace    time.Duration
}

// Branch is one piece of the work. Its context ends when its result is no longer needed.
type Branch[T any] func(ctx context.Context) (T, error)

// Result is how a branch ended.
type Result[T any] struct {
	Value T
	Err   error
}

// All runs every branch and returns their results in the order of the branches.
// A failing branch does not stop the others. When ctx is cancelled, no further
// branches start; the error of those without a result is the context's cause.
func All[T any](ctx context.Context, o Options, branches ...Branch[T]) []Result[T] {
	results := make([]Result[T], len(branches))
	ended := make([]bool, len(branches))
	run(ctx, o, branches, func(i int, r Result[T]) bool {
		results[i], ended[i] = r, true
		return false
	})
	for i := range results {
		if !ended[i] {
			results[i].Err = context.Cause(ctx)
		}
	}
	return results
}

// Any returns the value of the first branch that succeeds, and cancels the
// others at once. If all fail, the error joins theirs in the order of the
// branches; if ctx is cancelled, its cause is among them.
func Any[T any](ctx context.Context, o Options, branches ...Branch[T]) (T, error) {
	var won *Result[T]
	failed := make([]error, len(branches))
	run(ctx, o, branches, func(i int, r Result[T]) bool {
		if r.Err == nil {
			won = &r
			return true
		}
		failed[i] = r.Err
		return false
	})
	if won != nil {
		return won.Value, nil
	}
	var zero T
	return zero, cmp.Or(errors.Join(append(failed, context.Cause(ctx))...), errNone)
}

// Race returns the result of the branch that ends first, even if it failed, and
// cancels the others at once.
func Race[T any](ctx context.Context, o Options, branches ...Branch[T]) (T, error) {
	var first *Result[T]
	run(ctx, o, branches, func(_ int, r Result[T]) bool {
		first = &r
		return true
	})
	if first != nil {
		return first.Value, first.Err
	}
	var zero T
	return zero, cmp.Or(context.Cause(ctx), errNone)
}

type end[T any] struct {
	branch int
	result Result[T]
}

// run starts the branches in order, as many at a time as the options allow. It
// passes the end of each to take, on the caller's goroutine, until take returns
// false.
func run[T any](ctx context.Context, o Options, branches []Branch[T], take func(i int, r Result[T]) (enough bool)) {
	parallel := cmp.Or(max(o.Parallel, 0), defaultParallel)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ends := make(chan end[T], len(branches)) // with room for all, so that an abandoned branch never blocks
	next, running, enough := 0, 0, false
	stopped := ctx.Done()
	var grace <-chan time.Time
	for {
		for ; ctx.Err() == nil && next < len(branches) && running < parallel; next++ {
			running++
			go func(e end[T]) {
				defer func() { ends <- e }() // even if the branch ends its goroutine
				e.result = try(ctx, branches[e.branch])
			}(end[T]{next, Result[T]{Err: errGone}})
		}
		if running == 0 {
			return
		}
		select {
		case e := <-ends:
			running--
			if !enough && take(e.branch, e.result) {
				enough = true
				cancel(ErrLost)
			}
		case <-stopped:
			stopped = nil
			timer := time.NewTimer(cmp.Or(max(o.Grace, 0), defaultGrace))
			defer timer.Stop()
			grace = timer.C
		case <-grace:
			return
		}
	}
}

// try runs a branch and turns a panic into its error.
func try[T any](ctx context.Context, branch Branch[T]) (r Result[T]) {
	defer func() {
		if p := recover(); p != nil {
			r = Result[T]{Err: &PanicError{Value: p, Place: PanicPlace()}}
		}
	}()
	r.Value, r.Err = branch(ctx)
	return r
}
