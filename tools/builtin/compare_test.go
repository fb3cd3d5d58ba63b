package builtin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
)

// A model that is stopped because another one has answered is not said to have failed.
func TestStoppedModelHasNotFailed(t *testing.T) {
	call := &tools.Call{Name: "compare_models", Input: []byte(`{"question":"who?","mode":"any"}`)}
	call.Loop = func(ctx context.Context, label string, _ turn.Request) (turn.Conclusion, error) {
		if label == "a" {
			return conclusion("I am a")
		}
		<-ctx.Done()
		return turn.Conclusion{}, context.Cause(ctx)
	}
	got, err := builtin.CompareModels([]string{"a", "b"})[0].Run(t.Context(), call)
	if err != nil || !strings.HasSuffix(got.Text, "(The first good answer counted; not waited for: b.)") {
		t.Errorf("got %q, %v", got.Text, err)
	}
}

// A comparison that is stopped has no result, also if a model has answered.
func TestStoppedComparisonHasNoResult(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	call := &tools.Call{Name: "compare_models", Input: []byte(`{"question":"who?"}`)}
	call.Loop = func(ctx context.Context, label string, _ turn.Request) (turn.Conclusion, error) {
		if label == "b" {
			stop(stopped)
			return turn.Conclusion{}, context.Cause(ctx)
		}
		return conclusion("I am " + label)
	}
	got, err := builtin.CompareModels([]string{"a", "b"})[0].Run(ctx, call)
	if !errors.Is(err, stopped) || got.Text != "" {
		t.Errorf("got %q, %v; want the cause", got.Text, err)
	}
}
