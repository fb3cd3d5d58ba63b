package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/services/evaluate"
	"github.com/chattray/chattray/store"
)

// evalCommand exports rated answers and answers their questions again.
func (p *program) evalCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "eval", Short: "Learn from rated answers: export them, answer their questions again and compare"}
	cmd.AddCommand(p.evalExportCommand(), p.evalRunCommand())
	return cmd
}

func (p *program) evalExportCommand() *cobra.Command {
	var o evaluate.ExportOptions
	var since, output string
	cmd := &cobra.Command{
		Use: "export", Short: "Write the rated answers with all that is known of them as lines of JSON", Args: cobra.NoArgs,
		Long: `Writes the answers that users have rated: question, history, context, prompt, calls of tools
with their results, answer, rating and comment (docs/evaluate.md). The lines have personal
data, also with --anonymous: the texts are as the users wrote them.`,
		RunE: p.with(func(ctx context.Context, c settings.Config, _ []string, stdout io.Writer) error {
			var err error
			if o.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			if o.Rating != "" && o.Rating != "up" && o.Rating != "down" {
				return errors.New("--rating must be up or down")
			}
			if o.Limit < 0 {
				return errors.New("--limit must not be negative")
			}
			return withCurrent(ctx, c, func(data *store.Store) error {
				return toFile(output, stdout, func(to io.Writer) error {
					return evaluate.Write(to, evaluate.Export(ctx, data, data, o))
				})
			})
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "only answers since a day (2026-01-31), a time (RFC 3339) or a duration ago (720h)")
	flags.StringVar(&o.Rating, "rating", "", "only answers with this rating: up or down")
	flags.StringVar(&o.Page, "page", "", "only answers on this page")
	flags.IntVar(&o.Limit, "limit", 0, "at most so many answers, the oldest ones; 0 is all")
	flags.BoolVar(&o.Anonymous, "anonymous", false, "leave out the ids of users")
	flags.StringVar(&output, "output", "", "a new file for the lines; the default is the standard output")
	return cmd
}

// parseSince reads a day, a time, or how long ago it is; "" is the zero time.
func parseSince(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("--since %q is neither a day (2026-01-31), a time (RFC 3339) nor a duration (720h)", s)
}
