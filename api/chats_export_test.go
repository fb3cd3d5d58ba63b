package api_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/api"
	"github.com/chattray/chattray/api/auth"
	"github.com/chattray/chattray/schemas"
)

func TestChatExportNamesItsFile(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	for format, want := range map[string]string{"markdown": ".md", "json": ".json"} {
		got, _ := send(t, ts.URL, "GET", "/api/chats/789/export?format="+format, "")
		name := `attachment; filename="Find recent trials of CRISPR in sickle cell disease` + want + `"`
		if got.status != http.StatusOK || got.header.Get("Content-Disposition") != name {
			t.Errorf("%s: %d %q", format, got.status, got.header.Get("Content-Disposition"))
		}
	}
}

// An export that is refused is no file.
func TestChatExportThatIsRefused(t *testing.T) {
	_, ts := newTestEnv(t, func(_ *testEnv, o *api.Options) { o.Limits.StreamsPerUser = 1 })
	dialSocket(t, ts) // the one stream
	got, _ := send(t, ts.URL, "GET", "/api/chats/789/export", "")
	if p := got.problem(t); p.Code != schemas.CodeTooManyStreams || got.header.Get("Content-Disposition") != "" {
		t.Errorf("got %s as the file %q", got.body, got.header.Get("Content-Disposition"))
	}
}

// TestChatExportThatBreaksOff makes the database fail during an export: the
// client notices it, and does not take the part for the whole export.
func TestChatExportThatBreaksOff(t *testing.T) {
	_, ts := newTestEnv(t, func(w *testEnv, _ *api.Options) { w.breaks = errors.New("the database is not available") })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+"/api/chats/789/export", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		_, err = io.ReadAll(res.Body)
		_ = res.Body.Close()
	}
	if err == nil {
		t.Error("a broken export ends like a complete one, want the connection aborted")
	}
}

// thousand is a user's data: so many lines of a kilobyte. It counts those that are read.
type thousand struct {
	fakeUserData

	lines int
}

func (u *thousand) Export(context.Context, schemas.User) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for u.lines = 1; u.lines <= 1000 && yield(make([]byte, 1<<10), nil); u.lines++ {
		}
	}
}

// slowWriter takes a time for each write.
type slowWriter struct {
	*httptest.ResponseRecorder

	each time.Duration
}

func (w slowWriter) Write(p []byte) (int, error) {
	<-time.After(w.each)
	return w.ResponseRecorder.Write(p)
}

// An export waits for a client that reads 20 KiB a second. One that reads a kilobyte each 5
// seconds is cut off within about a minute, because the user's other exports wait for it.
func TestExportThatIsReadTooSlowly(t *testing.T) {
	for each, want := range map[time.Duration]bool{50 * time.Millisecond: true, 5 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			u := new(thousand)
			handler := api.New(api.Options{Auth: auth.Local{}, UserData: u, Log: slog.New(slog.DiscardHandler)})
			begun := time.Now()
			defer func() {
				cut, _ := recover().(error)
				if whole := cut == nil && u.lines > 1000; whole != want || !want && (!errors.Is(cut, http.ErrAbortHandler) || time.Since(begun) > 2*time.Minute) {
					t.Errorf("%v for each line: %d lines after %v, cut off with %v", each, u.lines, time.Since(begun), cut)
				}
			}()
			handler.ServeHTTP(slowWriter{httptest.NewRecorder(), each}, httptest.NewRequest(http.MethodGet, "http://localhost/api/me/export", http.NoBody))
		})
	}
}
