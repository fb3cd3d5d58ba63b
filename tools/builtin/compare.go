package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// Limits of compare_models.
const (
	maxCompared     = 5
	maxModelAnswer  = 8000 // characters of each answer in the result
	comparePrompt   = "Answer the user's question, in a few paragraphs at most."
	noModelAnswered = "no model answered"
)

// The modes of compare_models.
const (
	askAll  = "all"
	askAny  = "any"
	askRace = "race"
)

// CompareModels returns compare_models, which asks several of the models the
// same question, each in a thread of its own. It returns no tool if there is
// only one model. Only pages that name it offer it.
func CompareModels(models []string) []turn.Tool {
	if len(models) < 2 {
		return nil
	}
	c := comparison{models}
	return []turn.Tool{tools.New("compare_models", "Ask several language models the same question, at the same time, and get their answers to compare. "+
		"They see only the question, not this conversation. Models: "+strings.Join(models, ", ")+".",
		c.compare, tools.Words("Compare the models", "Compared the models|Compared the models {n} times"), tools.InChat(), tools.Idempotent(), tools.Untrusted(), tools.Retold(), tools.Timeout(questionsTimeout), tools.Refine(func(s *jsonschema.Schema) {
			sized(s, "question", 1, maxQuestion)
			names := make([]any, len(models))
			for i, m := range models {
				names[i] = m
			}
			least, most := 2, maxCompared
			s.Properties["models"].Items.Enum = names
			s.Properties["models"].MinItems, s.Properties["models"].MaxItems = &least, &most
			s.Properties["mode"].Enum = []any{askAll, askAny, askRace}
		}))}
}

type comparison struct{ models []string }

type modelQuestion struct {
	Question string   `json:"question" jsonschema:"the question, whole and understandable on its own"`
	Models   []string `json:"models,omitempty" jsonschema:"names of the models to ask; the first five of all if not given"`
	Mode     string   `json:"mode,omitempty" jsonschema:"all (default) waits for every answer; any takes the first good answer, race whatever ends first, and both stop the other models at once"`
}

// modelAnswer is a model's part of a comparison; by is the model that answered in its place, if
// one did.
type modelAnswer struct{ model, text, by string }

// heading names who answered.
func heading(model, by string) string {
	if by != "" {
		return "## " + model + " did not answer; " + by + " answered in its place"
	}
	return "## " + model
}

var errNoText = schemas.NewError(schemas.CodeUpstreamError, "the model gave no answer")

func (c comparison) compare(ctx context.Context, call *tools.Call, in modelQuestion) (tools.Result, error) {
	models := slices.Compact(slices.Sorted(slices.Values(in.Models)))
	if len(in.Models) == 0 {
		models = c.models[:min(len(c.models), maxCompared)]
	}
	switch {
	case strings.TrimSpace(in.Question) == "":
		return tools.Result{}, tools.Invalid("the question is empty")
	case len(models) < 2:
		return tools.Result{}, tools.Invalid("name at least two models")
	}
	branches := make([]concurrent.Branch[modelAnswer], len(models))
	failed := make([]atomic.Bool, len(models)) // before an answer counted
	for i, model := range models {
		branches[i] = func(ctx context.Context) (modelAnswer, error) {
			req := asking(turn.Facts{Purpose: turn.AnswerPart}, comparePrompt, in.Question, nil)
			req.Model = model
			reply, err := call.Converse(ctx, model, req)
			answer := modelAnswer{model, text.Ellipsis(strings.TrimSpace(reply.Text), maxModelAnswer), reply.Model}
			if err == nil && answer.text == "" {
				err = errNoText
			}
			failed[i].Store(err != nil && ctx.Err() == nil)
			return answer, err
		}
	}
	limits := concurrent.Options{Parallel: maxCompared}
	switch in.Mode {
	case askAny:
		first, err := concurrent.Any(ctx, limits, branches...)
		return firstAnswer(ctx, models, failed, first, err, "The first good answer counted")
	case askRace:
		first, err := concurrent.Race(ctx, limits, branches...)
		return firstAnswer(ctx, models, failed, first, err, "The model that ended first counted")
	default:
		return allAnswers(ctx, models, concurrent.All(ctx, limits, branches...))
	}
}

// allAnswers is the result of the mode all.
func allAnswers(ctx context.Context, models []string, results []concurrent.Result[modelAnswer]) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, context.Cause(ctx)
	}
	var b strings.Builder
	var last error
	failed := 0
	for i, r := range results {
		answer := r.Value.text
		switch {
		case errors.Is(r.Err, errNoText):
			answer = "(no answer)"
		case r.Err != nil:
			last = r.Err
			failed++
			answer = "(This model failed: " + schemas.Visible(r.Err).Message + ".)"
		}
		fmt.Fprintf(&b, "%s\n\n%s\n\n", heading(models[i], r.Value.by), answer)
	}
	if failed == len(results) {
		return tools.Result{}, noAnswer(last)
	}
	return tools.Text(strings.TrimSpace(b.String())), nil
}

// firstAnswer is the result of a mode in which one answer counts; rule says which.
func firstAnswer(ctx context.Context, models []string, failed []atomic.Bool, first modelAnswer, err error, rule string) (tools.Result, error) {
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, context.Cause(ctx)
	case err != nil:
		return tools.Result{}, noAnswer(err)
	}
	var none, others []string
	for i, m := range models {
		switch {
		case m == first.model:
		case failed[i].Load():
			none = append(none, m)
		default:
			others = append(others, m)
		}
	}
	if len(none) > 0 {
		rule += "; no answer came from: " + strings.Join(none, ", ")
	}
	if len(others) > 0 {
		rule += "; not waited for: " + strings.Join(others, ", ")
	}
	return tools.Text(heading(first.model, first.by) + "\n\n" + first.text + "\n\n(" + rule + ".)"), nil
}

func noAnswer(err error) error {
	seen := schemas.Visible(err)
	return schemas.NewError(seen.Code, noModelAnswered+": "+seen.Message).Because(err)
}
