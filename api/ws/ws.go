// Package ws speaks the websockets: it does what their events ask for, and sends the chunks
// of the runs that they watch. The caller finds the user, checks the origin, and says what
// a client may see of an error.
package ws

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/text"
)

// The limits of a websocket.
const (
	socketPing   = 30 * time.Second
	framesSecond = 20  // that a client may send on average
	framesAtOnce = 100 // and at once
	maxChats     = 32  // that one socket watches; idle ones are dropped first
	maxFollowed  = 64  // runs of a chat that wait to be shown
)

// Server opens websockets. Only Documents may be nil.
type Server struct {
	Sockets   *Sockets
	Runs      runs
	Streams   streams
	Documents documents
	Rules     *bodies.Rules  // for events
	Bodies    *bodies.Reader // counts frames as bodies
	// Rate counts the events that start runs, Others all frames.
	Rate, Others *limits.Rate
	MaxFrame     int64         // bytes
	SessionIdle  time.Duration // without an event, after which a socket ends
	BodyWait     time.Duration // in which a frame arrives
	WriteWait    time.Duration // for one write to a client
	// Visible returns what a client may see of an error.
	Visible func(err error) *schemas.Error
	// OpenStreams is told when a socket opens (1) and closes (-1).
	OpenStreams func(change int)
	Log         *slog.Logger
}

// runs gives access to the user's runs.
type runs interface {
	Run(ctx context.Context, user schemas.User, id string) (schemas.Run, error)
	// CancelAll asks the runs to end, in this order. It calls stored once all requests
	// are stored, before a run here ends.
	CancelAll(ctx context.Context, user schemas.User, stored func(), ids ...string) error
	// Approve answers a call that waits for the user, ToolResult one that waits for the
	// page.
	Approve(ctx context.Context, user schemas.User, run, approval string, a schemas.ApprovalAnswer) (schemas.Run, error)
	ToolResult(ctx context.Context, user schemas.User, run string, result schemas.ClientToolResult) (schemas.Run, error)
}

// streams starts runs and follows them.
type streams interface {
	// Start begins a run, or finds the one that the Idempotency-Key already started.
	Start(ctx context.Context, user schemas.User, req *schemas.ChatRequest, o record.StartOptions) (schemas.Run, error)
	// Follow returns the events after a number, and then live ones to the end. At or past
	// the terminal event the error is runlog.ErrEnded; runlog.ErrInterrupted ends the
	// events of a run that continues later.
	Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error)
	// Future reports whether a number is so far past the newest event of an unfinished
	// run that no reader can have seen that event (runlog.Future).
	Future(ctx context.Context, user schemas.User, id string, after int64) (bool, error)
	// Live returns the unfinished runs of a chat, the running one first, and LiveIn those
	// of a document, from any chat.
	Live(ctx context.Context, user schemas.User, chat string) ([]string, error)
	LiveIn(ctx context.Context, user schemas.User, document string) ([]string, error)
	// Later returns the runs that started after a run in its chat, the oldest first.
	Later(ctx context.Context, user schemas.User, id string) ([]string, error)
}

// documents knows where blocks are.
type documents interface {
	// Place returns the document or the chat of a block, also of one that a run has
	// only begun to write; both are empty for an unknown block.
	Place(ctx context.Context, user schemas.User, id string) (document, chat string, err error)
}

// socket is one websocket: one goroutine reads events, one keeps it alive, and
// one for each chat with a run under way sends its chunks. All are joined.
type socket struct {
	server *Server
	conn   *websocket.Conn
	user   schemas.User
	until  time.Time // the end of the token; zero means never
	cancel context.CancelFunc
	rate   *rate.Limiter
	began  time.Time
	active atomic.Int64 // the last frame in or out, in nanoseconds after began
	ending chan closing
	past   chan struct{} // held while an ended run is shown

	sending sync.Mutex
	sent    string // the run of the last chunk that belonged to a run
	newest  newestWrites
	writes  openWrites

	work   sync.WaitGroup
	mu     sync.Mutex
	ended  bool
	chats  map[string]*watched
	follow func(chat string) // with the socket's context
}

// closing is how a socket ends.
type closing struct {
	code   websocket.StatusCode
	reason string
}

