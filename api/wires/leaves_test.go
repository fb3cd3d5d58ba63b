package wires_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// cancelled counts the runs that are cancelled.
type cancelled struct {
	live

	count *int
}

func (c cancelled) Cancel(context.Context, schemas.User, string) (schemas.Run, error) {
	*c.count++
	return c.run, nil
}

// TestTheEndIsRead has clients that close the connection as soon as they have read the end of
// a response, which the service may see before its last write returns. By then the client may
// have brought the outcome of its tool, and the run goes on. One that goes before stops it.
func TestTheEndIsRead(t *testing.T) {
	group := runlog.Level{Group: 1}
	events := slices.Concat(beginning(0, 1), []runlog.Event{
		{Seq: 6, At: group, Body: &runlog.Call{ID: "c0", Name: "where", Index: 0, Client: true}},
		{Seq: 7, At: group, Body: &runlog.LevelEnd{Depth: runlog.GroupLevel, Type: "llm"}},
		asks(8, 0),
	})
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			serve := func(left int, opening string) (writes, cancels int) {
				ctx, gone := context.WithCancel(t.Context())
				defer gone()
				to := &shown{ctx: ctx, gone: gone, left: left}
				run := schemas.Run{RunID: "r", State: schemas.RunRunning, Attempt: 1, LastSequence: 8}
				waits := []schemas.Wait{{Index: 0, Kind: schemas.WaitClientTool, Tool: "where"}}
				c := &wires.Call{Request: httptest.NewRequest(http.MethodPost, "/", http.NoBody), Response: httptest.NewRecorder(), Done: func() {}}
				batches := [][]runlog.Event{events[:4], events[4:]}
				c.Service = &wires.Service{Runs: cancelled{live{run: run, batches: batches, waits: func() ([]schemas.Wait, error) { return waits, nil }}, &cancels}}
				func() {
					defer func() {
						if err, _ := recover().(error); err != nil && !errors.Is(err, http.ErrAbortHandler) {
							t.Error(err)
						}
					}()
					if err := c.Service.Serve(c, to, wires.Response{Run: run, Table: v.Table, Cancels: true, Opening: opening}); err != nil {
						t.Error(err)
					}
				}()
				return left - to.left, cancels
			}
			const plenty = 1000
			writes, cancels := serve(plenty, "")
			if writes < 2 || cancels != 0 {
				t.Fatalf("%s/%s: a client that stays gets %d writes and %d runs are cancelled, want no run", w.Name, v.Name, writes, cancels)
			}
			if _, cancels := serve(writes-1, ""); cancels != 0 {
				t.Errorf("%s/%s: the run is cancelled because the client has read the end", w.Name, v.Name)
			}
			for _, opening := range []string{"", ": open\n\n"} {
				if _, cancels := serve(0, opening); cancels != 1 {
					t.Errorf("%s/%s: the run of a client that has gone is cancelled %d times, want once (opening %q)", w.Name, v.Name, cancels, opening)
				}
			}
		}
	}
}
