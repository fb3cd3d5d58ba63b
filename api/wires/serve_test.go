package wires_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// stored is a run that has ended, with all its events in one batch.
type stored struct {
	wires.Runs

	events []runlog.Event
}

func (s stored) Run(context.Context, schemas.User, string) (schemas.Run, error) {
	return schemas.Run{RunID: "r", State: schemas.RunCompleted, LastSequence: int64(len(s.events))}, nil
}

func (s stored) Waits(context.Context, schemas.User, string) ([]schemas.Wait, error) { return nil, nil }

func (s stored) Follow(context.Context, schemas.User, string, int64, time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	return func(yield func([]runlog.Event, error) bool) { yield(s.events, nil) }, nil
}

// pieces notes the sizes of the writes to a stream.
type pieces struct {
	ctx          context.Context //nolint:containedctx // the stream's
	largest, all int
}

func (p *pieces) Context() context.Context { return p.ctx }

func (p *pieces) Write(frames []byte) bool {
	p.largest, p.all = max(p.largest, len(frames)), p.all+len(frames)
	return true
}

func (*pieces) Close() {}

// TestALongLogIsWrittenInPieces has a client that reads a long answer: the next frames are
// made only when the ones before are written, so that a client that reads slowly holds no
// more than one piece.
func TestALongLogIsWrittenInPieces(t *testing.T) {
	const texts, size, most = 2000, 1000, 20 << 10
	at := runlog.Level{Group: 1, Message: 2}
	list := []runlog.Event{
		{Seq: 1, Body: &runlog.Started{Target: runlog.Target{MessageID: "a"}}},
		{Seq: 2, At: runlog.Level{Group: 1}, Body: &runlog.LevelStart{Depth: runlog.GroupLevel, Type: "llm"}},
		{Seq: 3, At: at, Body: &runlog.LevelStart{Depth: runlog.MessageLevel}},
	}
	for range texts {
		list = append(list, runlog.Event{Seq: int64(len(list) + 1), At: at, Body: &runlog.Text{Text: strings.Repeat("x", size)}})
	}
	list = append(list, runlog.Event{Seq: int64(len(list) + 1), Body: &runlog.Cancelled{}})
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			s := &wires.Service{Runs: stored{events: list}}
			to := &pieces{ctx: t.Context()}
			c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
			if err := s.Serve(c, to, wires.Response{Run: schemas.Run{RunID: "r"}, Table: v.Table}); err != nil {
				t.Fatal(err)
			}
			longest := most
			if w.Name == "responses" { // some of its frames have the whole text
				longest += texts * size
			}
			if to.all < texts*size || to.largest > longest {
				t.Errorf("%s/%s: %d bytes, at most %d at once; want all, and at most %d at once", w.Name, v.Name, to.all, to.largest, longest)
			}
		}
	}
}
