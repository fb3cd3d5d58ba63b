package api_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
)

// sharingStreams are streams whose readers share the frames of the end, as they do those of
// a large event.
type sharingStreams struct {
	fakeStreams

	end *runlog.Frames
}

func (f sharingStreams) Follow(ctx context.Context, user schemas.User, id string, after int64, idle time.Duration) (iter.Seq2[[]runlog.Event, error], error) {
	follow, err := f.fakeStreams.Follow(ctx, user, id, after, idle)
	if err != nil {
		return nil, err
	}
	return func(yield func([]runlog.Event, error) bool) {
		for events, err := range follow {
			events = slices.Clone(events)
			for i := range events {
				if events[i].Terminal() {
					events[i].Shared = f.end
				}
			}
			if !yield(events, err) {
				return
			}
		}
	}, nil
}

// Readers of one run share the frame of a large end. Those who may not see diagnostics get
// none, whoever has read it before.
func TestSharedFramesKeepDiagnostics(t *testing.T) {
	w, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		o.Streams = sharingStreams{fakeStreams{w}, new(runlog.Frames)}
	})
	for _, trusted := range []bool{true, false, true} {
		w.trusted = trusted
		got, _ := send(t, ts.URL, "GET", "/api/chat/runs/"+aRun+"/stream", "")
		if text := string(got.body); !strings.Contains(text, `"type":"complete"`) || strings.Contains(text, `"diagnostics"`) != trusted {
			t.Errorf("a reader who may see diagnostics: %t, reads\n%s", trusted, text)
		}
	}
}

// lateDiagnostics are runs whose diagnostics cannot be read at first.
type lateDiagnostics struct {
	fakeRuns
	ready *bool
}

func (r lateDiagnostics) Diagnostics(ctx context.Context, user schemas.User, id string) (schemas.Diagnostics, error) {
	if !*r.ready {
		return schemas.Diagnostics{}, schemas.ErrNotFound
	}
	return r.fakeRuns.Diagnostics(ctx, user, id)
}

// A frame that lacks diagnostics because they could not be read is not for other readers.
func TestSharedFramesThatLackDiagnostics(t *testing.T) {
	ready := false
	w, ts := newTestEnv(t, func(w *testEnv, o *api.Options) {
		o.Streams, o.Runs = sharingStreams{fakeStreams{w}, new(runlog.Frames)}, lateDiagnostics{fakeRuns{w}, &ready}
	})
	w.trusted = true
	for i, tt := range []struct{ ready, want bool }{{false, false}, {true, true}, {false, true}} {
		ready = tt.ready
		got, _ := send(t, ts.URL, "GET", "/api/chat/runs/"+aRun+"/stream", "")
		if text := string(got.body); !strings.Contains(text, `"type":"complete"`) || strings.Contains(text, `"diagnostics"`) != tt.want {
			t.Errorf("reader %d, who gets diagnostics: %t, reads\n%s", i, tt.want, text)
		}
	}
}
