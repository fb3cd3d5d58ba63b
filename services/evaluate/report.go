package evaluate

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Report is the result of an evaluation. Its JSON is the format of the report file.
type Report struct {
	Version   int       `json:"version"`
	CreatedAt time.Time `json:"created_at"`
	// Setup says what was tried: the model, the files, how tools were answered.
	Setup   Setup   `json:"setup"`
	Summary Summary `json:"summary"`
	// Stopped says why not all questions were asked; empty if they were.
	Stopped string `json:"stopped,omitempty"`
	// Items are the questions, the worst verdicts first.
	Items []*Item `json:"items"`
}

// Setup says what was tried. Tools is recorded, live or live-writes.
type Setup struct {
	File   string `json:"file"`
	Model  string `json:"model"`
	Page   string `json:"page,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	Judge  string `json:"judge,omitempty"`
	Tools  string `json:"tools"`
}

// Summary counts verdicts, and adds up what the compared answers took.
type Summary struct {
	Questions int             `json:"questions"`
	Verdicts  map[Verdict]int `json:"verdicts"`
	// LeftOut are questions that were not asked.
	LeftOut         int           `json:"left_out"`
	Recorded        Total         `json:"recorded"`
	New             Total         `json:"new"`
	JudgeUsage      schemas.Usage `json:"judge_usage"`
	UnrecordedCalls int           `json:"unrecorded_calls"`
	RefusedCalls    int           `json:"refused_calls"`
}

// Total is what answers took together.
type Total struct {
	Usage      schemas.Usage `json:"usage"`
	DurationMS int64         `json:"duration_ms"`
}

// Item is a question with both answers.
type Item struct {
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
	Record  *Record `json:"record"`
	New     Reply   `json:"new"`
	// Checks are those without a judge.
	Checks     []Checked     `json:"checks,omitempty"`
	Judgements []Judgement   `json:"judgements,omitempty"`
	JudgeUsage schemas.Usage `json:"judge_usage"`
}

// Checked is the result of a check for both answers; an empty text means that it passes.
type Checked struct {
	Check    json.RawMessage `json:"check"`
	Name     string          `json:"-"`
	Recorded string          `json:"recorded,omitempty"`
	New      string          `json:"new,omitempty"`
}

// newItem returns the item of a record, without the content of its files.
func newItem(r *Record, reply Reply) *Item {
	shown := *r
	shown.Attachments = slices.Clone(r.Attachments)
	for i := range shown.Attachments {
		shown.Attachments[i].Content = ""
	}
	return &Item{Record: &shown, New: reply}
}

// check runs the checks on both answers. It returns the rubrics for a judge, and how many
// checks the recorded answer and the new one pass.
func (i *Item) check(r *Record, recorded *Answer) (rubrics []string, before, after int) {
	for n := range r.Checks {
		c := &r.Checks[n]
		if c.Judge != "" {
			rubrics = append(rubrics, c.Judge)
			continue
		}
		done := Checked{Check: schemas.Encode(c), Name: c.Name()}
		if err := c.Holds(recorded); err != nil {
			done.Recorded = err.Error()
		} else {
			before++
		}
		if err := c.Holds(&i.New.Answer); err != nil {
			done.New = err.Error()
		} else {
			after++
		}
		i.Checks = append(i.Checks, done)
	}
	return rubrics, before, after
}

// newReport returns the report of the items, of so many questions.
func newReport(items []*Item, questions int) *Report {
	report := &Report{Version: Version, CreatedAt: time.Now().UTC(), Items: items}
	s := &report.Summary
	s.Questions, s.LeftOut, s.Verdicts = questions, questions-len(items), make(map[Verdict]int)
	for _, v := range Verdicts {
		s.Verdicts[v] = 0
	}
	for _, i := range items {
		s.Verdicts[i.Verdict]++
		s.Recorded.add(i.Record.Usage, i.Record.DurationMS)
		s.New.add(i.New.Usage, i.New.DurationMS)
		s.JudgeUsage = s.JudgeUsage.Add(i.JudgeUsage)
		s.UnrecordedCalls += i.New.UnrecordedCalls
		s.RefusedCalls += i.New.RefusedCalls
	}
	slices.SortStableFunc(items, func(a, b *Item) int { return slices.Index(Verdicts, a.Verdict) - slices.Index(Verdicts, b.Verdict) })
	return report
}

func (t *Total) add(u schemas.Usage, ms int64) {
	t.Usage, t.DurationMS = t.Usage.Add(u), t.DurationMS+ms
}
