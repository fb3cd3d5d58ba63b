package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/api/ws"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/payloads"
	"github.com/chattray/chattray/relay"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/actions"
	"github.com/chattray/chattray/services/admin"
	"github.com/chattray/chattray/services/answer"
	"github.com/chattray/chattray/services/approvals"
	"github.com/chattray/chattray/services/attempts"
	"github.com/chattray/chattray/services/chats"
	"github.com/chattray/chattray/services/clicks"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/guard"
	"github.com/chattray/chattray/services/pages"
	"github.com/chattray/chattray/services/pdftext"
	"github.com/chattray/chattray/services/prepare"
	"github.com/chattray/chattray/services/prompt"
	"github.com/chattray/chattray/services/questions"
	"github.com/chattray/chattray/services/research"
	"github.com/chattray/chattray/services/runs"
	"github.com/chattray/chattray/services/usage"
	"github.com/chattray/chattray/services/userdata"
	"github.com/chattray/chattray/services/views"
	"github.com/chattray/chattray/store"
	"github.com/chattray/chattray/store/sample"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
	"github.com/chattray/chattray/web"
)

// Service has all parts of the service, built from the settings.
type Service struct {
	store     *store.Store
	documents *documents.Documents // a single value, because it knows the claims of runs
	runs      *runs.Runs
	titles    *chats.Titles // nil if titles are the first words of chats
	mcp       *mcpParts
	sockets   *ws.Sockets
	auth      authenticator
	relay     *relay.NATS // nil without NATS
	handler   http.Handler
	deleted   func(kind string, n int) // counts old data that is deleted
	stopping  atomic.Bool              // it says that it is not ready
	endsBy    time.Time                // when it has ended; zero before it stops
}

// Options are what the service is built from besides its settings. All except
// the contract are for tests, which add or replace parts.
type Options struct {
	// Contract is the content of openapi.yaml, which is served.
	Contract []byte
	// Tools are registered in addition to the built-in ones.
	Tools []turn.Tool
	// Models carries the requests to model servers; nil uses the network.
	Models http.RoundTripper
	// Store changes how the database is opened; it may be nil.
	Store func(*store.Options)
	// Runs changes the options of runs; it may be nil.
	Runs func(*runs.Options)
}

// RunsStore is a store that runs can work with.
type RunsStore interface {
	runs.RunStore
	runs.QueueStore
	runs.LogStore
	clicks.Store
	views.Store
	prepare.Store
	approvals.Store
	questions.Store
	attempts.Store
	eventlog.Store
	answer.Store
	prompt.HistoryStore
	usage.Store
}

// StoresOf returns a store as all the parts that runs need.
func StoresOf(s RunsStore) runs.Stores {
	return runs.Stores{Runs: s, Queue: s, Logs: s, Views: s, Questions: s, Attempts: s, Clicks: s, Prepare: s, Waits: s, Commit: s, Answer: s, History: s, Usage: s}
}

// Build opens the database and assembles the parts. It recovers no runs. The
// MCP servers' connections last until s.mcp.stop.
func Build(ctx context.Context, c settings.Config, with Options, watch *telemetry.Telemetry, log *slog.Logger) (_ *Service, err error) {
	s := &Service{deleted: watch.Deleted}
	defer func() {
		if err != nil && s.relay != nil {
			s.relay.Close()
		}
		if err != nil && s.store != nil {
			err = errors.Join(err, s.store.Close())
		}
	}()
	opening := storeOptions(c, log)
	if with.Store != nil {
		with.Store(&opening)
	}
	if s.store, err = openStore(ctx, c, opening); err != nil {
		return nil, err
	}
	s.sockets, s.auth = newSockets(c, s.store), newAuthenticator(c)
	if err := addSample(ctx, s.store, log); err != nil {
		return nil, err
	}
	s.documents = documents.New(s.store, s.store, s.store, s.store, s.store)
	offer, err := newOffer(c, s.store, s.documents, func() int { return s.runs.Replicas() }, with.Tools, log)
	if err != nil {
		return nil, err
	}
	s.mcp = offer.mcp
	rooms := newPromptRooms(c)
	model, err := newModel(c, with.Models, rooms, log)
	if err != nil {
		return nil, err
	}
	loop := agents.New(model, agents.Options{ToolTimeout: c.Timeouts.Tool, Logger: log})
	options := s.runsOptions(c, offer.pages, offer.actions, rooms[""], log)
	options.Agent, options.Metrics, options.ReaderMetrics, options.BusMetrics = watch.Watch(loop), watch, watch, watch
	options.Leases.Metrics, options.Missing = watch, s.mcp.clients.Missing
	if err := s.share(ctx, c, &options, log); err != nil {
		return nil, err
	}
	if c.Titles == "model" {
		s.titles = chats.NewTitles(loop, s.store, chats.TitleOptions{Log: log})
		options.Answered = s.titles.Answered
	}
	if with.Runs != nil {
		with.Runs(&options)
	}
	s.runs = runs.New(options)
	if c.Many() {
		watch.Leases(s.runs.Replica, s.runs.LeaseLeft, s.runs.Replicas)
	}
	if s.handler, err = s.routes(c, with.Contract, offer.pages, watch, log); err != nil {
		return nil, err
	}
	watch.ModelServers(modelServers(c))
	s.handler = watch.Traced(s.handler)
	s.mcp.start(ctx)
	return s, nil
}

