package telemetry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/turn"
)

func TestLogger(t *testing.T) {
	for format, want := range map[string]string{"json": `"msg":"hello"`, "auto": `"msg":"hello"`, "text": "msg=hello"} {
		var out bytes.Buffer
		log, flush := NewLogger(&out, slog.LevelInfo, format)
		log.Debug("unseen")
		log.With("lease", 1500*time.Millisecond).Info("hello", slog.Group("retry", "wait", time.Minute))
		flush()
		for _, unit := range []string{"1.5s", "1m0s"} {
			if !strings.Contains(out.String(), unit) {
				t.Errorf("%s: the log is %q, want %s in it", format, out.String(), unit)
			}
		}
		if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "unseen") {
			t.Errorf("%s: the log is %q", format, out.String())
		}
	}
}

// A reader of the log that stops reading holds up no line, and the end of the process for
// logWait. When it reads again it gets the lines that had room and is told how many it misses,
// also if the log has errors only.
func TestLogWhoseReaderStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		log, flush := NewLogger(writer, slog.LevelError, "text")
		began := time.Now()
		log.Error("first")
		synctest.Wait() // it is being written
		for range 6 {
			log.Error("before", "text", strings.Repeat("x", logRoom/4))
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the lines took %v, want no time", took)
		}
		flush()
		if took := time.Since(began); took != logWait {
			t.Errorf("the last lines took %v, want %v", took, logWait)
		}
		var got bytes.Buffer
		go func() {
			if _, err := io.Copy(&got, reader); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		log.Error("after")
		log.Error("after")
		flush()
		if err := writer.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		for text, want := range map[string]int{"msg=first": 1, "msg=before": 3, "left_out=3": 1, "msg=after": 2, "\n": 7} {
			if n := strings.Count(got.String(), text); n != want {
				t.Errorf("%q is %d times in the log, want %d", text, n, want)
			}
		}
	})
}

// A reader of the log that takes its time holds up no line and gets them all.
func TestLogWhoseReaderIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowWriter{pause: logWait / 4}
		log, flush := NewLogger(slow, slog.LevelInfo, "text")
		began := time.Now()
		var users sync.WaitGroup
		for range 100 {
			users.Go(func() { log.Info("request") })
		}
		users.Wait()
		if took := time.Since(began); took != 0 {
			t.Errorf("the lines took %v, want no time", took)
		}
		flush()
		if n := strings.Count(slow.text.String(), "msg=request\n"); n != 100 {
			t.Errorf("%d lines are in the log, want 100", n)
		}
	})
}

// slowWriter takes its time for each write.
type slowWriter struct {
	pause time.Duration
	text  bytes.Buffer
}

func (w *slowWriter) Write(p []byte) (int, error) {
	<-time.After(w.pause)
	return w.text.Write(p)
}

// scripted is an agent that yields the given events. It reports the calls and then the usage
// of each reply to the context's meter.
type scripted struct {
	calls  []turn.ModelCall
	events []turn.Event
	err    error
}

func (s scripted) Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		for _, call := range s.calls {
			turn.Metered(ctx, call)
		}
		for _, e := range s.events {
			meter(ctx, req.Model, e)
			if !yield(e, nil) {
				return
			}
		}
		if s.err != nil {
			yield(nil, s.err)
		}
	}
}

// meter reports the usage of a reply, as the model does that has written it.
func meter(ctx context.Context, model string, event turn.Event) {
	reply, ok := event.(turn.Reply)
	if reply.Model != "" {
		model = reply.Model
	}
	if ok {
		turn.Metered(ctx, turn.ModelCall{Model: model, Usage: reply.Usage})
	}
}

// last reads to the end and returns the last error.
func last(events iter.Seq2[turn.Event, error]) error {
	var last error
	for _, err := range events {
		last = err
	}
	return last
}

// watch returns a telemetry whose spans are kept.
func watch(t *testing.T) (*Telemetry, *tracetest.InMemoryExporter) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	telemetry, err := New(t.Context(), Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)).Tracer("test")})
	if err != nil {
		t.Fatal(err)
	}
	return telemetry, spans
}

