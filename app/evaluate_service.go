package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/evaluate"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/services/usage"
	"github.com/chattray/chattray/store"
)

// answerer answers questions of an evaluation with a whole service of its own.
type answerer struct {
	*Service
	replay *evaluate.Replay
	watch  *telemetry.Telemetry
}

// evalDatabase returns the settings with a database of one answerer.
func evalDatabase(c settings.Config, dir string, n int) settings.Config {
	c.DatabaseURL = fmt.Sprintf("sqlite:%s/%d.db", filepath.ToSlash(dir), n)
	return c
}

// mcpPins returns the tools of MCP servers that the operator's database has, so that an
// evaluation does not trust what the service would not.
func mcpPins(ctx context.Context, c settings.Config) (pins []record.MCPTool, err error) {
	if len(enabledMCP(c)) == 0 {
		return nil, nil
	}
	err = withCurrent(ctx, c, func(data *store.Store) error {
		pins, err = data.MCPTools(ctx)
		return err
	})
	return pins, err
}

// newAnswerer builds the service of an answerer.
func newAnswerer(ctx context.Context, c settings.Config, o evaluate.ReplayOptions, pins []record.MCPTool, log *slog.Logger) (*answerer, error) {
	err := withStore(ctx, c, store.Options{}, func(data *store.Store) error {
		for _, pin := range pins {
			if _, err := data.SeeMCPTools(ctx, pin.Server, []record.MCPTool{pin}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	watch, err := telemetry.New(ctx, telemetry.Options{Version: version()})
	if err != nil {
		return nil, err
	}
	a := &answerer{watch: watch}
	a.Service, err = Build(ctx, c, Options{Runs: func(ro *runs.Options) {
		a.replay = evaluate.NewReplay(ro.Agent, o)
		ro.Agent, ro.Drafts = a.replay, nil // what is written goes into no document
	}}, watch, log)
	if err != nil {
		return nil, errors.Join(err, watch.Close(ctx))
	}
	return a, nil
}

func (a *answerer) close(ctx context.Context) error {
	a.end(ctx)
	return errors.Join(a.Close(), a.watch.Close(context.WithoutCancel(ctx)))
}

// Answer asks the question in a new chat and waits for the end of its run. When ctx ends
// the run is cancelled.
func (a *answerer) Answer(ctx context.Context, r *evaluate.Record) (evaluate.Reply, error) {
	user := schemas.User{ID: "evaluation", Name: "evaluation", Roles: r.Roles}
	a.replay.Load(r)
	var reply evaluate.Reply
	run, err := a.runs.Start(ctx, user, r.Request(), record.StartOptions{})
	if problem, refused := errors.AsType[*schemas.Error](err); refused {
		reply.Error = &schemas.MessageFailure{Code: problem.Code, Message: problem.Message}
		return reply, nil
	}
	if err != nil {
		return reply, err
	}
	if err := a.await(ctx, user, run.RunID); err != nil {
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
		defer cancel()
		_, stopped := a.runs.Cancel(stop, user, run.RunID)
		return reply, errors.Join(err, stopped)
	}
	return a.reply(ctx, user, run)
}

// await reads the run's events to their end.
func (a *answerer) await(ctx context.Context, user schemas.User, id string) error {
	events, err := a.runs.Follow(ctx, user, id, 0, 0)
	if err != nil {
		return err
	}
	for _, err := range events {
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// reply reads what the run has stored.
func (a *answerer) reply(ctx context.Context, user schemas.User, started schemas.Run) (reply evaluate.Reply, err error) {
	run, err := a.runs.Run(ctx, user, started.RunID)
	if err != nil {
		return reply, err
	}
	reply.Usage, reply.StopReason, reply.Error = run.Usage, run.StopReason, run.Error
	if run.EndedAt != nil {
		reply.DurationMS = run.EndedAt.Sub(run.CreatedAt).Milliseconds()
	}
	if run.State != schemas.RunCompleted && reply.Error == nil {
		reply.Error = &schemas.MessageFailure{Code: schemas.CodeInterrupted, Message: "the run ended as " + string(run.State)}
	}
	trace, err := a.runs.Diagnostics(ctx, user, run.RunID)
	if err != nil && !errors.Is(err, schemas.ErrNotFound) {
		return reply, err
	}
	reply.Model = trace.Model
	a.replay.Note(&reply)
	message, err := a.store.Message(ctx, user.ID, run.ConversationID, run.MessageID)
	if errors.Is(err, schemas.ErrNotFound) {
		return reply, nil // it has no answer
	}
	if err != nil {
		return reply, err
	}
	calls, err := a.store.ToolCalls(ctx, run.RunID)
	if err != nil {
		return reply, err
	}
	for i := range message.Payloads {
		if message.Payloads[i], err = a.store.Payload(ctx, user.ID, run.ConversationID, message.Payloads[i].PayloadID); err != nil {
			return reply, err
		}
	}
	reply.Answer = evaluate.AnswerOf(&message, calls)
	return reply, nil
}

// asker makes single calls of models.
type asker struct {
	model   agents.Model
	prices  map[string]usage.Price
	timeout time.Duration
}

func newAsker(c settings.Config, timeout time.Duration, log *slog.Logger) (*asker, error) {
	model, err := newModel(c, nil, newPromptRooms(c), log)
	return &asker{model, prices(c), timeout}, err
}

// Ask makes one call of the model, with what it has used.
func (a *asker) Ask(ctx context.Context, req turn.Request) (string, schemas.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	ledger := usage.NewLedger(a.prices)
	reply, err := turn.TextOf(agents.New(a.model, agents.Options{}).Run(turn.WithMeter(ctx, ledger.Add), req))
	return reply, ledger.Total(), err
}