// offer is what pages can offer to their chats.
type offer struct {
	pages   *pages.Pages
	actions *actions.Actions
	mcp     *mcpParts
}

// newOffer makes the tools, payload types and actions, and reads the page files. It starts
// nothing, and the database is used only by what is called later.
func newOffer(c settings.Config, data *store.Store, docs *documents.Documents, sharing func() int, more []turn.Tool, log *slog.Logger) (o offer, err error) {
	types, err := payloads.NewRegistry()
	if err != nil {
		return o, err
	}
	if o.actions, err = actions.New(actions.ApplySchema(data)); err != nil {
		return o, err
	}
	registry, err := toolRegistry(c, data, docs, sharing, more)
	if err != nil {
		return o, err
	}
	if o.mcp, err = newMCP(c, registry, data, log); err != nil {
		return o, err
	}
	if o.pages, err = loadPages(c, registry, types, o.actions); err != nil {
		return o, fmt.Errorf("the page files are wrong:\n%w", err)
	}
	return o, nil
}

// loadPages reads the page files. Their tools, payload types and actions are
// made with these parts.
func loadPages(c settings.Config, registry *tools.Registry, types *payloads.Registry, serverActions *actions.Actions) (*pages.Pages, error) {
	return pages.Load(pages.Sources{Dir: c.Pages}, pages.Parts{
		Tools: registry, Payloads: types, ServerActions: serverActions.Names(), ContextBuilders: prompt.ContextBuilders(),
		SetArguments: tools.WithArguments,
		MakeHTTPTool: func(def turn.HTTPTool) (turn.Tool, error) { return tools.NewHTTP(def, nil) },
		MakeHTTPAction: func(def turn.HTTPTool) (turn.Tool, error) {
			t, err := tools.NewHTTPAction(def, nil)
			t.Timeout = c.Timeouts.Tool
			return t, err
		},
		MakePayloadType: payloads.NewType, MakeClientTool: tools.NewClient,
		PageTools: mcpPageTools(c),
		Secret:    func(name string) (string, bool) { v, ok := c.Secrets[name]; return v, ok },
	})
}

// runsOptions returns the options of runs, without metrics and traces.
func (s *Service) runsOptions(c settings.Config, offers *pages.Pages, serverActions *actions.Actions, memory promptRoom, log *slog.Logger) runs.Options {
	return runs.Options{
		Options: prepare.Options{
			Pages: offers, Actions: serverActions, Research: s.store, Documents: s.store, Drafts: s.documents,
			History: prompt.HistoryOptions{Budget: c.History.Budget, CompactOff: !c.History.Compact, Files: s.store, Memory: memory},
			NewFilter: func(types []turn.PayloadType, actions []schemas.Action, fits func(string, json.RawMessage) error) answer.TextFilter {
				return payloads.NewFilter(types, actions, fits)
			},
			Model: defaultModel(c), Models: modelNames(c), Windows: windows(c), Temperature: c.Temperature, MaxTokens: c.MaxTokens,
			MaxIterations: c.MaxIterations, ToolOutput: c.Limits.ToolOutput,
		},
		Store:  StoresOf(s.store),
		Prices: prices(c), Budget: usage.Budget{USD: schemas.Dollars(c.Limits.BudgetUSD), Tokens: c.Limits.BudgetTokens},
		RunTimeout: c.Timeouts.Run, DisconnectGrace: c.DisconnectGrace, ApprovalTimeout: c.Timeouts.Approval,
		ApproveAfterUntrusted: guard.Mode(c.ApproveAfterUntrusted), RunsPerUser: c.Limits.RunsPerUser,
		Text:           c.TextLimits(),
		PDF:            pdftext.New(pdftext.Limits{Pages: c.Limits.PDFPages, Time: c.Limits.PDFTime, Memory: c.Limits.PDFMemory, Processes: c.Limits.PDFProcesses}),
		ReplaysPerUser: c.Limits.ReplaysPerUser, Replays: c.Limits.Replays, ReplayCache: c.Limits.ReplayCache, KeepLogs: c.Retention.Logs, MirrorBytes: c.Limits.Mirrors,
		Logger: log, Carry: telemetry.CarryTrace, Leases: leaseOptions(c, s.store, log),
	}
}