// metrics returns the lines about ours.
func metrics(t *testing.T, telemetry *Telemetry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	telemetry.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	return answer.Body.String()
}

func wantLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("%q is not in the metrics", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestWatchedAgent(t *testing.T) {
	telemetry, spans := watch(t)
	script := scripted{events: []turn.Event{
		turn.CallStart{},
		turn.TextDelta{Text: "private words"},
		turn.Reply{Text: "private words", StopReason: schemas.EndTurn, Usage: schemas.Usage{InputTokens: 5, OutputTokens: 7}},
		turn.ToolStart{ID: "c1", Name: "search"},
		turn.ToolComplete{ID: "c1", Name: "search", Result: turn.Result{Text: "private words", Duration: 2 * time.Second}},
		turn.ToolComplete{ID: "c2", Name: "made up", Result: turn.Result{IsError: true}},
		turn.ToolComplete{ID: "c3", Name: "of_the_page_1"},
		turn.ToolComplete{ID: "c4", Name: "of_the_page_2"},
		turn.CallStart{Iteration: 1},
		turn.Reply{Synthetic: true},
		turn.LoopComplete{},
	}}
	request := turn.Request{Model: "m", Tools: []turn.Tool{{Name: "search"}, {Name: "of_the_page_1", Client: true}, {Name: "of_the_page_2", Client: true}}}
	var seen []turn.Event
	for event, err := range telemetry.Watch(script).Run(t.Context(), request) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, event)
	}
	if diff := cmp.Diff(script.events, seen); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	wantLines(t, metrics(t, telemetry),
		`chattray_model_call_seconds_count{model="m",outcome="ok"} 1`,
		`chattray_model_call_seconds_count{model="m",outcome="error"} 1`,
		`chattray_model_tokens_total{direction="input",model="m"} 5`,
		`chattray_model_tokens_total{direction="output",model="m"} 7`,
		`chattray_tool_call_seconds_sum{outcome="ok",tool="search"} 2`,
		`chattray_tool_call_seconds_count{outcome="error",tool="unknown"} 1`,
		`chattray_tool_call_seconds_count{outcome="ok",tool="client"} 2`,
	)
	var names []string
	root := spans.GetSpans()[len(spans.GetSpans())-1]
	for _, s := range spans.GetSpans() {
		names = append(names, s.Name)
		if s.SpanContext.TraceID() != root.SpanContext.TraceID() {
			t.Errorf("%s is in another trace", s.Name)
		}
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.String(), "private") {
				t.Errorf("%s holds what was said: %s", s.Name, a.Key)
			}
		}
	}
	want := []string{"chat m", "execute_tool search", "execute_tool unknown", "execute_tool of_the_page_1", "execute_tool of_the_page_2", "chat m", "invoke_agent chattray"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// Tokens are those that usage counts, also of replies that are incomplete and of calls
// without events.
func TestTokensAreThoseOfUsage(t *testing.T) {
	telemetry, _ := watch(t)
	calls := []turn.ModelCall{{Model: "m", Usage: schemas.Usage{InputTokens: 5, OutputTokens: 7}}, {Model: "n", Usage: schemas.Usage{InputTokens: 3}}}
	var counted []turn.ModelCall
	ctx := turn.WithMeter(t.Context(), func(call turn.ModelCall) { counted = append(counted, call) })
	_ = last(telemetry.Watch(scripted{calls: calls, events: []turn.Event{turn.CallStart{}, turn.Cancelled{}}}).Run(ctx, turn.Request{Model: "m"}))
	if diff := cmp.Diff(calls, counted); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	wantLines(t, metrics(t, telemetry),
		`chattray_model_tokens_total{direction="input",model="m"} 5`, `chattray_model_tokens_total{direction="output",model="m"} 7`,
		`chattray_model_tokens_total{direction="input",model="n"} 3`,
	)
}

func TestWatchedAgentThatFails(t *testing.T) {
	tests := []struct {
		name   string
		script scripted
		want   string
	}{
		{"upstream", scripted{err: schemas.NewError(schemas.CodeUpstreamAuth, "x").Because(errors.New("key sk-1"))}, "upstream_auth"},
		{"something unknown", scripted{err: errors.New("boom")}, "internal"},
		{"cancelled", scripted{events: []turn.Event{turn.Cancelled{}}}, "cancelled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			telemetry, spans := watch(t)
			tt.script.events = append([]turn.Event{turn.CallStart{}}, tt.script.events...)
			if err := last(telemetry.Watch(tt.script).Run(t.Context(), turn.Request{Model: "m"})); !errors.Is(err, tt.script.err) {
				t.Errorf("error is %v, want %v", err, tt.script.err)
			}
			wantLines(t, metrics(t, telemetry), `chattray_model_call_seconds_count{model="m",outcome="`+tt.want+`"} 1`)
			call := spans.GetSpans()[0]
			if call.Status.Code != codes.Error || call.Status.Description != tt.want {
				t.Errorf("span status is %v", call.Status)
			}
		})
	}
}