// Serve answers the request of a user with a websocket, and speaks it until one side ends
// it or the time until has come; zero means never. It checks neither the origin of the
// request nor how many sockets the user has. An error says that no socket was opened.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, user schemas.User, until time.Time) error {
	opened, err := s.Sockets.begin()
	if err != nil {
		return err
	}
	defer opened()
	hand := &handshake{ResponseWriter: w}
	conn, err := websocket.Accept(hand, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the caller has checked the origin
	if err != nil && hand.refused {
		return schemas.NewError(schemas.CodeBadRequest, "this is not the handshake of a websocket: "+cmp.Or(errors.Unwrap(err), err).Error())
	}
	if err != nil {
		return err
	}
	s.OpenStreams(1)
	defer s.OpenStreams(-1)
	conn.SetReadLimit(s.MaxFrame)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	k := &socket{
		server: s, conn: conn, user: user, until: until, began: time.Now(), cancel: cancel, rate: rate.NewLimiter(framesSecond, framesAtOnce),
		ending: make(chan closing, 1), past: make(chan struct{}, 1), chats: map[string]*watched{}, newest: newestWrites{}, writes: openWrites{},
	}
	k.follow = func(chat string) { k.showAll(ctx, chat) }
	s.Sockets.open(k)
	defer s.Sockets.closed(k)
	k.serve(ctx)
	return nil
}

// handshake is the writer of a websocket's handshake. It drops the library's own answer to
// a request that is none, so that the client gets a problem.
type handshake struct {
	http.ResponseWriter

	refused bool
}