// routes returns the handler of the API.
func (s *Service) routes(c settings.Config, contract []byte, offers *pages.Pages, watch *telemetry.Telemetry, log *slog.Logger) (http.Handler, error) {
	page, err := web.Handler()
	if err != nil {
		return nil, err
	}
	var local []string
	if !c.Authenticated() {
		local = []string{c.Addr}
	}
	operator := admin.Options{Store: s.store, Logs: s.store, Self: s.runs.Replica, Servers: s.mcp.clients.State, Now: time.Now}
	if table := s.store.Replicas(); table != nil {
		operator.Replicas = table
	}
	conversations := chats.New(s.store, s.store, s.store, s.runs, offers)
	return api.New(api.Options{
		Auth: s.auth, Issuer: c.Auth.OIDCIssuer, PublicURL: c.PublicURL, CORSOrigins: c.CORSOrigins, LocalHosts: local, Tickets: ticketStore(c, s.store),
		Runs: s.runs, Streams: s.runs, Chats: conversations, Documents: s.documents, Research: research.New(s.store), Pages: offers, Models: modelOffers(c),
		UserData: userdata.New(s.store, s.store, s.store, s.documents, conversations),
		Usage:    usage.NewReports(s.store, time.Now), Admin: admin.New(operator), Diagnostics: seesDiagnostics(c.Diagnostics),
		MCP: s.mcp.handler.For, Metrics: watch.Handler(), Web: page, OpenAPI: contract, Ready: s.ready, Remark: s.remark,
		KeepAlive: c.KeepAlive, StreamWait: c.Timeouts.StreamWrite, SessionIdle: c.SessionIdle, OpenStreams: watch.OpenStreams, Sockets: s.sockets,
		Limits: api.Limits{
			Body: c.Limits.Body, FilesBody: c.Limits.LargeBody, Message: c.Limits.Message,
			StreamsPerUser: c.Limits.StreamsPerUser, RequestsPerMinute: c.Limits.RequestsPerMinute, OthersPerMinute: c.Limits.OthersPerMinute,
			BodiesPerUser: c.Limits.BodiesPerUser, Bodies: c.Limits.Bodies, AnswersPerUser: c.Limits.AnswersPerUser, Answers: c.Limits.Answers,
		},
		Log: log,
	}), nil
}

// ready returns why the service accepts no requests; nil if it does.
func (s *Service) ready(ctx context.Context) error {
	if s.stopping.Load() || s.runs.Draining() {
		return schemas.NewError(schemas.CodeShuttingDown, "the service is stopping")
	}
	if s.runs.Replaced() {
		return schemas.NewError(schemas.CodeShuttingDown, "another process answers now")
	}
	return s.store.Ping(ctx)
}

// seesDiagnostics returns whether a user may see system prompts (setting diagnostics).
func seesDiagnostics(setting string) func(schemas.User) bool {
	switch setting {
	case "all":
		return func(schemas.User) bool { return true }
	case "admin":
		return schemas.User.Admin
	default:
		return func(schemas.User) bool { return false }
	}
}

// addSample loads the sample data into an empty database.
func addSample(ctx context.Context, data *store.Store, log *slog.Logger) error {
	empty, err := data.Empty(ctx)
	if err != nil || !empty {
		return err
	}
	counts, err := data.Import(ctx, sample.Open())
	if err != nil {
		return fmt.Errorf("load the sample data: %w", err)
	}
	log.Info("sample data loaded", "streams", counts.Streams, "reports", counts.Reports, "articles", counts.Articles)
	return nil
}

// toolRegistry makes the tools that are configured, and adds more.
func toolRegistry(c settings.Config, data *store.Store, docs *documents.Documents, sharing func() int, more []turn.Tool) (*tools.Registry, error) {
	list, err := builtin.Tools(builtin.Config{
		PubMed:  builtin.PubMedConfig{BaseURL: c.PubMed.BaseURL, APIKey: c.PubMed.APIKey, Email: c.PubMed.Email, Sharing: sharing},
		SearXNG: c.SearXNG, FetchAllow: c.FetchAllow, Research: data, Payloads: data, Documents: docs,
		Models: modelNames(c), Sample: c.Demo(),
	})
	if err != nil {
		return nil, err
	}
	registry, err := tools.NewRegistry(append(list, more...)...)
	if err != nil {
		return nil, err
	}
	registry.Expect(builtin.Optional()...)
	return registry, nil
}

// authenticator turns a bearer token into a user; see api.Options.
type authenticator interface {
	Authenticate(ctx context.Context, bearer string) (schemas.User, time.Time, error)
}

// newAuthenticator returns the configured way to authenticate users.
func newAuthenticator(c settings.Config) authenticator {
	switch {
	case c.Auth.JWTSecret != "":
		return auth.NewHS256(c.Auth.JWTSecret, c.Auth.Audience)
	case c.Authenticated():
		return auth.NewOIDC(c.Auth.OIDCIssuer, c.Auth.JWKSURL, c.Auth.Audience, http.DefaultTransport)
	default:
		return auth.Local{}
	}
}
