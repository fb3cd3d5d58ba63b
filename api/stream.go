package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/dialects"
	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// streams starts runs and follows them.
type streams interface {
	// Start begins a run, or finds the one that the Idempotency-Key already
	// started. The user's message is durable when it returns.
	Start(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (schemas.Run, error)
	// Follow returns the events after the cursor, and then live ones to the
	// end; an empty batch after each idle period. At or past the terminal event
	// the error is runlog.ErrEnded; runlog.ErrInterrupted ends the events of a
	// run that continues later.
	Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error)
	// Future reports whether a cursor is so far past the newest event of an unfinished
	// run that no reader can have seen that event (runlog.Future).
	Future(ctx context.Context, user schemas.User, id string, after int64) (bool, error)
	// Leave ends the run at once if it ends with its last reader and has none.
	Leave(user schemas.User, id string)
	// Live returns the unfinished runs of a user's chat, the running one first.
	Live(ctx context.Context, user schemas.User, chat string) ([]string, error)
	// LiveIn returns the unfinished runs of a user's document in the same way,
	// from any chat.
	LiveIn(ctx context.Context, user schemas.User, document string) ([]string, error)
	// Later returns the runs that started after one of the user's runs in its
	// chat, the oldest first.
	Later(ctx context.Context, user schemas.User, id string) ([]string, error)
}

// postStream starts a run and answers with its events. Nothing is started for a
// user who may not open another stream. A cursor applies to a run that an
// Idempotency-Key found; one that has just begun, or waits for its turn, is read from its
// start.
func (s *server) postStream(c echo.Context) error {
	if err := checkDialect(c); err != nil {
		return err
	}
	release, err := s.openStream(c)
	if err != nil {
		return err
	}
	defer release()
	var run schemas.Run
	err = concurrent.OnFreshStack(func() (err error) { run, err = s.start(c); return err })
	if errors.Is(err, errNoKey) && onlyEvents(c.Request().Header) {
		return refuseInEvents(c)
	}
	if err != nil {
		return err
	}
	after := cursor(c)
	if run.Begun || run.State == schemas.RunQueued {
		after = 0
	}
	return s.follow(c, run.RunID, after)
}

// openStream counts a stream of the caller's until release is called.
func (s *server) openStream(c echo.Context) (release func(), err error) {
	_, user := caller(c)
	return s.streams.Acquire(user.ID)
}

// getStream follows a run, or replays one that has ended.
func (s *server) getStream(c echo.Context) error {
	if err := checkDialect(c); err != nil {
		return err
	}
	run, err := id(c, "run_id")
	if err != nil {
		return err
	}
	release, err := s.openStream(c)
	if err != nil {
		return err
	}
	defer release()
	return s.follow(c, run, cursor(c))
}

// start decodes the request and starts its run. A request with a cursor
// continues a run, so it has to name the run by its key: without a key it would
// ask the question again each time a client reconnects.
func (s *server) start(c echo.Context) (schemas.Run, error) {
	defer dropBody(c) // the answer may take as long as the run
	ctx, user := caller(c)
	if cursorText(c) != "" && c.Request().Header.Get("Idempotency-Key") == "" {
		return schemas.Run{}, errNoKey
	}
	var req schemas.ChatRequest
	if err := s.decode(c, &req); err != nil {
		return schemas.Run{}, err
	}
	raw := bodyOf(c)
	o := record.StartOptions{IdempotencyKey: c.Request().Header.Get("Idempotency-Key"), Body: raw}
	if o.IdempotencyKey != "" {
		sum := sha256.Sum256(raw)
		o.BodyHash = hex.EncodeToString(sum[:])
	}
	run, err := s.Streams.Start(ctx, user, &req, o)
	if err == nil && run.Begun {
		s.Sockets.Started(c.Request().Context(), user, run.ChatID, run.RunID)
	}
	return run, err
}

// checkDialect refuses a dialect that does not exist.
func checkDialect(c echo.Context) error {
	if dialects.Named(c.QueryParam("dialect")) == nil {
		return schemas.NewError(schemas.CodeInvalid, "the dialect is "+dialects.Names())
	}
	return nil
}

// cursor returns the number after which to read. The header takes precedence
// over the query; a value that is not a number means the start. One that is too large is
// after all events.
func cursor(c echo.Context) int64 {
	n, _ := strconv.ParseInt(cursorText(c), 10, 64) // 0 for what is no number, else the nearest one
	return max(n, 0)
}

func cursorText(c echo.Context) string {
	return cmp.Or(c.Request().Header.Get("Last-Event-ID"), c.QueryParam("after"))
}

// errNoKey refuses a request that has a cursor and would start a run.
var errNoKey = schemas.NewError(schemas.CodeKeyRequired,
	"a POST with Last-Event-ID would start the question again: send its Idempotency-Key, or GET the run's stream")

// onlyEvents reports whether a client accepts only an event stream.
func onlyEvents(h http.Header) bool {
	return strings.EqualFold(strings.TrimSpace(h.Get(echo.HeaderAccept)), sseType)
}

const sseType = "text/event-stream"

