package turn

import (
	"context"

	"github.com/chattray/chattray/schemas"
)

// ModelCall is one finished call of a model, successful or not. Model is the
// model that was called; Usage is what its server counted, or an estimate if it
// counted nothing. It has no cost.
type ModelCall struct {
	Model string
	Usage schemas.Usage
}

type meterKey struct{}

// WithMeter returns a context in which every call of a model is reported to
// meter, whether the loop, a tool or a summary makes it. meter is called on the
// goroutine of the call and must be safe for concurrent use.
func WithMeter(ctx context.Context, meter func(ModelCall)) context.Context {
	return context.WithValue(ctx, meterKey{}, meter)
}

// Metered reports a call to the meter of ctx, if there is one.
func Metered(ctx context.Context, call ModelCall) {
	if meter, ok := ctx.Value(meterKey{}).(func(ModelCall)); ok {
		meter(call)
	}
}
