// Package telemetry is the service's log, metrics and traces.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Labels must come from a fixed set: unknownTool replaces names that a model made up, and
// clientTool those of tools that clients define in their requests.
const unknownTool, clientTool = "unknown", "client"

// NewLogger returns the logger of the service. Format auto is text if w is a
// terminal, else json. A duration is written with its unit in both. No line waits for w: up
// to logRoom bytes are written later, and what is more is left out. Call flush at the end: it
// waits for the last lines, at most logWait.
func NewLogger(w io.Writer, level slog.Level, format string) (log *slog.Logger, flush func()) {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withUnit}
	plain := format == "text" || format == "auto" && isTerminal(w)
	handler := func(w io.Writer) slog.Handler {
		if plain {
			return slog.NewTextHandler(w, options)
		}
		return slog.NewJSONHandler(w, options)
	}
	lines := &logWriter{to: w, handler: handler}
	return slog.New(tracedLog{handler(lines)}), lines.flush
}

// withUnit makes a duration a text such as 1.5s, which JSON would have as nanoseconds.
func withUnit(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Telemetry keeps the metrics of the service and traces runs. Its methods are
// safe for concurrent use.
type Telemetry struct {
	registry *prometheus.Registry
	tracer   trace.Tracer
	servers  map[string]string // the hosts of the models' servers; see ModelServers
	replica  func() string     // this process's id; nil for one that is alone; see Leases
	stop     func(context.Context) error

	runs          *prometheus.HistogramVec
	runsActive    prometheus.Gauge
	streamsActive prometheus.Gauge
	firstToken    prometheus.Histogram
	events        prometheus.Counter
	modelCalls    *prometheus.HistogramVec
	modelTokens   *prometheus.CounterVec
	contained     prometheus.Counter
	toolCalls     *prometheus.HistogramVec
	batchWrites   prometheus.Histogram
	batchSeconds  prometheus.Histogram
	batchFailures prometheus.Counter
	mirrors       *prometheus.GaugeVec
	mirrorGaps    prometheus.Counter
	mirrorLag     prometheus.Histogram
	tail          prometheus.Histogram
	deleted       *prometheus.CounterVec
	runsTaken     *prometheus.CounterVec
	takeover      prometheus.Histogram
	fenced        prometheus.Counter
	busUp         prometheus.Gauge
	busMessages   *prometheus.CounterVec
	busBytes      *prometheus.CounterVec
	busIn, busOut sync.Map // busCounters by kind
}

// Options are the settings of New.
type Options struct {
	// Environ is the environment: traces are exported if its OTEL_* variables
	// name an endpoint.
	Environ []string
	// Version is the release in traces.
	Version string
	// Tracer replaces the exporter; nil uses the exporter.
	Tracer trace.Tracer
}

// New returns the metrics and traces. Call Close at the end.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	calls := prometheus.ExponentialBuckets(0.05, 2, 13) // 50 ms to 205 s
	t := &Telemetry{
		registry:      prometheus.NewRegistry(),
		runs:          histogramVec("run_seconds", "Runs that ended, by outcome; given up is an attempt that a later one continues.", calls, "outcome"),
		runsActive:    gauge("runs_active", "Running runs."),
		streamsActive: gauge("streams_active", "Open event streams."),
		firstToken:    histogram("first_token_seconds", "From a run's start to its first text, of answers that begin with text.", prometheus.ExponentialBuckets(0.001, 2, 17)),
		events:        prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "events_total", Help: "Events of all runs."}),
		contained: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "runs_contained_total", Help: "Runs that were ended because they had ended the process.",
		}),
		modelCalls: histogramVec("model_call_seconds", "Calls of models, by model and outcome.", calls, "model", "outcome"),
		modelTokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "model_tokens_total", Help: "Tokens of all calls, also unfinished ones, as usage counts them, by model and direction (input, output).",
		}, []string{"model", "direction"}),
		toolCalls:    histogramVec("tool_call_seconds", "Calls of tools, by tool and outcome.", calls, "tool", "outcome"),
		batchWrites:  histogram("store_batch_writes", "Writes in a batch.", prometheus.ExponentialBuckets(1, 2, 12)),
		batchSeconds: histogram("store_batch_seconds", "Time to commit a batch.", prometheus.ExponentialBuckets(0.0005, 2, 16)),
		batchFailures: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "store_batch_failures_total", Help: "Batches that were not committed; while the database is away each is tried again.",
		}),
		mirrors: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "mirrors", Help: "Runs of other processes that are followed here, by where their events come from (bus, log).",
		}, []string{"via"}),
		mirrorGaps: prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "mirror_gaps_total", Help: "Gaps in the events of other processes' runs."}),
		mirrorLag:  histogram("mirror_lag_seconds", "From an event of another process to its arrival here.", prometheus.ExponentialBuckets(0.0001, 2, 18)),
		deleted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "deleted_total", Help: "What was deleted because of its age, by kind (logs of runs, chats).",
		}, []string{"kind"}),
		tail: histogram("tail_seconds", "Time to look at what other processes have stored.", prometheus.ExponentialBuckets(0.0005, 2, 14)),
		runsTaken: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "runs_taken_total", Help: "Runs taken from other processes, by why: dead, let_go.",
		}, []string{"why"}),
		takeover: histogram("takeover_seconds", "From the last renewal of a process that is gone to its run's first event here.", prometheus.ExponentialBuckets(0.25, 1.5, 14)),
		fenced:   prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "fenced_total", Help: "Runs that were lost to another process while they were worked on."}),
		busUp:    gauge("bus_up", "1 while messages between the processes can be sent."),
		busMessages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "bus_messages_total", Help: "Messages between the processes, by kind and direction (in, out).",
		}, []string{"kind", "direction"}),
		busBytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "bus_bytes_total", Help: "Bytes of these messages, by direction.",
		}, []string{"direction"}),
	}
	t.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		t.runs, t.runsActive, t.streamsActive, t.firstToken, t.events, t.modelCalls, t.modelTokens, t.contained, t.toolCalls,
		t.batchWrites, t.batchSeconds, t.batchFailures, t.mirrors, t.mirrorGaps, t.mirrorLag, t.tail, t.deleted, t.runsTaken, t.takeover, t.fenced, t.busUp, t.busMessages, t.busBytes,
	)
	t.beginAtZero()
	if o.Tracer != nil {
		t.tracer, t.stop = o.Tracer, func(context.Context) error { return nil }
		return t, nil
	}
	var err error
	t.tracer, t.stop, err = newTracer(ctx, o)
	return t, err
}