// refuseInEvents answers errNoKey as an event stream that ends. A client that
// reconnects by itself would retry any other answer forever.
func refuseInEvents(c echo.Context) error {
	e := runlog.Event{Seq: max(cursor(c), 1), Time: time.Now().UnixMilli(), Body: &runlog.Failed{Message: errNoKey.Message, Code: errNoKey.Code}}
	frame := dialects.Named(c.QueryParam("dialect")).Open(new(dialects.Reader)).Append(nil, &e)
	return c.Blob(statusByCode[errNoKey.Code].status, sseType, frame)
}

// follow answers with the events of a run after the cursor. The functions that
// prepare the stream have returned before it starts, so its stack stays small.
func (s *server) follow(c echo.Context, run string, after int64) error {
	f, err := s.newSSEResponse(c, run, after)
	if errors.Is(err, runlog.ErrEnded) {
		return c.NoContent(http.StatusNoContent)
	}
	if err != nil {
		return err
	}
	defer f.close()
	f.serve()
	return nil
}

// newSSEResponse returns the response with the events of a run of the caller's, and
// sets its headers.
func (s *server) newSSEResponse(c echo.Context, run string, after int64) (made *sseResponse, err error) {
	ctx, user := caller(c)
	f := &sseResponse{server: s.events, id: strconv.FormatInt(streamIDs.Add(1), 36), last: after}
	defer func() {
		if made == nil {
			f.close()
		}
	}()
	ctx, stop := withToken(ctx)
	f.ends = append(f.ends, stop)
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	f.ends = append(f.ends, func() { f.cancel(nil) })
	if f.seq, err = s.Streams.Follow(f.ctx, user, run, after, s.KeepAlive); err != nil {
		return nil, err
	}
	h := c.Response().Header()
	h.Set("X-Run-Id", run)
	h.Set("Content-Location", "/api/chat/runs/"+run+"/stream")
	s.OpenStreams(1)
	f.ends = append(f.ends, func() { s.OpenStreams(-1) })
	d := dialects.Named(c.QueryParam("dialect"))
	f.reader, f.form = &dialects.Reader{Diagnostics: s.diagnosticsOf(c, run)}, d.Name
	if f.reader.Diagnostics != nil {
		f.form += "+diagnostics"
	}
	f.encoder = d.Open(f.reader)
	leaveDeadlines(c.Response(), s.StreamWait)
	f.out = &streamWriter{
		response: c.Response(), wire: http.NewResponseController(c.Response().Writer), wait: s.StreamWait, fail: f.cancel,
	}
	return f, nil
}

// diagnosticsOf returns the function that reads the diagnostics of the run, or
// nil for a user who may not see them. Other readers may wait for what it reads.
func (s *server) diagnosticsOf(c echo.Context, run string) func() json.RawMessage {
	ctx, user := caller(c)
	if !s.Diagnostics(user) {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	return func() json.RawMessage {
		d, err := s.Runs.Diagnostics(ctx, user, run)
		if err != nil {
			return nil
		}
		raw, err := json.Marshal(d)
		if err != nil {
			return nil
		}
		return raw
	}
}

// postChat starts a run and answers when it has ended: with the payload of
// complete, or with a problem. It counts as one of the user's streams and ends
// with the token, as a stream does.
func (s *server) postChat(c echo.Context) error {
	release, err := s.openStream(c)
	if err != nil {
		return err
	}
	defer release()
	started, err := s.start(c)
	if err != nil {
		return err
	}
	run := started.RunID
	c.Response().Header().Set("X-Run-Id", run)
	ctx, user := caller(c)
	ctx, stop := withToken(ctx)
	defer stop()
	last, err := s.lastEvent(ctx, user, run)
	switch {
	case last != nil:
		return s.answer(c, run, last)
	case ctx.Err() != nil && c.Request().Context().Err() == nil:
		return wires.TokenExpired(run)
	case err != nil:
		return err
	}
	e := schemas.NewError(schemas.CodeInterrupted, "the answer was interrupted and continues; follow its stream")
	e.RunID = run
	return e
}

// lastEvent waits for the terminal event of a run; nil means that the run was interrupted.
func (s *server) lastEvent(ctx context.Context, user schemas.User, run string) (*runlog.Event, error) {
	seq, err := s.Streams.Follow(ctx, user, run, 0, 0)
	if err != nil {
		return nil, err
	}
	for events, err := range seq {
		if errors.Is(err, runlog.ErrInterrupted) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for i := range events {
			if events[i].Terminal() {
				last := events[i] // the sequence uses the slice again
				return &last, nil
			}
		}
	}
	return nil, nil
}

// answer sends the one JSON body for a run's terminal event.
func (s *server) answer(c echo.Context, run string, e *runlog.Event) error {
	switch b := e.Body.(type) {
	case *runlog.Completed:
		r := dialects.Reader{Diagnostics: s.diagnosticsOf(c, run)}
		payload := r.AppendPayload(nil, b)
		return send(c, echo.MIMEApplicationJSON, append(payload, '\n'))
	case *runlog.Failed:
		return &schemas.Error{Code: b.Code, Message: b.Message, RunID: run}
	default:
		return &schemas.Error{Code: schemas.CodeCancelled, Message: "the run was cancelled", RunID: run}
	}
}
