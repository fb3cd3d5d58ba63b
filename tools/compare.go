package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of compare_models.
const (
	maxCompared     = 5
	maxModelAnswer  = 8000 // characters of each answer that the result has
	comparePrompt   = "Answer the user's question, in a few paragraphs at most."
	noModelAnswered = "no model answered"
)

// CompareModels returns compare_models, which asks several of the models the
// same question, each in a thread of its own. It returns none if there is only
// one model. Pages have to name it.
func CompareModels(models []string) []turn.Tool {
	if len(models) < 2 {
		return nil
	}
	c := comparison{models}
	return []turn.Tool{New("compare_models", "Ask several language models the same question, at the same time, and get their answers to compare. "+
		"They see only the question, not this conversation. Models: "+strings.Join(models, ", ")+".",
		c.compare, Words("Compare the models", "Compared the models|Compared the models {n} times"), InChat(), Idempotent(), Untrusted(), Retold(), Timeout(questionsTimeout), Refine(func(s *jsonschema.Schema) {
			sized(s, "question", 1, maxQuestion)
			names := make([]any, len(models))
			for i, m := range models {
				names[i] = m
			}
			least, most := 2, maxCompared
			s.Properties["models"].Items.Enum = names
			s.Properties["models"].MinItems, s.Properties["models"].MaxItems = &least, &most
		}))}
}

type comparison struct{ models []string }

type modelQuestion struct {
	Question string   `json:"question" jsonschema:"the question, whole and understandable on its own"`
	Models   []string `json:"models,omitempty" jsonschema:"names of the models to ask; the first five of all if not given"`
}

func (c comparison) compare(ctx context.Context, call *Call, in modelQuestion) (Result, error) {
	models := slices.Compact(slices.Sorted(slices.Values(in.Models)))
	if len(in.Models) == 0 {
		models = c.models[:min(len(c.models), maxCompared)]
	}
	switch {
	case strings.TrimSpace(in.Question) == "":
		return Result{}, invalid("the question is empty")
	case len(models) < 2:
		return Result{}, invalid("name at least two models")
	}
	branches := make([]concurrent.Branch[turn.Conclusion], len(models))
	for i, model := range models {
		branches[i] = func(ctx context.Context) (turn.Conclusion, error) {
			req := asking(turn.Facts{Purpose: turn.AnswerPart}, comparePrompt, in.Question, nil)
			req.Model = model
			return call.Converse(ctx, model, req)
		}
	}
	results := concurrent.All(ctx, concurrent.Options{Parallel: maxCompared}, branches...)
	if ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	var b strings.Builder
	var last error
	failed := 0
	for i, r := range results {
		answer := text.Ellipsis(strings.TrimSpace(r.Value.Text), maxModelAnswer)
		if r.Err != nil {
			last = r.Err
			failed++
			answer = "(This model failed: " + schemas.Visible(r.Err).Message + ".)"
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", models[i], or(answer, "(no answer)"))
	}
	if failed == len(results) {
		return Result{}, schemas.NewError(schemas.Visible(last).Code, noModelAnswered+": "+schemas.Visible(last).Message).Because(last)
	}
	return Text(strings.TrimSpace(b.String())), nil
}
