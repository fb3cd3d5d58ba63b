// Package runs owns the life of runs, from their start to their end, across
// requests and crashes. It is the only package that starts goroutines that
// nobody joins; Runs.Shutdown waits for them.
//
// It leaves HTTP and dialects to api, the loop to agents, what tools do to
// tools, and SQL to store.
package runs

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/seldom"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/acts"
	"github.com/chattray/chattray/services/answer/waits"
	"github.com/chattray/chattray/services/approvals"
	"github.com/chattray/chattray/services/clicks"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/exchange"
	"github.com/chattray/chattray/services/guard"
	"github.com/chattray/chattray/services/leases"
	"github.com/chattray/chattray/services/meters"
	"github.com/chattray/chattray/services/modeltext"
	"github.com/chattray/chattray/services/pdftext"
	"github.com/chattray/chattray/services/prepare"
	"github.com/chattray/chattray/services/questions"
	"github.com/chattray/chattray/services/readers"
	"github.com/chattray/chattray/services/timers"
	"github.com/chattray/chattray/services/usage"
	"github.com/chattray/chattray/services/views"
)

// Agent runs one bounded conversation between a model and tools.
type Agent interface {
	Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error]
}

// Defaults of Options.
const (
	defaultRunTimeout = 15 * time.Minute
	// defaultDisconnectGrace is how long a run that ends with its last reader
	// waits for a reader to come back.
	defaultDisconnectGrace = 5 * time.Second
	// MaxAttempts is how many attempts a run has before it ends as interrupted. An
	// attempt that ends while the run waits does not count.
	MaxAttempts = 3
	// maxAttemptsEver bounds all attempts, also those that do not count, so that the
	// numbers of levels fit.
	maxAttemptsEver = 4000

	cancelWait = 900 * time.Millisecond
	// busyWait is how long a question that cancels another replica's run waits for its end.
	busyWait = 5 * time.Second
	// claimEvery is how often a claim is tried again whose holder is about to be stored.
	claimEvery = 20 * time.Millisecond
	// DefaultStopWait is how long Shutdown waits after its time for runs that do not
	// stop at once when they are interrupted, and for their readers.
	DefaultStopWait = 5 * time.Second

	recoverAtOnce   = 16
	marksAtOnce     = 256 // marks that are stored together
	reviveEvery     = 2 * time.Second
	maxQueuedOfChat = 16
)

// The causes of a cancelled run.
var (
	errShutdown   = errors.New("the service is stopping")
	errRunTimeout = schemas.NewError(schemas.CodeRunTimeout, "the answer took too long and was stopped")
)

// Options configures Runs. Store and Agent must be set besides what prepare
// needs; the zero value of the others is their default.
type Options struct {
	prepare.Options
	Store Stores
	Agent Agent

	// Prices says by model what it costs; a model that is not in it costs nothing.
	Prices map[string]usage.Price
	Budget usage.Budget

	// Leases say how the process shares the database with others.
	Leases leases.Options

	// Acts are what other replicas do to runs here, and what is done here to theirs;
	// empty for a process that has its database to itself. Carrier carries messages
	// between them; nil carries none.
	Acts    acts.Stores
	Starts  acts.Starts
	Carrier exchange.Carrier

	// Missing returns a channel that is closed once the server of the tool has been connected;
	// it returns nil if that has happened, and for a tool without a server. It may be nil.
	Missing func(tool string) <-chan struct{}

	// Answered is called with the first answer of each new chat, once it is stored, and
	// with that of each run taken up from an earlier process or attempt, whose chat may be
	// older. It must return at once; it may be nil.
	Answered func(record.FirstAnswer)

	// Carry returns a run's context with the values of its request's context that
	// traces need; nil carries nothing.
	Carry func(from, to context.Context) context.Context

	RunTimeout time.Duration
	// StopWait bounds Shutdown after its context has ended.
	StopWait time.Duration
	// DisconnectGrace is how long a run with on_disconnect cancel continues without a reader.
	DisconnectGrace time.Duration
	// ApprovalTimeout is how long a call waits for the user or for the page.
	ApprovalTimeout time.Duration
	// ApproveAfterUntrusted decides which calls need approval once the model
	// has read text from outside.
	ApproveAfterUntrusted guard.Mode
	RunsPerUser           int // 0 is no limit
	// Text bounds what models write; a limit of 0 follows from MaxTokens and MaxIterations.
	Text modeltext.Limits
	// PDF reads attached PDF files; nil takes none.
	PDF *pdftext.Reader
	// ReplaysPerUser and Replays bound the stored logs that are read at once; 0 is no limit.
	// ReplayCache bounds the bytes of them that are kept in memory.
	ReplaysPerUser, Replays int
	ReplayCache             int64
	// KeepLogs is how long a log is shown after the end of its run; 0 is forever.
	KeepLogs time.Duration
	// Tail reads what other processes store of their runs, and MirrorBytes bounds what
	// is kept of that in memory.
	Tail          readers.Tail
	MirrorBytes   int64
	Flush, Hold   time.Duration
	Logger        *slog.Logger
	Metrics       meters.Runs
	ReaderMetrics meters.Readers
	BusMetrics    meters.Bus
	Now           func() time.Time
	// SharedNow is the time of the clock that all processes share; nil means Now.
	SharedNow func(context.Context) (time.Time, error)
}

