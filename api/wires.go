package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// wireOf returns the wire that has the path, nil if none has it.
func (s *server) wireOf(path string) *wires.Wire {
	for i := range s.wires {
		for _, own := range s.wires[i].Paths {
			if rest, ok := strings.CutPrefix(path, own); ok && (rest == "" || rest[0] == '/') {
				return &s.wires[i]
			}
		}
	}
	return nil
}

// wireRoutes are the rows of the wires in the table of routes.
func (s *server) wireRoutes() []route {
	service := &wires.Service{
		Runs: wireRuns{s.Runs, s.Streams, s.Sockets}, Chats: s.Chats, KeepAlive: s.KeepAlive, Check: s.checkRequest, Stream: s.openWireStream,
		Pages: func() []schemas.Page { return s.Pages.List() }, Models: s.Models,
	}
	var rows []route
	for _, w := range s.wires {
		for _, r := range w.Routes {
			row := route{method: r.Method, path: r.Path, stream: r.Stream, starts: r.Starts, handle: s.wireHandler(service, r)}
			switch {
			case r.Files:
				row.body = blockBody
			case r.Optional:
				row.body = anyBody
			case r.Body:
				row.body = jsonBody
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func (s *server) wireHandler(service *wires.Service, r wires.Route) echo.HandlerFunc {
	return func(c echo.Context) error {
		ctx, user := caller(c)
		var answer *limits.Answer
		defer func() { answer.Release() }()
		call := &wires.Call{
			Request: c.Request(), Response: c.Response(), User: user, Body: bodyOf(c), Param: func(name string) string { return pathText(c, name) }, Service: service,
			Large: func() (err error) {
				answer, err = s.answers.BeginLarge(ctx, user.ID)
				c.Set(answerKey, answer)
				return err
			},
			Made:  func(bytes int) { answer.Made(bytes) },
			Count: func() error { return s.rate.Allow(user.ID) },
			Send:  func(body []byte) error { return send(c, echo.MIMEApplicationJSON, body) },
		}
		call.Done = func() {
			call.Body = nil
			dropBody(c)
		}
		return r.Handle(call)
	}
}

// checkRequest returns the error for a request of a wire that does not keep the rules of
// a chat request.
func (s *server) checkRequest(req *schemas.ChatRequest) error {
	if refused := s.rules.Check(req); len(refused) > 0 {
		return bodies.FieldsError(schemas.CodeInvalid, "the request has values that are not allowed", refused)
	}
	return nil
}

// wireRuns are the runs as wires see them.
type wireRuns struct {
	runs
	streams

	sockets *ws.Sockets
}

// Start implements wires.Runs. The websockets of the user learn of the run.
func (w wireRuns) Start(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (schemas.Run, error) {
	run, err := w.streams.Start(ctx, user, req, o)
	if err == nil && run.Begun {
		w.sockets.Started(ctx, user, run.ChatID, run.RunID)
	}
	return run, err
}

// wireStream is the body of an answer of a wire, with the deadlines of every stream. A wire
// may also write an answer that is whole after it has opened one.
type wireStream struct {
	out   *streamWriter
	begun bool
	ctx   context.Context //nolint:containedctx // lives as long as the request
	close func()
}

// openWireStream counts a stream of the caller's.
func (s *server) openWireStream(call *wires.Call) (wires.Stream, error) {
	release, err := s.streams.Acquire(call.User.ID)
	if err != nil {
		return nil, err
	}
	ctx, end := withToken(call.Context())
	ctx, cancel := context.WithCancelCause(ctx)
	s.OpenStreams(1)
	return &wireStream{
		ctx: ctx,
		out: &streamWriter{response: call.Response, wire: http.NewResponseController(call.Response), wait: s.StreamWait, fail: cancel},
		close: func() {
			cancel(nil)
			end()
			release()
			s.OpenStreams(-1)
		},
	}, nil
}

// Context implements wires.Stream.
func (w *wireStream) Context() context.Context { return w.ctx }

// Write implements wires.Stream.
func (w *wireStream) Write(frames []byte) bool {
	if !w.begun {
		w.begun = true
		leaveDeadlines(w.out.response, w.out.wait)
	}
	_, _ = w.out.Write(frames) // Flush reports the error
	w.out.Flush()
	return w.ctx.Err() == nil
}

// Close implements wires.Stream.
func (w *wireStream) Close() { w.close() }
