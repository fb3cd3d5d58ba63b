package turn

import (
	"context"

	"github.com/chattray/chattray/schemas"
)

// ModelCall is one call of a model that is over, whole or not. Model is the one
// that was called; Usage is what its server counted, or an estimate where it
// counted nothing. It has no cost.
type ModelCall struct {
	Model string
	Usage schemas.Usage
}

type meterKey struct{}

// WithMeter returns a context whose calls of models are reported to meter,
// whoever makes them: the loop, a tool, a summary. meter is called on the
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