// Runs are the runs of the service. It is safe for concurrent use.
type Runs struct {
	Options
	*approvals.Approvals
	*views.Views
	committer *eventlog.Committer
	clicks    *clicks.Clicks
	questions *questions.Questions
	prepare   *prepare.Preparer
	budgets   *usage.Budgets
	running   *usage.Running
	text      *modeltext.Total
	readers   *readers.Readers
	leases    *leases.Leases
	acts      *acts.Acts         // nil for a process without others
	exchange  *exchange.Exchange // nil without a carrier

	//nolint:containedctx // the base context of all runs; it ends when Shutdown has waited long enough
	base context.Context
	stop context.CancelCauseFunc

	mu                  sync.Mutex
	live                map[string]*run
	draining, handsOver bool
	idleEnds            bool                // Shutdown knows whether it hands over: idle runs end
	beginning           concurrent.Begun    // runs whose first write is under way
	parked              map[string]parked   // runs that wait for the database
	unpolledChats       map[int64]bool      // chats whose queue could not be read
	untended            seldom.Log          // of what waits for the database and is tried every few seconds
	starting            concurrent.Locks    // Idempotency-Keys of requests that are being started
	absent              timers.Graces[*run] // runs whose reader may come back
	recovered           time.Time           // when Recover began; zero after the second scan
	unsure              bool                // see adopt
	taking              concurrent.Locks    // held while runs are taken, until they are known here
	work                sync.WaitGroup
	endLoops            context.CancelFunc
	loops               sync.WaitGroup

	//nolint:containedctx // it ends when Shutdown has waited for the runs
	looping context.Context
}

