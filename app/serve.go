package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/api/connections"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/services/runs"
)

// shutdownGrace bounds closing connections, and then sending spans. A service that stops
// has as long for both after runs.DefaultStopWait.
const shutdownGrace = 5 * time.Second

// serve builds the service and answers requests until ctx ends. Then it shuts
// down gracefully.
func (p *program) serve(ctx context.Context, c settings.Config, _ []string, stdout io.Writer) error {
	log, flush := telemetry.NewLogger(stdout, c.LogLevel, c.LogFormat)
	defer flush()
	for _, warning := range c.Warnings() {
		log.Warn(warning)
	}
	if p.alone {
		telemetry.LogErrors(log)
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // whoever reads the log may end; the process would too
	}
	watch, err := telemetry.New(ctx, telemetry.Options{Environ: p.Environ, Version: version()})
	if err != nil {
		return unlessStopped(ctx, err, log)
	}
	s, err := Build(ctx, c, Options{Contract: p.Contract}, watch, log)
	if err != nil {
		return unlessStopped(ctx, err, log)
	}
	err = errors.Join(s.listen(ctx, c, log), s.Close())
	last, cancel := s.last(ctx)
	defer cancel()
	if lost := watch.Close(last); lost != nil {
		log.Warn("the last spans could not be sent", "error", lost)
	}
	return err
}

// unlessStopped returns what kept the service from starting; nil if it was told to stop. The
// next start does the rest.
func unlessStopped(ctx context.Context, err error, log *slog.Logger) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	log.Info("stopped before the service listened")
	return nil
}

// errDeserted ends a process whose next start serves the database again.
var errDeserted = errors.New("no process serves the database any longer: the one that had replaced this one has ended, " +
	"or an older state of the database was restored; start the service again")

// last returns a context for what comes last.
func (s *Service) last(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(shutdownGrace)
	if !s.endsBy.IsZero() && s.endsBy.Before(end) {
		end = s.endsBy
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// listen answers requests on the configured address.
func (s *Service) listen(ctx context.Context, c settings.Config, log *slog.Logger) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		s.end(ctx)
		return unlessStopped(ctx, err, log)
	}
	return s.Answer(ctx, c, listener, log)
}

// Answer recovers the runs of an earlier process, and answers requests on the
// listener until ctx ends. Then readiness fails, and after the shutdown delay
// new runs are refused. Running runs have the drain time to finish; another
// replica or the next start recovers the others. It also ends, with an error, if the process
// was replaced and no other one serves the database any longer. The listener is closed when
// Answer returns.
func (s *Service) Answer(ctx context.Context, c settings.Config, listener net.Listener, log *slog.Logger) error {
	limit, err := connectionLimit(c.Limits.Connections, descriptors())
	if err != nil {
		s.end(ctx)
		return errors.Join(err, listener.Close())
	}
	if err := s.runs.Recover(ctx); err != nil {
		s.end(ctx)
		return errors.Join(unlessStopped(ctx, err, log), listener.Close())
	}
	tuning, tuned := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	beside.Go(func() { tuneMemory(tuning) })
	beside.Go(func() { s.sweeper(c, log).Run(tuning) })
	defer beside.Wait()
	defer tuned()
	server := api.NewServer(c.Addr, s.handler)
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	log.Info("listening", "url", "http://"+listener.Addr().String(), "version", version(), "demo", c.Demo())
	listener = connections.Limit(server, listener, limit, log)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		s.end(ctx)
		return err
	case <-s.runs.Deserted():
		s.end(ctx)
		return errors.Join(errDeserted, server.Close(), unlessClosed(<-done))
	case <-ctx.Done():
	}
	s.stopping.Store(true)
	if c.ShutdownDelay > 0 {
		log.Info("no longer ready", "shutdown_delay", c.ShutdownDelay)
		select {
		case err := <-done:
			s.end(ctx)
			return err
		case <-time.After(c.ShutdownDelay):
		}
	}
	log.Info("stopping", "drain", c.Drain)
	s.endsBy = time.Now().Add(c.Drain + runs.DefaultStopWait + shutdownGrace)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Drain)
	defer cancel()
	s.runs.Shutdown(drain)
	beside.Go(s.mcp.stop)
	last, cancel := s.last(ctx)
	defer cancel()
	s.sockets.Shutdown(last)
	err = server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	return errors.Join(err, unlessClosed(<-done))
}

// unlessClosed returns what ended a server, nil if it was closed.
func unlessClosed(served error) error {
	if errors.Is(served, http.ErrServerClosed) {
		return nil
	}
	return served
}

// Close releases everything that Build opened. All requests must have ended.
func (s *Service) Close() error {
	if s.titles != nil {
		s.titles.Close()
	}
	if provider, ok := s.auth.(*auth.OIDC); ok {
		provider.Close()
	}
	s.mcp.stop()
	if s.relay != nil {
		s.relay.Close()
	}
	return s.store.Close()
}

// end stops the runs at once, for a service that failed to start.
func (s *Service) end(ctx context.Context) {
	now, cancel := context.WithCancel(ctx)
	cancel()
	s.runs.Shutdown(now)
}
