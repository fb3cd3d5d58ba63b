package telemetry

import (
	"context"
	"log/slog"
	"regexp"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"

	"github.com/chattray/chattray/schemas/seldom"
)

// LogErrors sends the errors and warnings of OpenTelemetry to log, at the level
// warning, at most one a minute: each batch of spans that the collector does not take is
// one. A line says how many were left out since the one before. Passwords in URLs and the
// values of variables are left out too.
//
// OpenTelemetry has one such log for the process. So the program calls LogErrors
// once, before New, and what runs several services in a process does not.
func LogErrors(log *slog.Logger) {
	to := &errorLog{log: log}
	otel.SetErrorHandler(to)
	otel.SetLogger(logr.FromSlogHandler(libraryLog{to: to}))
}

// errorLog logs errors. It is safe for concurrent use.
type errorLog struct {
	log   *slog.Logger
	lines seldom.Log
}

// Handle implements otel.ErrorHandler.
func (l *errorLog) Handle(err error) { l.warn(err.Error()) }

func (l *errorLog) warn(text string) {
	l.lines.Write(context.Background(), l.log, slog.LevelWarn, "OpenTelemetry reports an error", slog.String("error", withoutCredentials(text)))
}

// userinfo is the user and the password of a URL.
var userinfo = regexp.MustCompile(`://[^/\s"]*@`)

func withoutCredentials(text string) string { return userinfo.ReplaceAllString(text, "://") }

// libraryLog is the handler behind OpenTelemetry's own logger.
type libraryLog struct{ to *errorLog }

// libraryWarning is the level of OpenTelemetry's warnings; those below are information.
const libraryWarning = slog.Level(-1)

// Enabled implements slog.Handler.
func (h libraryLog) Enabled(_ context.Context, level slog.Level) bool { return level >= libraryWarning }

// Handle implements slog.Handler. It leaves out all values but the error's: they
// are those of variables, which may be secrets.
func (h libraryLog) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok {
			text += ": " + err.Error()
		}
		return true
	})
	h.to.warn(text)
	return nil
}

// WithAttrs implements slog.Handler. Such values are left out too.
func (h libraryLog) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h libraryLog) WithGroup(string) slog.Handler { return h }
