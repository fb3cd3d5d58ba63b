// Package api speaks HTTP: routes, bodies, problems, server-sent events. It is
// the only place that knows echo and status codes. The interfaces it
// declares decide what a request means; it keeps no state of its own but the
// counters of its limits. Subjects that need no routes have packages of their
// own below it, which do not import it.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/r3labs/sse/v2"

	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/api/bodies"
	"github.com/chattray/chattray/api/limits"
	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/seldom"
)

// The defaults of Limits.
const (
	defaultBody          = 1 << 20   // bytes
	defaultFilesBody     = 8 << 20   // bytes
	defaultBodiesPerUser = 16 << 20  // bytes
	defaultBodies        = 256 << 20 // bytes
	defaultAnswersUser   = 128 << 20 // bytes
	defaultAnswers       = 512 << 20 // bytes
	defaultMessage       = 100_000   // characters
)

// Limits bounds what one client may ask for.
type Limits struct {
	// Body is the size of a JSON body in bytes, FilesBody the size of one
	// with attachments. 0 is the default.
	Body, FilesBody int64
	// BodiesPerUser bounds the bytes of a user's bodies and websocket frames in
	// flight, Bodies the bytes of all users. A body counts from its first byte
	// until it is decoded; if the request is answered at once, until it is
	// answered. 0 is the default; one body of the largest kind always has room.
	BodiesPerUser, Bodies int64
	// AnswersPerUser bounds the bytes of answers that a user has not read yet, Answers
	// those of all users. Streams and answers of at most 64 KiB do not count. Further
	// requests are refused meanwhile, so one answer of any size always has room. 0 is
	// the default.
	AnswersPerUser, Answers int64
	// Message is the length of a message in characters. 0 is the default.
	Message int
	// StreamsPerUser bounds the open streams of a user, RequestsPerMinute the
	// requests of a user that start runs, OthersPerMinute all other requests and
	// websocket frames. 0 is no limit.
	StreamsPerUser, RequestsPerMinute, OthersPerMinute int
}

// Options is what the API needs. Auth, Runs, Chats, Research, Pages, Usage,
// UserData and Ready are needed; the rest may be zero.
type Options struct {
	Auth    authenticator
	Runs    runs
	Streams streams
	Chats   chats
	// Documents is needed for their routes.
	Documents documents
	Research  research
	Pages     pages
	Usage     usage
	// Admin is needed for the routes of admins.
	Admin    admin
	UserData userData
	// Models are the models that a request may name, the default first.
	Models []schemas.ModelOffer
	// Ready returns why the service cannot take requests: the database is not
	// available, or the service is about to stop. Its context ends after
	// readyWait.
	Ready func(ctx context.Context) error
	// Remark returns what a service that takes requests has to say, such as that it is
	// slower now; empty for nothing. It may be nil.
	Remark func() string
	// MCP returns the handler of /mcp for a user; nil means not found. The body
	// has already been read. The handler's errors are JSON-RPC errors, not
	// problems.
	MCP func(user schemas.User) http.Handler
	// Metrics answers /metrics, Web answers / and /assets/.
	Metrics, Web http.Handler
	// Issuer is the OpenID Connect issuer that clients are told about; "" means
	// none. PublicURL is the URL under which clients know the service; "" means
	// the URL of the request.
	Issuer, PublicURL string
	// OpenAPI is the contract as it is served.
	OpenAPI []byte
	// CORSOrigins are the origins whose pages may call; "*" is any.
	CORSOrigins []string
	// LocalHosts, when not nil, are the names, with or without a port, under which a
	// service without authentication answers, besides localhost and loopback
	// addresses. A request under any other name gets 421 Misdirected Request.
	LocalHosts []string
	Limits     Limits
	// KeepAlive is the silence after which a stream sends a comment; 0 is
	// defaultKeepAlive.
	KeepAlive time.Duration
	// SessionIdle is the time without an event after which a websocket ends; 0 is
	// defaultSessionIdle.
	SessionIdle time.Duration
	// Sockets are the open websockets; nil is a new set. A caller that sets them
	// ends them with Shutdown.
	Sockets *ws.Sockets
	// Tickets keeps tickets for several processes; nil keeps them in memory.
	Tickets auth.TicketStore
	// BodyWait bounds the time in which a body arrives; 0 is defaultBodyWait.
	BodyWait time.Duration
	// WriteWait bounds one write to a client, of at most 64 KiB; 0 is defaultWriteWait.
	WriteWait time.Duration
	// StreamWait is WriteWait for event streams and websockets; 0 is defaultStreamWait.
	StreamWait time.Duration
	// Diagnostics says who may see the trace of a run in the event complete;
	// nil means nobody.
	Diagnostics func(schemas.User) bool
	// OpenStreams is told when a stream opens (1) and closes (-1); may be nil.
	OpenStreams func(change int)
	// Log is slog.Default() when nil.
	Log *slog.Logger
}