// Each model of a call that goes to several has its own time and outcome.
func TestModelsThatReplaceOthers(t *testing.T) {
	unavailable := schemas.NewError(schemas.CodeUpstreamUnavailable, "away")
	for name, tt := range map[string]struct {
		end  turn.Event
		err  error
		want []string
	}{
		"the second answers": {end: turn.Reply{Model: "b", StopReason: schemas.EndTurn, Usage: schemas.Usage{InputTokens: 5}}, want: []string{
			`chattray_model_call_seconds_sum{model="b",outcome="ok"} 2`, `chattray_model_tokens_total{direction="input",model="b"} 5`,
		}},
		"both fail":     {err: schemas.NewError(schemas.CodeRateLimited, "busy"), want: []string{`chattray_model_call_seconds_sum{model="b",outcome="rate_limited"} 2`}},
		"it is stopped": {end: turn.Cancelled{}, want: []string{`chattray_model_call_seconds_sum{model="b",outcome="cancelled"} 2`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				telemetry, spans := watch(t)
				loop := func(yield func(turn.Event, error) bool) {
					yield(turn.CallStart{}, nil)
					yield(turn.ModelAsked{Model: "a"}, nil)
					<-time.After(60 * time.Second)
					yield(turn.ModelAsked{Model: "b", Err: unavailable}, nil)
					<-time.After(2 * time.Second)
					yield(tt.end, tt.err)
				}
				_ = last(telemetry.Watch(agentOf(loop)).Run(t.Context(), turn.Request{Model: "a"}))
				wantLines(t, metrics(t, telemetry), append(tt.want, `chattray_model_call_seconds_sum{model="a",outcome="upstream_unavailable"} 60`)...)
				if n := strings.Count(metrics(t, telemetry), "chattray_model_call_seconds_count{"); n != 2 || len(spans.GetSpans()) != 3 {
					t.Errorf("%d kinds of calls and %d spans, want those of two calls", n, len(spans.GetSpans()))
				}
			})
		})
	}
}

// agentOf is an agent that yields these events.
type agentOf iter.Seq2[turn.Event, error]

func (a agentOf) Run(ctx context.Context, req turn.Request) iter.Seq2[turn.Event, error] {
	return func(yield func(turn.Event, error) bool) {
		for event, err := range a {
			meter(ctx, req.Model, event)
			if !yield(event, err) {
				return
			}
		}
	}
}

