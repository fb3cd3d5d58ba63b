package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/evaluate"
)

// Limits of an evaluation.
const (
	defaultEvalParallel = 2
	maxEvalParallel     = 16
	defaultEvalTimeout  = 5 * time.Minute
	maxEvalFile         = 1 << 20 // bytes of a file with a prompt or with checks
)

// evalRun has the options of chattray eval run.
type evalRun struct {
	page, prompt, checks, judge, output string
	parallel, limit                     int
	timeout                             time.Duration
	maxCost                             float64
	live, writes                        bool
	failOn                              []string
}

// errVerdict ends a command whose --fail-on names a verdict that was given.
var errVerdict = errors.New("there are verdicts that --fail-on names")

func (p *program) evalRunCommand() *cobra.Command {
	var o evalRun
	cmd := &cobra.Command{
		Use: "run FILE", Short: "Answer exported questions again, compare the answers and write a report", Args: cobra.ExactArgs(1),
		Long: `Answers the questions of a file of chattray eval export with the model of the settings (--model),
in a database of its own that is deleted at the end. Calls of tools get the recorded results.
It writes NAME.json and NAME.html with the answers side by side (docs/evaluate.md).`,
		RunE: p.with(func(ctx context.Context, c settings.Config, args []string, stdout io.Writer) error {
			return o.run(ctx, c, args[0], stdout)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&o.page, "page", "", "a page file to try; only questions on its page are answered")
	flags.StringVar(&o.prompt, "prompt", "", "a file with a system prompt to try; "+evaluate.PromptMark+" in it is where the former prompt goes")
	flags.StringVar(&o.checks, "checks", "", "a file with a JSON array of checks, for questions without checks of their own")
	flags.StringVar(&o.judge, "judge", "", "a model that compares the answers")
	flags.StringVar(&o.output, "output", "evaluation", "the report's name: two files, NAME.json and NAME.html, are written")
	flags.IntVar(&o.parallel, "parallel", defaultEvalParallel, fmt.Sprintf("how many questions are answered at a time, at most %d", maxEvalParallel))
	flags.IntVar(&o.limit, "limit", 0, "at most so many questions, the first ones; 0 is all")
	flags.DurationVar(&o.timeout, "timeout", defaultEvalTimeout, "how long an answer may take")
	flags.Float64Var(&o.maxCost, "max-cost", 0, "US dollars for answers and judgements, after which no more questions are asked; 0 is no limit")
	flags.BoolVar(&o.live, "live", false, "run the tools that change nothing, instead of using recorded results")
	flags.BoolVar(&o.writes, "live-writes", false, "with --live: run all tools, also those that change something, without approval")
	flags.StringSliceVar(&o.failOn, "fail-on", nil, "verdicts, comma separated, that make the exit code 1: worse, failed, unjudged, same, better")
	return cmd
}

// check returns what is wrong with the options.
func (o *evalRun) check(c settings.Config) error {
	switch {
	case o.parallel < 1 || o.parallel > maxEvalParallel:
		return fmt.Errorf("--parallel must be 1 to %d", maxEvalParallel)
	case o.limit < 0:
		return errors.New("--limit must not be negative")
	case o.timeout <= 0:
		return errors.New("--timeout must be more than 0")
	case !(o.maxCost >= 0) || math.IsInf(o.maxCost, 1): // also NaN
		return errors.New("--max-cost must be a number that is not negative")
	case o.writes && !o.live:
		return errors.New("--live-writes goes with --live")
	case o.judge != "" && c.Demo():
		return errors.New("--judge needs a model: the demo model cannot judge")
	case o.output == "":
		return errors.New("--output must not be empty")
	}
	for _, v := range o.failOn {
		if !slices.Contains(evaluate.Verdicts, evaluate.Verdict(v)) {
			return fmt.Errorf("--fail-on: there is no verdict %q", v)
		}
	}
	if o.maxCost > 0 {
		for _, name := range []string{defaultModel(c), o.judge} {
			if _, priced := prices(c)[name]; !priced && name != "" {
				return fmt.Errorf("--max-cost needs a price of the model %s (setting models)", name)
			}
		}
	}
	return nil
}

func (o *evalRun) run(ctx context.Context, c settings.Config, file string, stdout io.Writer) error {
	if err := o.check(c); err != nil {
		return err
	}
	records, err := stoppable(ctx, func() ([]*evaluate.Record, error) { return o.read(ctx, file) })
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "chattray-eval-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	replay, page, err := o.replayOptions(ctx, c, dir)
	if err != nil {
		return err
	}
	if page != "" {
		if records = slices.DeleteFunc(records, func(r *evaluate.Record) bool { return r.Page != page }); len(records) == 0 {
			return fmt.Errorf("%s: no question is on the page %s of %s", file, page, o.page)
		}
	}
	if o.judge == "" && slices.ContainsFunc(records, (*evaluate.Record).WantsJudge) {
		return errors.New("some checks need a judge: name a model with --judge")
	}
	if err := o.canWrite(); err != nil {
		return err
	}
	report, err := o.compare(ctx, o.settings(c, dir, page), dir, records, replay)
	if report == nil {
		return err
	}
	report.Setup = o.setup(c, file)
	return errors.Join(err, o.write(report, stdout))
}

func (o *evalRun) setup(c settings.Config, file string) evaluate.Setup {
	s := evaluate.Setup{File: file, Model: defaultModel(c), Page: o.page, Prompt: o.prompt, Judge: o.judge, Tools: "recorded"}
	if o.live {
		s.Tools = "live"
	}
	if o.writes {
		s.Tools = "live-writes"
	}
	return s
}

// read reads the records and the checks.
func (o *evalRun) read(ctx context.Context, path string) ([]*evaluate.Record, error) {
	var checks []evaluate.Check
	if o.checks != "" {
		raw, err := readSmall(ctx, o.checks)
		if err == nil {
			checks, err = evaluate.ReadChecks(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.checks, err)
		}
	}
	file, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err
	}
	defer file.Close()
	records, err := evaluate.Read(file, checks, o.limit)
	if err != nil {
		return nil, fmt.Errorf("%s:\n%w", path, err)
	}
	return records, nil
}

// replayOptions says how questions are answered, and which page is tried; "" is none.
func (o *evalRun) replayOptions(ctx context.Context, c settings.Config, dir string) (replay evaluate.ReplayOptions, page string, err error) {
	replay = evaluate.ReplayOptions{Live: o.live, Writes: o.writes}
	if o.prompt != "" {
		raw, err := readSmall(ctx, o.prompt)
		if err == nil && strings.TrimSpace(string(raw)) == "" {
			err = errors.New("is empty")
		}
		if err != nil {
			return replay, "", fmt.Errorf("%s: %w", o.prompt, err)
		}
		replay.Prompt = string(raw)
	}
	if o.page != "" {
		replay.Rebuild = true
		page, err = pagesWith(ctx, c.Pages, o.page, evalPages(dir))
	}
	return replay, page, err
}

// settings returns the settings of a service that answers only the questions of an
// evaluation: alone, with no fallback to another model, and with no limits for users.
func (o *evalRun) settings(c settings.Config, dir, page string) settings.Config {
	c.Replicas, c.NATS, c.Auth, c.Titles = "one", settings.NATS{}, settings.Auth{}, "first_words"
	c.ApproveAfterUntrusted, c.Timeouts.Run, c.Fallback = "off", o.timeout, nil
	c.Limits.BudgetUSD, c.Limits.BudgetTokens, c.Limits.RunsPerUser, c.Limits.StoragePerUser = 0, 0, 0, 0
	c.Models = slices.Clone(c.Models)
	for i := range c.Models {
		c.Models[i].Fallback = nil
	}
	if o.judge != "" && !slices.ContainsFunc(c.Models, func(m settings.Model) bool { return m.Name == o.judge }) {
		c.Models = append(c.Models, settings.Model{Name: o.judge})
	}
	if page != "" {
		c.Pages = evalPages(dir)
	}
	return c
}

// compare answers and compares the questions.
func (o *evalRun) compare(ctx context.Context, c settings.Config, dir string, records []*evaluate.Record, replay evaluate.ReplayOptions) (_ *evaluate.Report, err error) {
	log := slog.New(slog.DiscardHandler)
	pins, err := mcpPins(ctx, c)
	if err != nil {
		return nil, err
	}
	var answerers []evaluate.Answerer
	for n := range min(o.parallel, len(records)) {
		a, failed := newAnswerer(ctx, evalDatabase(c, dir, n), replay, pins, log)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, a.close(ctx)) }()
		answerers = append(answerers, a)
	}
	options := evaluate.Options{MaxCost: schemas.Dollars(o.maxCost)}
	if o.judge != "" {
		asker, failed := newAsker(c, o.timeout, log)
		if failed != nil {
			return nil, failed
		}
		options.Judge = &evaluate.Judge{Model: o.judge, Asker: asker}
	}
	return evaluate.Compare(ctx, records, answerers, options)
}

// reportFiles are the ends of the names of a report's files.
var reportFiles = []string{".json", ".html"}

// canWrite returns an error if the report could not be written, before answers are paid for.
func (o *evalRun) canWrite() error {
	for _, ext := range reportFiles {
		path := o.output + ext
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return fmt.Errorf("--output: %s is a folder", path)
		}
	}
	try, err := createBeside(o.output)
	if err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return errors.Join(try.Close(), os.Remove(try.Name()))
}

// write writes the report, and its summary to stdout. It fails for verdicts that
// --fail-on names.
func (o *evalRun) write(report *evaluate.Report, stdout io.Writer) error {
	for i, write := range []func(io.Writer) error{report.WriteJSON, report.WriteHTML} {
		if err := replaceFile(o.output+reportFiles[i], write); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(stdout, "%s%s.json and %s.html have the answers side by side\n", report.Text(), o.output, o.output); err != nil {
		return err
	}
	for _, v := range o.failOn {
		if report.Summary.Verdicts[evaluate.Verdict(v)] > 0 {
			return errVerdict
		}
	}
	return nil
}
