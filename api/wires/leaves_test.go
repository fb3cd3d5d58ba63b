package wires_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// left counts the clients that do not come back.
type left struct {
	live

	count *int
}

func (l left) Leave(schemas.User, string) { *l.count++ }

// TestTheEndIsRead has clients that close the connection as soon as they have read the end of
// a response, which the service may see before its last write returns. By then the client may
// have brought the outcome of its tool, and the run goes on. One that goes before has left.
func TestTheEndIsRead(t *testing.T) {
	group := runlog.Level{Group: 1}
	events := slices.Concat(beginning(0, 1), []runlog.Event{
		{Seq: 6, At: group, Body: &runlog.Call{ID: "c0", Name: "where", Index: 0, Client: true}},
		{Seq: 7, At: group, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm"}},
		asks(8, 0),
	})
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			serve := func(reads int, opening string) (writes, leaves int) {
				ctx, gone := context.WithCancel(t.Context())
				defer gone()
				to := &shown{ctx: ctx, gone: gone, left: reads}
				run := schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1, LastSequence: 8}
				waits := []schemas.Wait{{Index: 0, Kind: schemas.WaitClientTool, Tool: "where"}}
				c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
				batches := [][]runlog.Event{events[:4], events[4:]}
				c.Service = &wires.Service{Runs: left{live{run: run, batches: batches, waits: func() ([]schemas.Wait, error) { return waits, nil }}, &leaves}}
				func() {
					defer func() {
						if err, _ := recover().(error); err != nil && !errors.Is(err, http.ErrAbortHandler) {
							t.Error(err)
						}
					}()
					if err := c.Service.Serve(c, to, wires.Response{Run: run, Table: v.Table, Leaves: true, Opening: opening}); err != nil {
						t.Error(err)
					}
				}()
				return reads - to.left, leaves
			}
			const plenty = 1000
			writes, leaves := serve(plenty, "")
			if writes < 2 || leaves != 0 {
				t.Fatalf("%s/%s: a client that stays gets %d writes and has left %d times, want never", w.Name, v.Name, writes, leaves)
			}
			if _, leaves := serve(writes-1, ""); leaves != 0 {
				t.Errorf("%s/%s: the client has left, and has read the end", w.Name, v.Name)
			}
			for _, opening := range []string{"", ": open\n\n"} {
				if _, leaves := serve(0, opening); leaves != 1 {
					t.Errorf("%s/%s: a client that has gone has left %d times, want once (opening %q)", w.Name, v.Name, leaves, opening)
				}
			}
		}
	}
}

// quick is a run whose waits are read after the client has gone.
type quick struct {
	left

	reads *int
}

func (q quick) Waits(ctx context.Context, _ schemas.User, _ string) ([]schemas.Wait, error) {
	return nil, ctx.Err()
}

func (q quick) Follow(ctx context.Context, _ schemas.User, _ string, _ int64, _ time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return func(yield func([]runlog.Event, error) bool) {
		*q.reads++
		if ctx.Err() == nil {
			panic("the client has gone, and its reader goes on")
		}
		yield(nil, ctx.Err())
	}, nil
}

// TestAClientThatLeavesBeforeItsResponse has clients that go as soon as they have asked, before
// the waits of the run are read: each was a reader that has left, so a run that ends with its
// last reader ends; at once if the client does not come back. A client that may not go on reading is no such client.
func TestAClientThatLeavesBeforeItsResponse(t *testing.T) {
	for _, away := range []bool{false, true} {
		for _, collects := range []bool{false, true} {
			for _, goes := range []bool{false, true} {
				ctx, leave := context.WithCancel(t.Context())
				if !goes {
					ctx, leave = context.WithDeadline(t.Context(), time.Unix(1, 0)) // the token has expired
				}
				leave()
				reads, ends := 0, 0
				run := schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1}
				c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
				c.Service = &wires.Service{Runs: quick{left{live{run: run}, &ends}, &reads}}
				part := wires.Response{Run: run, Table: all.Wires()[0].Tables[0].Table, Leaves: away}
				var err error
				if to := (&shown{ctx: ctx, left: -1}); collects {
					_, err = c.Service.Collect(c, to, part, false)
				} else {
					err = c.Service.Serve(c, to, part)
				}
				wantReads, wantEnds := 0, 0
				if goes {
					wantReads = 1
				}
				if goes && away {
					wantEnds = 1
				}
				if seen, ok := errors.AsType[*schemas.Error](err); !goes && (!ok || seen.Code != schemas.CodeUnauthorized || seen.RunID != "r") {
					t.Errorf("collects %t: an expired token gives %v, want unauthorized", collects, err)
				}
				if err == nil || reads != wantReads || ends != wantEnds {
					t.Errorf("goes %t, away %t, collects %t: read %d times, left %d times (%v); want %d and %d, and an error", goes, away, collects, reads, ends, err, wantReads, wantEnds)
				}
			}
		}
	}
}
