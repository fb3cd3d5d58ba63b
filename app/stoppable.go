package app

import (
	"context"
	"os"
)

// stoppable returns what read returns. It does not wait for it when ctx ends: a file may be a
// pipe that nobody writes. Read then goes on until the process ends.
func stoppable[T any](ctx context.Context, read func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := read()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		return *new(T), context.Cause(ctx)
	}
}

// openInput opens a file that an operator names. A read of a pipe ends with ctx.
func openInput(ctx context.Context, path string) (*os.File, error) {
	file, err := stoppable(ctx, func() (*os.File, error) { return os.Open(path) }) //nolint:gosec // the operator names it
	if err == nil {
		context.AfterFunc(ctx, func() { _ = file.Close() })
	}
	return file, err
}