// New returns Runs with a running committer. Recover continues the runs that an
// earlier process left unfinished.
func New(o Options) *Runs {
	o.RunTimeout = cmp.Or(o.RunTimeout, defaultRunTimeout)
	o.DisconnectGrace = cmp.Or(o.DisconnectGrace, defaultDisconnectGrace)
	o.StopWait = cmp.Or(o.StopWait, DefaultStopWait)
	o.ApprovalTimeout = cmp.Or(o.ApprovalTimeout, waits.DefaultTimeout)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = meters.None{}
	}
	if o.Carry == nil {
		o.Carry = func(_, to context.Context) context.Context { return to }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Runs{
		Options: o, live: make(map[string]*run), parked: make(map[string]parked), unpolledChats: make(map[int64]bool),
	}
	r.clicks = clicks.New(clicks.Options{Store: o.Store.Clicks, Pages: o.Pages, Actions: o.Actions, Logger: o.Logger})
	r.questions = questions.New(questions.Options{
		Store: o.Store.Questions, Runs: o.Store.Runs, Pages: o.Pages, Clicks: r.clicks, Documents: o.Drafts, PDF: o.PDF, OffersModel: r.OffersModel, Now: r.now, Logger: o.Logger,
	})
	r.Approvals = approvals.New(o.Store.Waits, r, o.Pages, o.Missing)
	o.Prompt.Now = o.Now
	r.prepare = prepare.New(o.Options, o.Store.Prepare, o.Store.History, r.ask, o.Logger)
	r.budgets = usage.NewBudgets(o.Budget, o.Leases.Many, o.Store.Usage, r.now)
	r.running = usage.NewRunning(o.RunsPerUser)
	r.text = modeltext.New(o.Text.Or(o.MaxTokens, o.MaxIterations))
	r.exchange = exchange.New(exchange.Options{Carrier: o.Carrier, Me: r.Replica, Own: r.logOf, Metrics: o.BusMetrics, Logger: o.Logger})
	r.readers = readers.New(readers.Options{
		Bus: r.exchange, Own: r.own, Runs: o.Store.Runs, Answers: o.Store.Logs, Words: o.Pages.Words, Tail: o.Tail, Bytes: o.MirrorBytes, Lease: o.Leases.Time, Metrics: o.ReaderMetrics, Logger: o.Logger,
		Replays: eventlog.NewReplays(eventlog.ReplayOptions{Load: o.Store.Logs.NextSegment, Cache: o.ReplayCache}), Keep: o.KeepLogs, PerUser: o.ReplaysPerUser, All: o.Replays,
	})
	r.Views = views.New(views.Options{Store: o.Store.Views, Words: o.Pages.Words, Last: r.readers.Last, Trace: r.traceOf})
	r.base, r.stop = context.WithCancelCause(context.Background())
	r.leases = leases.New(r.base, o.Leases)
	r.acts = acts.New(acts.Options{Stores: o.Acts, Here: here{r}, Starts: o.Starts, Withdrawals: o.Drafts.LookForWithdrawals, Tell: r.exchange, Loose: r.leases.LookNow, Logger: o.Logger})
	r.committer = eventlog.NewCommitter(eventlog.CommitterOptions{
		Store: o.Store.Commit, Flush: o.Flush, Hold: o.Hold, Prompt: o.Leases.Many, Logger: o.Logger, Batch: o.Metrics.StoreBatch,
	})
	loops, end := context.WithCancel(context.Background())
	r.looping, r.endLoops = loops, end
	r.loops.Go(func() { r.committer.Run(loops) })
	r.loops.Go(func() { r.revive(loops) })
	r.loops.Go(func() { r.readers.Watch(loops) })
	r.loops.Go(func() {
		r.exchange.Run(loops, exchange.Handlers{Events: r.readers.Take, Rows: r.readers.LookAt, Hint: r.acts.Hear})
	})
	return r
}

// ask makes one call of the model without tools and returns its text.
func (r *Runs) ask(ctx context.Context, req turn.Request) (string, error) {
	return turn.TextOf(r.Agent.Run(ctx, req))
}

func (r *Runs) now() time.Time { return r.Now().UTC() }

func (r *Runs) nowMilli() int64 { return r.Now().UnixMilli() }

// Wake wakes a waiting call of the run, if the run is running here.
func (r *Runs) Wake(id string, call int) {
	if run := r.find(id); run != nil {
		run.wakeups.Ring(call)
	} else {
		r.exchange.Tell(exchange.Look, id)
	}
}

// find returns a run of this process, or nil. A run may be stored and not yet be here: it
// waits for that.
func (r *Runs) find(id string) *run {
	r.beginning.Wait(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.live[id]
}

// those returns the runs of this process for which is holds, those that have begun first,
// the earliest first. Is is called with the lock held.
func (r *Runs) those(is func(*run) bool) []*run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*run
	for _, run := range r.live {
		if is(run) {
			list = append(list, run)
		}
	}
	slices.SortFunc(list, func(a, b *run) int { // ids are ordered by time
		return cmp.Or(cmp.Compare(min(b.Attempt, 1), min(a.Attempt, 1)), strings.Compare(a.ID, b.ID))
	})
	return list
}

// idsOf returns the ids of runs.
func idsOf(list []*run) []string {
	ids := make([]string, len(list))
	for i, run := range list {
		ids[i] = run.ID
	}
	return ids
}

// traceOf returns the trace of an ended run that is still followed here, else nil.
func (r *Runs) traceOf(user schemas.User, id string) *schemas.Diagnostics {
	if run := r.find(id); run != nil && run.Owner.ID == user.ID {
		return run.trace.Load()
	}
	return nil
}

// ModelText returns how many bytes models have written in the running runs.
func (r *Runs) ModelText() int64 { return r.text.Bytes() }

// Draining reports whether Shutdown has begun.
func (r *Runs) Draining() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.draining
}