func TestWatchedAgentThatIsLeft(t *testing.T) {
	telemetry, spans := watch(t)
	for _, err := range telemetry.Watch(scripted{events: []turn.Event{turn.CallStart{}, turn.CallStart{}}}).Run(t.Context(), turn.Request{}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if n := len(spans.GetSpans()); n != 1 {
		t.Errorf("%d spans, want the run's alone", n)
	}
}

func TestMetricsOfRunsStreamsAndStore(t *testing.T) {
	telemetry, _ := watch(t)
	telemetry.RunStarted()
	telemetry.RunStarted()
	telemetry.RunEnded("completed", 3*time.Second)
	telemetry.FirstToken(time.Millisecond)
	telemetry.Event(4)
	telemetry.OpenStreams(1)
	telemetry.OpenStreams(1)
	telemetry.OpenStreams(-1)
	telemetry.StoreBatch(4, time.Millisecond, nil)
	telemetry.StoreBatch(5, time.Millisecond, record.ErrUnavailable)
	telemetry.Mirrors("log", 2)
	telemetry.Mirrors("log", -1)
	telemetry.MirrorGap()
	telemetry.MirrorLag(time.Millisecond)
	telemetry.Tail(time.Millisecond)
	telemetry.Leases(func() string { return "" }, func() time.Duration { return 1500 * time.Millisecond }, func() int { return 2 })
	telemetry.RunsTaken("dead", 3)
	telemetry.TookOver(3 * time.Second)
	telemetry.Fenced()
	wantLines(t, metrics(t, telemetry),
		"chattray_runs_active 1", `chattray_run_seconds_sum{outcome="completed"} 3`, "chattray_first_token_seconds_count 1",
		"chattray_events_total 4", "chattray_streams_active 1", "chattray_store_batch_writes_sum 9", "chattray_store_batch_seconds_count 2", "chattray_store_batch_failures_total 1",
		`chattray_mirrors{via="log"} 1`, "chattray_mirror_gaps_total 1", "chattray_mirror_lag_seconds_count 1", "chattray_tail_seconds_count 1",
		"chattray_replica_lease_left_seconds 1.5", "chattray_replicas_live 2", `chattray_runs_taken_total{why="dead"} 3`,
		"chattray_takeover_seconds_sum 3", "chattray_fenced_total 1")
}

// An alert on an increase misses the first one of a figure that begins with it.
func TestFiguresBeginAtZero(t *testing.T) {
	telemetry, _ := watch(t)
	wantLines(t, metrics(t, telemetry), `chattray_runs_taken_total{why="dead"} 0`, `chattray_runs_taken_total{why="let_go"} 0`,
		`chattray_run_seconds_count{outcome="failed"} 0`, `chattray_deleted_total{kind="chats"} 0`, "chattray_fenced_total 0", "chattray_runs_contained_total 0")
}

func TestTracesAreExported(t *testing.T) {
	var exports atomic.Int32
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil && bytes.Contains(body, []byte("invoke_agent chattray")) && r.URL.Path == "/v1/traces" {
			exports.Add(1)
		}
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL) // the exporter reads it itself
	telemetry, err := New(t.Context(), Options{Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}})
	if err != nil {
		t.Fatal(err)
	}
	if err := last(telemetry.Watch(scripted{events: []turn.Event{turn.LoopComplete{}}}).Run(t.Context(), turn.Request{})); err != nil {
		t.Fatal(err)
	}
	if err := telemetry.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exports.Load() != 1 {
		t.Errorf("%d exports with the run's span, want 1", exports.Load())
	}
}

func TestTracesAreOff(t *testing.T) {
	for name, environ := range map[string][]string{
		"without an endpoint": nil,
		"by the SDK's switch": {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_SDK_DISABLED=true"},
		"by the exporter":     {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_TRACES_EXPORTER=none"},
	} {
		telemetry, err := New(t.Context(), Options{Environ: environ})
		if err != nil {
			t.Fatal(err)
		}
		if _, span := telemetry.tracer.Start(t.Context(), "x"); span.IsRecording() {
			t.Errorf("%s: spans are recorded", name)
		}
	}
	if _, err := New(t.Context(), Options{Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://h", "OTEL_EXPORTER_OTLP_PROTOCOL=smoke"}}); err == nil {
		t.Error("got no error for an unknown protocol, want one")
	}
}