// authenticator turns a bearer token ("" when the request has none) into the
// user and the time at which the token expires; the zero time means never. An
// invalid token is an error of code unauthorized.
type authenticator interface {
	Authenticate(ctx context.Context, bearer string) (schemas.User, time.Time, error)
}

// ticketBox has the keys that replace a token in a URL. Each opens one websocket,
// once, or the stream of one run: the first run that it is used for, and that
// run again, because an EventSource reconnects with the same URL.
type ticketBox interface {
	// Issue makes a ticket for the user; it lasts no longer than the token.
	Issue(ctx context.Context, id auth.Identity) (schemas.Ticket, error)
	// Take returns the identity of a ticket for the run, or for a websocket if run is
	// "". A websocket uses up a fresh ticket, a run binds it. A ticket that is not valid
	// is an error of code unauthorized.
	Take(ctx context.Context, key, run string) (auth.Identity, error)
}

type server struct {
	Options
	rules   *bodies.Rules
	rate    *limits.Rate // of requests that start runs
	others  *limits.Rate // of all other requests
	bodies  *bodies.Reader
	answers *limits.Answers
	streams *limits.Streams
	events  *sse.Server
	tickets ticketBox
	origins *http.CrossOriginProtection // nil lets every page call
	wires   []wires.Wire

	websockets *ws.Server
	unchecked  seldom.Log // of requests whose tokens could not be checked
	refused    seldom.Log // of pages of other origins
}

// New returns the handler of every route. It is safe for concurrent use.
func New(o Options) http.Handler {
	o.Limits.Body = cmp.Or(o.Limits.Body, defaultBody)
	o.Limits.FilesBody = max(cmp.Or(o.Limits.FilesBody, defaultFilesBody), o.Limits.Body)
	o.Limits.BodiesPerUser = max(cmp.Or(o.Limits.BodiesPerUser, defaultBodiesPerUser), o.Limits.FilesBody)
	o.Limits.Bodies = max(cmp.Or(o.Limits.Bodies, defaultBodies), o.Limits.FilesBody)
	o.Limits.Message = cmp.Or(o.Limits.Message, defaultMessage)
	o.KeepAlive = cmp.Or(o.KeepAlive, defaultKeepAlive)
	o.SessionIdle = cmp.Or(o.SessionIdle, defaultSessionIdle)
	o.BodyWait = cmp.Or(o.BodyWait, defaultBodyWait)
	o.WriteWait = cmp.Or(o.WriteWait, defaultWriteWait)
	o.StreamWait = cmp.Or(o.StreamWait, defaultStreamWait)
	if o.Sockets == nil {
		o.Sockets = ws.NewSockets(nil)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Diagnostics == nil {
		o.Diagnostics = func(schemas.User) bool { return false }
	}
	if o.Remark == nil {
		o.Remark = func() string { return "" }
	}
	if o.OpenStreams == nil {
		o.OpenStreams = func(int) {}
	}
	s := &server{
		Options: o,
		rules:   bodies.NewRules(o.Limits.Message),
		rate:    limits.NewRate(o.Limits.RequestsPerMinute, time.Now),
		others:  limits.NewRate(o.Limits.OthersPerMinute, time.Now),
		bodies:  bodies.NewReader(o.Limits.BodiesPerUser, o.Limits.Bodies),
		answers: limits.NewAnswers(cmp.Or(o.Limits.AnswersPerUser, defaultAnswersUser), cmp.Or(o.Limits.Answers, defaultAnswers)),
		streams: limits.NewStreams(o.Limits.StreamsPerUser),
		events:  newEvents(),
		tickets: auth.NewMemoryTickets(time.Now),
		origins: newOriginCheck(o.CORSOrigins), wires: all.Wires(),
	}
	if o.Tickets != nil {
		s.tickets = auth.NewSharedTickets(o.Tickets)
	}
	s.websockets = &ws.Server{
		Sockets: o.Sockets, Runs: o.Runs, Streams: o.Streams, Documents: o.Documents, Rules: s.rules, Bodies: s.bodies, Rate: s.rate, Others: s.others,
		MaxFrame: o.Limits.FilesBody, SessionIdle: o.SessionIdle, BodyWait: o.BodyWait, WriteWait: o.StreamWait, Visible: visible, OpenStreams: o.OpenStreams, Log: o.Log,
	}
	e := echo.New()
	e.HTTPErrorHandler = s.fail
	e.Use(s.boundWrites, s.boundBody, s.accessLog, s.recoverPanics, securityHeaders, s.guardOrigins, s.cors())
	for _, r := range s.routes() {
		e.Add(r.method, r.path, s.guard(r))
		if r.method == http.MethodGet && !r.stream {
			e.HEAD(r.path, s.guard(r))
		}
	}
	return e
}
