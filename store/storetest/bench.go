package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas/record"
)

// benchBatch is how many runs write at the same moment.
const benchBatch = 64

// BenchmarkCommit measures commits of one kind of write from benchBatch runs at
// once, commits of whole runs (a turn with one tool round), and the commit of a
// single Begin, which comes before the first event of a run.
func BenchmarkCommit(b *testing.B, fresh func(t testing.TB) string) {
	for i, kind := range [...]string{"begin", "checkpoint", "tool_start", "tool_finish", "checkpoint_2", "segment", "finish"} {
		b.Run(kind, func(b *testing.B) {
			s := newBench(b, fresh(b))
			for b.Loop() {
				b.StopTimer()
				runs := s.runs(benchBatch)
				for _, stage := range runs[:i] {
					s.mustCommit(stage...)
				}
				b.StartTimer()
				s.mustCommit(runs[i]...)
			}
			perWrite(b, benchBatch)
		})
	}
	b.Run("whole_runs", func(b *testing.B) {
		s := newBench(b, fresh(b))
		for b.Loop() {
			b.StopTimer()
			runs := s.runs(benchBatch)
			b.StartTimer()
			for _, stage := range runs {
				s.mustCommit(stage...)
			}
		}
		perWrite(b, benchBatch)
	})
	b.Run("one_begin", func(b *testing.B) {
		s := newBench(b, fresh(b))
		for b.Loop() {
			b.StopTimer()
			w := s.begin("Find recent trials")
			b.StartTimer()
			s.mustCommit(w)
		}
	})
}

func perWrite(b *testing.B, n int) {
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/each")
}

type bench struct{ *fixture }

func newBench(b *testing.B, url string) bench { return bench{newFixture(b, open(b, url))} }

// runs makes the writes of n runs, stage by stage: begin, checkpoint, tool
// start, tool finish, checkpoint, segment, finish.
func (s bench) runs(n int) [7][]*record.Write {
	var stages [7][]*record.Write
	for i := range n {
		w := s.begin("Find recent trials of CRISPR in sickle cell disease")
		w.Begin.Run.Request = json.RawMessage(`{"message":"Find recent trials of CRISPR in sickle cell disease","context":{"current_page":"reports"}}`)
		write := func(part record.Write) *record.Write {
			part.RunID, part.Attempt = w.RunID, 1
			return &part
		}
		call := record.ToolCall{
			ToolUseID: "call_" + w.RunID[24:], Name: "search_articles", State: record.ToolStarted, Attempt: 1, Input: json.RawMessage(`{"query":"crispr"}`),
			StartedAt: start,
		}
		done := call
		done.State, done.Output, done.Duration = record.ToolFinished, prose(600), 12*time.Millisecond
		done.ModelOutput = done.Output
		end := s.finish(w, prose(120))
		end.Finish.Log = log(segment(1, 34, events(34)))
		end.Finish.Trace = json.RawMessage(`{"system_prompt":"` + prose(2500) + `","messages":["` + prose(900) + `"]}`)
		p := payload(fmt.Sprintf("%08x", i), "article_search_results", `{"rows":["`+prose(700)+`"]}`)
		parts := [7]*record.Write{
			w, write(record.Write{Checkpoint: &record.Checkpoint{N: 1, Data: json.RawMessage(`{"reply":"` + prose(300) + `"}`)}}),
			write(record.Write{ToolCall: &call}),
			write(record.Write{ToolCall: &done, Payloads: []record.Payload{{CustomPayload: p, MessageID: w.Begin.Run.MessageID, CreatedAt: start}}}),
			write(record.Write{Checkpoint: &record.Checkpoint{N: 2, Data: json.RawMessage(`{"results":["` + prose(600) + `"]}`)}}),
			write(record.Write{Segment: &record.Segment{First: 1, Last: 20, Data: []byte(events(20))}}), end,
		}
		for stage, part := range parts {
			stages[stage] = append(stages[stage], part)
		}
	}
	return stages
}

// prose is text that compresses as prose does.
func prose(n int) string {
	words := strings.Fields("the of and in patients trial cell disease therapy edited gene with sickle results were at months after infusion response")
	var b strings.Builder
	for x := n; b.Len() < n; {
		x = (x*1664525 + 1013904223) % (1 << 31)
		b.WriteString(words[(x>>16)%len(words)])
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

// events is a log as services encodes one.
func events(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"seq":%d,"type":"text_delta","at":%d,"data":{"type":"text_delta","text":"%s"}}`+"\n", i, 1732150000000+17*i, prose(3+i%5))
	}
	return b.String()
}
