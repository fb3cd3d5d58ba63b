package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/userdata"
	"github.com/chattray/chattray/store"
)

// userCommand exports and deletes what is stored of a user, also while the service runs.
func (p *program) userCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "user", Short: "Export or delete everything of a user"}
	var confirm string
	remove := &cobra.Command{
		Use: "delete USER", Short: "Delete everything of a user; without --confirm it says how much that is",
		Long: `Deletes the chats of a user with everything in them, and all documents.
USER is the user_id that GET /api/me shows, such as "local|dev".`,
		Args: cobra.ExactArgs(1),
		RunE: p.with(func(ctx context.Context, c settings.Config, args []string, stdout io.Writer) error {
			return withUser(ctx, c, args[0], func(all *userdata.UserData, user schemas.User) error {
				size, err := all.Delete(ctx, user, confirm)
				if e, ok := errors.AsType[*schemas.Error](err); ok && e.Code == schemas.CodeConflict && confirm != size.Confirm {
					return fmt.Errorf("%s; to do it, repeat the command with --confirm %s", userdata.Warning(size), size.Confirm)
				}
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(stdout, "deleted %d chats, %d messages, %d documents\n", size.Chats, size.Messages, size.Documents)
				return err
			})
		}),
	}
	remove.Flags().StringVar(&confirm, "confirm", "", "what the command without it asks for")
	cmd.AddCommand(
		&cobra.Command{
			Use: "export USER", Short: "Print everything of a user as lines of JSON", Args: cobra.ExactArgs(1),
			RunE: p.with(func(ctx context.Context, c settings.Config, args []string, stdout io.Writer) error {
				return withUser(ctx, c, args[0], func(all *userdata.UserData, user schemas.User) error {
					for piece, err := range all.Export(ctx, user) {
						if err != nil {
							return err
						}
						if _, err := stdout.Write(piece); err != nil {
							return err
						}
					}
					return nil
				})
			}),
		},
		remove,
	)
	return cmd
}

// withUser opens the database, calls do, and closes it. A user of whom nothing is stored is
// an error: the id may be mistyped.
func withUser(ctx context.Context, c settings.Config, id string, do func(*userdata.UserData, schemas.User) error) error {
	return withCurrent(ctx, c, func(data *store.Store) error {
		docs := documents.New(data, data, data, data, data)
		all, user := userdata.New(data, data, data, docs, &chatRemover{data: data}), schemas.User{ID: id}
		known, err := all.Known(ctx, user)
		if err == nil && !known {
			err = fmt.Errorf("nothing is stored of a user %q; USER is the user_id that GET /api/me shows, such as \"local|dev\"", id)
		}
		if err != nil {
			return err
		}
		return do(all, user)
	})
}

// chatRemover deletes chats in the database. Their runs may be those of another process,
// the service, which looks every few seconds for runs to be cancelled.
type chatRemover struct {
	data     *store.Store
	deadline time.Time // until when it waits for the end of runs
}

const (
	// cancelWait is how long a command waits for the end of a user's runs. Without a
	// service none ends.
	cancelWait = 10 * time.Second
	cancelLook = 100 * time.Millisecond
)

// Delete deletes a chat after all runs of the user have ended. What runs write later is
// refused.
func (r *chatRemover) Delete(ctx context.Context, user schemas.User, id int64) error {
	if r.deadline.IsZero() {
		r.deadline = time.Now().Add(cancelWait)
	}
	requested := make(map[string]bool)
	for {
		open, err := r.data.OpenRunsOf(ctx, user.ID)
		if err != nil {
			return err
		}
		if len(open) == 0 || time.Now().After(r.deadline) {
			return r.data.DeleteChat(ctx, user.ID, id)
		}
		for _, run := range open {
			if requested[run] {
				continue
			}
			if err := r.data.RequestCancel(ctx, run); err != nil && !errors.Is(err, schemas.ErrNotFound) {
				return err
			}
			requested[run] = true
		}
		if err := concurrent.Pause(ctx, cancelLook); err != nil {
			return err
		}
	}
}
