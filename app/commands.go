package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/relay"
	"github.com/chattray/chattray/schemas"
)

// program has what the commands share.
type program struct {
	Program
	configFile string
	// alone is true if the process runs nothing else, so that its log may be
	// that of libraries which have one for the process.
	alone bool
}

// Limits of the commands.
const (
	healthcheckTimeout = 3 * time.Second
	defaultTokenTTL    = time.Hour
	maxTokenTTL        = 366 * 24 * time.Hour
)

// newRoot returns the command chattray with all its commands.
func newRoot(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:   "chattray",
		Short: "The service behind a chat tray",
		Long: `chattray answers the chat tray of a web application: it takes a message and
the page's context, runs a bounded agent loop with tools, and streams typed
events. With nothing configured it serves a demo on http://127.0.0.1:8080.

Every setting is a flag, an environment variable and a key of the file given
with --config; "chattray help settings" lists them all.`,
		Example: `  chattray
  chattray --config chattray.yaml
  OPENAI_API_KEY=… chattray --model gpt-4.1-mini`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          p.with(p.serve),
	}
	root.SetOut(p.Stdout)
	root.SetErr(p.Stdout)
	flags := root.PersistentFlags()
	flags.StringVar(&p.configFile, "config", "", "settings file (YAML)")
	settings.AddFlags(flags)
	flags.SortFlags = false

	root.AddCommand(
		&cobra.Command{Use: "serve", Short: "Serve the chat (the default)", Args: cobra.NoArgs, RunE: p.with(p.serve)},
		p.migrateCommand(),
		&cobra.Command{
			Use: "import FILE", Short: "Load streams, reports and articles from JSON lines", Long: importHelp,
			Args: cobra.ExactArgs(1), RunE: p.with(importFile),
		},
		&cobra.Command{
			Use: "backup FILE", Short: "Copy the SQLite database into a new file, also while the service runs",
			Args: cobra.ExactArgs(1), RunE: p.with(backup),
		},
		p.configCommand(),
		p.mcpCommand(),
		p.tokenCommand(),
		p.userCommand(),
		p.evalCommand(),
		&cobra.Command{
			Use: "openapi", Short: "Print the contract of the API", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := p.Stdout.Write(p.Contract)
				return err
			},
		},
		&cobra.Command{Use: "healthcheck", Short: "Ask the running service whether it is alive", Args: cobra.NoArgs, RunE: p.with(healthcheck)},
		&cobra.Command{
			Use: "version", Short: "Print the version", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				_, err := fmt.Fprintln(p.Stdout, "chattray", version())
				return err
			},
		},
		&cobra.Command{Use: "settings", Short: "Every setting with its flag, variable and default", Long: settings.Help()},
	)
	return root
}

// refuseGroups makes an unknown command of a command an error, and a missing one. Without
// RunE, cobra takes both for success, and a script goes on.
func refuseGroups(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.HasSubCommands() {
			cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
				return fmt.Errorf("%s needs a command; see %[1]s --help", cmd.CommandPath())
			}
		}
	}
}

// sayHelp adds to the errors of wrong arguments where to read how a command is called.
func sayHelp(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		sayHelp(sub)
	}
}

// action is the work of a command that needs the settings.
type action func(ctx context.Context, c settings.Config, args []string, stdout io.Writer) error

// with runs an action with the settings. Invalid settings are an error.
func (p *program) with(do action) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		config, _, err := p.load(cmd)
		if err != nil {
			return err
		}
		return do(cmd.Context(), config, args, p.Stdout)
	}
}

// load reads the settings, as settings.Load does.
func (p *program) load(cmd *cobra.Command) (config settings.Config, origins []settings.Origin, err error) {
	type loaded struct {
		config  settings.Config
		origins []settings.Origin
		err     error
	}
	l, err := stoppable(cmd.Context(), func() (l loaded, _ error) {
		l.config, l.origins, l.err = settings.Load(cmd.Root().PersistentFlags(), p.Environ, p.configFile)
		return l, nil
	})
	return l.config, l.origins, errors.Join(err, l.err)
}

func (p *program) migrateCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "migrate", Short: "Bring the database up to date, or show its state"}
	cmd.AddCommand(
		&cobra.Command{Use: "up", Short: "Apply the missing migrations (serve does it too)", Args: cobra.NoArgs, RunE: p.with(migrateUp)},
		&cobra.Command{Use: "status", Short: "List the migrations", Args: cobra.NoArgs, RunE: p.with(migrateStatus)},
	)
	return cmd
}

func (p *program) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Print or check the settings"}
	cmd.AddCommand(
		&cobra.Command{
			Use: "print", Short: "Print every setting and its source, with secrets masked", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, origins, wrong := p.load(cmd)
				return errors.Join(settings.Print(p.Stdout, origins), wrong)
			},
		},
		&cobra.Command{
			Use: "check", Short: "Report everything that is wrong with the settings and the page files", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				c, _, err := p.load(cmd)
				wrong := telemetry.CheckEnvironment(p.Environ)
				if err == nil { // the page files are read with the settings
					_, err = newOffer(c, nil, nil, nil, nil, slog.New(slog.DiscardHandler))
					err = errors.Join(err, relay.CheckCreds(c.NATS.Creds))
				}
				if err = errors.Join(err, wrong); err != nil {
					return err
				}
				for _, warning := range c.Warnings() {
					if _, err := fmt.Fprintln(p.Stdout, "warning:", warning); err != nil {
						return err
					}
				}
				_, err = fmt.Fprintln(p.Stdout, "the settings are valid")
				return err
			},
		},
	)
	return cmd
}

func (p *program) tokenCommand() *cobra.Command {
	var user string
	var roles []string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "token --user NAME", Short: "Print a token signed with auth.jwt_secret, for development", Args: cobra.NoArgs,
		RunE: p.with(func(_ context.Context, c settings.Config, _ []string, stdout io.Writer) error {
			if c.Auth.JWTSecret == "" {
				return errors.New("auth.jwt_secret is not set, so no token would be accepted")
			}
			if ttl <= 0 || ttl > maxTokenTTL {
				return fmt.Errorf("--ttl must be more than 0 and at most %s", maxTokenTTL)
			}
			now := time.Now()
			token, err := auth.SignToken(c.Auth.JWTSecret, c.Auth.Audience, schemas.User{Name: user, Roles: roles}, now, now.Add(ttl))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(stdout, token)
			return err
		}),
	}
	cmd.Flags().StringVar(&user, "user", "", "name of the user")
	cmd.Flags().StringSliceVar(&roles, "role", nil, "role of the user, such as admin; may be repeated")
	cmd.Flags().DurationVar(&ttl, "ttl", defaultTokenTTL, "how long the token is valid")
	if err := cmd.MarkFlagRequired("user"); err != nil {
		panic(err) // the flag is declared above
	}
	return cmd
}

// healthcheck asks the service on the configured address, from this machine.
func healthcheck(ctx context.Context, c settings.Config, _ []string, stdout io.Writer) error {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, healthcheckTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := new(http.Transport).RoundTrip(request) // no proxy, no redirects
	if err != nil {
		return err
	}
	if err := answer.Body.Close(); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the service answers %s", answer.Status)
	}
	_, err = fmt.Fprintln(stdout, "healthy")
	return err
}
