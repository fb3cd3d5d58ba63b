package evaluate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Verdict says how a new answer compares with the recorded one.
type Verdict string

// The verdicts, in the order of the report. Unjudged answers are only shown side by side.
const (
	Worse    Verdict = "worse"
	Failed   Verdict = "failed"
	Unjudged Verdict = "unjudged"
	Same     Verdict = "same"
	Better   Verdict = "better"
)

// Verdicts are all verdicts, the ones to look at first.
var Verdicts = []Verdict{Worse, Failed, Unjudged, Same, Better}

// Reply is a new answer, or why there is none.
type Reply struct {
	Answer

	Model      string                  `json:"model,omitempty"`
	StopReason schemas.StopReason      `json:"stop_reason,omitempty"`
	Error      *schemas.MessageFailure `json:"error,omitempty"`
	Usage      schemas.Usage           `json:"usage"`
	DurationMS int64                   `json:"duration_ms"`
	// Prompt is where the system prompt is from: recorded, built or file.
	Prompt       string `json:"prompt,omitempty"`
	PromptDigest string `json:"prompt_digest,omitempty"`
	// UnrecordedCalls are calls without a recorded result, RefusedCalls those that might
	// have changed something, MissingTools recorded tools that are no longer offered.
	UnrecordedCalls int      `json:"unrecorded_calls,omitempty"`
	RefusedCalls    int      `json:"refused_calls,omitempty"`
	MissingTools    []string `json:"missing_tools,omitempty"`
}

// Answerer answers the question of a record, one at a time. The error is for an evaluation
// that cannot go on; a question that has no answer is a Reply with an Error.
type Answerer interface {
	Answer(ctx context.Context, r *Record) (Reply, error)
}

// Options bound a comparison.
type Options struct {
	// Judge is nil for none.
	Judge *Judge
	// MaxCost is what new answers and judgements may cost together; once it is spent, no
	// more questions are asked. 0 is no limit.
	MaxCost schemas.USD
}

// comparison is the state of one comparison.
type comparison struct {
	Options
	mu    sync.Mutex
	spent schemas.USD
	err   error
}

// Compare answers the questions again, as many at a time as there are answerers, and
// compares the answers. If ctx ends or an answerer fails, the report has the questions
// that were answered before, and the error says why it ends.
func Compare(ctx context.Context, records []*Record, answerers []Answerer, o Options) (*Report, error) {
	c := &comparison{Options: o}
	items := make([]*Item, len(records))
	next := make(chan int)
	var work sync.WaitGroup
	for _, a := range answerers {
		work.Go(func() {
			for i := range next {
				items[i] = c.item(ctx, a, records[i])
			}
		})
	}
	for i := range records {
		next <- i
	}
	close(next)
	work.Wait()
	report := newReport(slices.DeleteFunc(items, func(i *Item) bool { return i == nil }), len(records))
	report.Stopped = c.stopped()
	return report, errors.Join(c.err, context.Cause(ctx))
}

// over reports whether no more questions are asked.
func (c *comparison) over(ctx context.Context) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return ctx.Err() != nil || c.err != nil || c.MaxCost > 0 && c.spent >= c.MaxCost
}

// stopped says why questions were left out; it is empty if the cost was not the reason.
func (c *comparison) stopped() string {
	if c.MaxCost > 0 && c.spent >= c.MaxCost {
		return fmt.Sprintf("the limit of the cost, %.2f US dollars, is reached", float64(c.MaxCost)/float64(schemas.Dollar))
	}
	return ""
}

func (c *comparison) spend(u schemas.Usage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spent += u.CostUSD
}

// item answers and compares one question; nil if it is not asked any more.
func (c *comparison) item(ctx context.Context, a Answerer, r *Record) *Item {
	if c.over(ctx) {
		return nil
	}
	began := time.Now()
	reply, err := a.Answer(ctx, r)
	if err != nil || ctx.Err() != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if ctx.Err() == nil {
			c.err = errors.Join(c.err, err)
		}
		return nil
	}
	c.spend(reply.Usage)
	if reply.DurationMS == 0 {
		reply.DurationMS = time.Since(began).Milliseconds()
	}
	item := newItem(r, reply)
	if reply.Error != nil {
		item.Verdict, item.Reason = Failed, reply.Error.Message
		return item
	}
	c.judge(ctx, item, r)
	return item
}

// judge gives the item its verdict: by the checks that the two answers pass, and if those
// do not decide, by the model that judges.
func (c *comparison) judge(ctx context.Context, item *Item, r *Record) {
	recorded := &Answer{Text: r.Answer, Calls: r.Calls, Payloads: r.Payloads}
	rubrics, before, after := item.check(r, recorded)
	switch {
	case after > before:
		item.Verdict, item.Reason = Better, fmt.Sprintf("passes %d of %d checks; the recorded answer passes %d", after, len(item.Checks), before)
	case after < before:
		item.Verdict, item.Reason = Worse, fmt.Sprintf("passes %d of %d checks; the recorded answer passes %d", after, len(item.Checks), before)
	case len(item.Checks) > 0:
		item.Verdict, item.Reason = Same, fmt.Sprintf("both pass %d of %d checks", after, len(item.Checks))
	default:
		item.Verdict = Unjudged
	}
	if c.Judge == nil || after != before {
		return
	}
	if len(rubrics) == 0 && len(item.Checks) == 0 {
		rubrics = []string{defaultRubric}
	}
	c.ask(ctx, item, r, recorded, rubrics)
}

// ask asks the model that judges by each rubric. One that is worse decides, then one
// that is better.
func (c *comparison) ask(ctx context.Context, item *Item, r *Record, recorded *Answer, rubrics []string) {
	var found []Verdict
	for _, rubric := range rubrics {
		j, used := c.Judge.compare(ctx, r, rubric, recorded, &item.New.Answer)
		c.spend(used)
		item.JudgeUsage = item.JudgeUsage.Add(used)
		item.Judgements = append(item.Judgements, j)
		found = append(found, j.Verdict)
	}
	for _, v := range []Verdict{Worse, Better, Same, Unjudged} {
		if at := slices.Index(found, v); at >= 0 {
			if v != Unjudged || item.Verdict != Same { // a judge that fails leaves what the checks say
				item.Verdict = v
			}
			item.Reason = item.Judgements[at].summary()
			return
		}
	}
}

// summary returns why the verdict was given.
func (j *Judgement) summary() string {
	switch {
	case j.Error != "":
		return "the judge has no verdict: " + j.Error
	case j.Disagrees:
		return "the judge's verdict depends on the order of the answers"
	default:
		return "the judge: " + j.Reasons[0]
	}
}