// WriteHeader implements http.ResponseWriter.
func (h *handshake) WriteHeader(status int) {
	if h.refused = status != http.StatusSwitchingProtocols; !h.refused {
		h.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (h *handshake) Write(p []byte) (int, error) { return len(p), nil }

// Unwrap lets the library reach the connection.
func (h *handshake) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// serve reads until the socket ends and returns when all its goroutines have
// ended.
func (k *socket) serve(ctx context.Context) {
	k.touch()
	kept := make(chan struct{})
	reading, left := context.WithCancel(ctx)
	go func() { defer close(kept); k.keep(ctx, reading) }()
	k.read(ctx)
	left()                                   // nobody is there who would answer a ping
	k.end(websocket.StatusProtocolError, "") // only a client that breaks the protocol sees this
	<-kept
	k.mu.Lock()
	k.ended = true
	chats := make([]string, 0, len(k.chats))
	for chat := range k.chats {
		chats = append(chats, chat)
	}
	k.mu.Unlock()
	for _, chat := range chats {
		k.server.Sockets.leave(k, chat)
	}
	k.cancel()
	k.work.Wait()
	_ = k.conn.CloseNow() // it is closed
}

func (k *socket) touch() { k.active.Store(int64(time.Since(k.began))) }

// end asks the socket to close; the first reason counts.
func (k *socket) end(code websocket.StatusCode, reason string) {
	select {
	case k.ending <- closing{code, reason}:
	default:
	}
}

// keep pings the client while the socket is read, and closes it when it is time.
func (k *socket) keep(ctx, reading context.Context) {
	ping := time.NewTicker(socketPing)
	defer ping.Stop()
	idle := time.NewTimer(k.server.SessionIdle)
	defer idle.Stop()
	var expired <-chan time.Time
	if !k.until.IsZero() {
		timer := time.NewTimer(time.Until(k.until))
		defer timer.Stop()
		expired = timer.C
	}
	var pinging sync.WaitGroup
	defer pinging.Wait()
	ponged := make(chan struct{}, 1)
	ponged <- struct{}{}
	for {
		select {
		case c := <-k.ending:
			_ = k.conn.Close(c.code, c.reason) // the client may be gone
			return
		case <-ctx.Done():
			_ = k.conn.CloseNow()
			return
		case <-expired:
			_ = k.conn.Close(websocket.StatusPolicyViolation, "the token has ended")
			return
		case <-idle.C:
			if left := k.server.SessionIdle + time.Duration(k.active.Load()) - time.Since(k.began); left > 0 {
				idle.Reset(left)
			} else {
				k.end(websocket.StatusNormalClosure, "nothing happened for "+minutes(k.server.SessionIdle))
			}
			continue
		case <-ping.C:
		}
		select {
		case <-ponged:
			pinging.Go(func() { k.ping(reading); ponged <- struct{}{} })
		default: // a slow client has not answered the last one yet
		}
	}
}

// ping asks for a sign of life, and ends the socket if none comes.
func (k *socket) ping(ctx context.Context) {
	wait, done := context.WithTimeout(ctx, k.server.WriteWait)
	defer done()
	if err := k.conn.Ping(wait); err != nil && ctx.Err() == nil {
		k.cancel()
	}
}

// read takes the client's events, one after the other.
func (k *socket) read(ctx context.Context) {
	for {
		kind, r, err := k.conn.Reader(ctx)
		if err != nil {
			return
		}
		if !k.rate.Allow() {
			k.end(websocket.StatusPolicyViolation, "too many frames")
			return
		}
		k.touch()
		if !k.take(ctx, kind, r) {
			return
		}
	}
}

// take reads one frame, which counts as a body, and does what it says. A frame
// that is refused is still read to its end. It reports whether the socket goes
// on.
func (k *socket) take(ctx context.Context, kind websocket.MessageType, r io.Reader) bool {
	slow := time.AfterFunc(k.server.BodyWait, func() { k.end(websocket.StatusPolicyViolation, "the frame did not arrive in time") })
	limited := k.server.Others.Allow(k.user.ID)
	var frame *bodies.Held
	err := error(schemas.NewError(schemas.CodeBadRequest, "a frame must be text"))
	if kind == websocket.MessageText {
		frame, err = k.server.Bodies.Read(k.user.ID, r, -1, k.server.MaxFrame)
	}
	defer frame.Release()
	refused, told := errors.AsType[*schemas.Error](err)
	if told || errors.Is(err, bodies.ErrOverLimit) { // the connection itself reports a frame that is too long
		_, err = io.Copy(io.Discard, r)
	}
	switch {
	case !slow.Stop() || err != nil:
		return false
	case told:
		k.fail(ctx, refused, schemas.Chunk{End: true})
	case limited != nil:
		to, blocks := about(frame.Bytes())
		k.refuse(ctx, limited, blocks, to)
	default:
		k.handle(ctx, frame.Bytes())
	}
	return true
}

// sendOf writes a chunk of a run. It names the run if the chunk before belonged
// to another run.
func (k *socket) sendOf(ctx context.Context, run string, since map[string]int64, c *schemas.Chunk) bool {
	k.sending.Lock()
	defer k.sending.Unlock()
	if !k.newest.keep(since, c) {
		return true
	}
	if k.sent != run || c.Type == schemas.ChunkApprovalRequest || c.Type == schemas.ChunkClientToolCall {
		c.RunID = run // whoever answers a call has to name its run
	}
	k.sent = run
	k.writes.note(run, c)
	return k.send(ctx, c)
}

// send writes one chunk. A client that does not read ends its socket.
func (k *socket) send(ctx context.Context, c *schemas.Chunk) bool {
	frame, err := text.Encode(c)
	if err != nil {
		k.server.Log.ErrorContext(ctx, "a websocket event failed", "user", k.user.ID, "error", err)
		return true // a later run writes these blocks
	}
	wait, done := context.WithTimeout(ctx, k.server.WriteWait)
	defer done()
	if err := k.conn.Write(wait, websocket.MessageText, frame); err != nil {
		k.cancel()
		return false
	}
	k.touch()
	return true
}

// refuse answers an event that is refused. The chunk ends the event's blocks for the
// client, unless it sees a run write one of them.
func (k *socket) refuse(ctx context.Context, err error, blocks []string, to schemas.Chunk) {
	k.sending.Lock()
	defer k.sending.Unlock()
	to.BlockIDs, to.End = strings.Join(blocks, ","), !k.writes.any(blocks)
	k.fail(ctx, err, to)
}

// fail sends an error chunk; the rest of the chunk says what the error is about.
func (k *socket) fail(ctx context.Context, err error, to schemas.Chunk) {
	seen := k.server.Visible(err)
	if seen.Code == schemas.CodeInternal && ctx.Err() == nil { // the end of a socket breaks off what it does
		k.server.Log.ErrorContext(ctx, "a websocket event failed", "user", k.user.ID, "error", err)
	}
	text := seen.Message
	for _, f := range seen.Fields {
		text += "; " + strings.TrimPrefix(f.Pointer+" "+f.Detail, " ")
	}
	to.Type, to.Content, to.Code = schemas.ChunkError, &text, seen.Code
	k.send(ctx, &to)
}

// minutes writes a duration for people.
func minutes(d time.Duration) string {
	if d%time.Minute == 0 {
		return text.Plural(int(d/time.Minute), "minute")
	}
	return d.String()
}
