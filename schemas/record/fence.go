package record

import "context"

// Fence names an attempt of a run. The zero Fence is for a user's own request.
type Fence struct {
	RunID   string
	Attempt int
}

type fenceKey struct{}

// WithFence returns a context for the work of that attempt. Once the run has a
// newer attempt or has ended, every write to the database with it, or with a
// context derived from it, fails with ErrFenced and changes nothing.
func WithFence(ctx context.Context, f Fence) context.Context {
	return context.WithValue(ctx, fenceKey{}, f)
}

// FenceOf returns the fence of a context; zero for none.
func FenceOf(ctx context.Context) Fence {
	f, _ := ctx.Value(fenceKey{}).(Fence)
	return f
}
