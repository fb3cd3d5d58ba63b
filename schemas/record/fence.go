package record

import "context"

// Fence names an attempt of a run. The zero Fence is of a user's own request.
type Fence struct {
	RunID   string
	Attempt int
}

type fenceKey struct{}

// WithFence returns a context for the work of that attempt. Whatever is written to
// the database with it, or with a context made of it, is ErrFenced and changes nothing
// once the run has a newer attempt or has ended.
func WithFence(ctx context.Context, f Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, f)
}

// FenceOf returns the fence of a context; zero for none.
func FenceOf(ctx context.Context) Fence {
	f, _ := ctx.Value(fenceKey{}).(Fence)
	return f
}
