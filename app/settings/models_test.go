package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestFallbackOf(t *testing.T) {
	c, _, err := sources{file: "models: [a, b, c, d, {name: own, fallback: [d, a]}, {name: none, fallback: []}]\nfallback: [a, b, c]"}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": {}, "d": {"a", "b", "c"}, "own": {"d", "a"}, "none": {}} {
		if diff := cmp.Diff(want, c.FallbackOf(model), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("substitutes for %s (-want +got):\n%s", model, diff)
		}
	}
}

func TestModelsThatDoNotGoTogether(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"an unknown substitute", "models: [a]\nfallback: [b]", "fallback: b is not in models"},
		{"a substitute twice", "models: [a, b]\nfallback: [a, b, a]", "fallback: a is given twice"},
		{"an unknown substitute for a model", "models: [{name: a, fallback: [b]}]", "models: a: fallback: b is not in models"},
		{"a model for itself", "models: [{name: a, fallback: [a]}]", "models: a: fallback: a model cannot replace itself"},
		{"a window without room", "models: [{name: a, context_window: 4096}]", "models: a: context_window: leaves no room for more than max_tokens"},
		{"a budget without prices", "limits: {budget_usd: 1}", "limits.budget_usd: has no effect"},
		{"a list that is none", "models: [{name: a, fallback: {b: c}}]", "models: entry 1: fallback: must be a list"},
		{"a budget that is no amount", "limits: {budget_usd: -1}", "limits.budget_usd: must be a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := sources{file: tt.file}.load(t)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}