// beginAtZero makes the figures whose labels are known. Prometheus sees no increase in a
// figure that begins with 1, so an alert would miss the first death of a process.
func (t *Telemetry) beginAtZero() {
	for _, end := range []schemas.RunState{schemas.RunCompleted, schemas.RunFailed, schemas.RunCancelled} {
		t.runs.WithLabelValues(string(end))
	}
	for _, why := range []string{"dead", "let_go"} {
		t.runsTaken.WithLabelValues(why)
	}
	for _, kind := range []string{"logs", "chats"} {
		t.deleted.WithLabelValues(kind)
	}
}

const namespace = "chattray"

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets})
}

func histogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// Handler answers with the metrics in Prometheus' text format.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{Registry: t.registry})
}

// Close sends the remaining spans.
func (t *Telemetry) Close(ctx context.Context) error { return t.stop(ctx) }

// RunStarted counts a run that begins; RunEnded must follow.
func (t *Telemetry) RunStarted() { t.runsActive.Inc() }

// RunEnded counts a run that ended as completed, failed or cancelled, or whose attempt was
// given up, which a later one continues.
func (t *Telemetry) RunEnded(outcome string, took time.Duration) {
	t.runsActive.Dec()
	t.runs.WithLabelValues(outcome).Observe(took.Seconds())
}

// RunContained counts a run that is ended because an earlier process died while it ran.
func (t *Telemetry) RunContained() { t.contained.Inc() }

// Deleted counts what was deleted because of its age: logs of runs, or chats.
func (t *Telemetry) Deleted(kind string, n int) { t.deleted.WithLabelValues(kind).Add(float64(n)) }

// FirstToken counts the time from a run's start to its first text.
func (t *Telemetry) FirstToken(took time.Duration) { t.firstToken.Observe(took.Seconds()) }

// Event counts n events of a log.
func (t *Telemetry) Event(n int) { t.events.Add(float64(n)) }

// OpenStreams adds change to the number of open streams.
func (t *Telemetry) OpenStreams(change int) { t.streamsActive.Add(float64(change)) }

// ModelServers names the hosts of the models' servers, by model. It is called
// before the first run.
func (t *Telemetry) ModelServers(hosts map[string]string) { t.servers = hosts }

// StoreBatch counts a commit of this many writes, and whether it failed.
func (t *Telemetry) StoreBatch(writes int, took time.Duration, err error) {
	if err != nil {
		t.batchFailures.Inc()
	}
	t.batchWrites.Observe(float64(writes))
	t.batchSeconds.Observe(took.Seconds())
}

// ModelCall counts a finished call of a model. Its outcome is ok or an error
// code.
func (t *Telemetry) ModelCall(model, outcome string, took time.Duration) {
	t.modelCalls.WithLabelValues(model, outcome).Observe(took.Seconds())
}

// metered returns a context whose calls of models have their tokens counted, and are
// reported to the meter of ctx.
func (t *Telemetry) metered(ctx context.Context) context.Context {
	return turn.WithMeter(ctx, func(call turn.ModelCall) {
		t.modelTokens.WithLabelValues(call.Model, "input").Add(float64(call.Usage.InputTokens))
		t.modelTokens.WithLabelValues(call.Model, "output").Add(float64(call.Usage.OutputTokens))
		turn.Metered(ctx, call)
	})
}

// ToolCall counts a finished call of a tool. Its outcome is ok or error.
func (t *Telemetry) ToolCall(tool, outcome string, took time.Duration) {
	t.toolCalls.WithLabelValues(tool, outcome).Observe(took.Seconds())
}
