package resume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
)

const (
	resumeRuns  = 24
	resumeAfter = 12 // reads of each run once it has ended

	readersOfOne = 200 // half of them never read
	longAnswer   = 600
	longWord     = 1000 // bytes
)

// reading is what one connection was given: it asked for the events after the
// cursor.
type reading struct {
	how    string
	cursor int64
	status int
	frames []apptest.ChatFrame
}

// Whatever cursors its reader comes back with, and however, each connection gets
// exactly the events of the log behind its cursor, in order and once.
func TestResume(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			w := apptest.NewSystem(t, d.Fresh(t))
			w.ServeHere(app.Options{})
			var runs sync.WaitGroup
			for n := range resumeRuns {
				runs.Go(func() {
					k := w.NewConversation(fmt.Sprintf("chat-%d", n), "reject")
					if err := readInPieces(t.Context(), w, k); err != nil {
						t.Errorf("%s: %v", k.Question, err)
					}
				})
			}
			runs.Wait()
		})
	}
}

// readInPieces reads a run over many connections, while it goes on and afterwards,
// and compares each with the log.
func readInPieces(ctx context.Context, w *apptest.System, k *apptest.Conversation) error {
	w.Script(k.Question, k.Turns, nil)
	first, err := readPiece(ctx, w, k, reading{how: "question"})
	if err != nil {
		return err
	}
	readings, seen := []reading{first}, lastOf(first.frames)
	for over := false; !over; {
		r, err := readPiece(ctx, w, k, anyCursor(w, seen))
		if err != nil {
			return err
		}
		readings = append(readings, r)
		if n := len(r.frames); n > 0 {
			seen, over = max(seen, lastOf(r.frames)), r.frames[n-1].Event.Terminal()
		}
		over = over || r.status == http.StatusNoContent
	}
	log, err := k.Log(ctx)
	if err != nil {
		return err
	}
	for range resumeAfter {
		r, err := readPiece(ctx, w, k, anyCursor(w, seen))
		if err != nil {
			return err
		}
		readings = append(readings, r)
	}
	for _, r := range readings {
		if err := r.compare(log); err != nil {
			return err
		}
	}
	return nil
}

func lastOf(list []apptest.ChatFrame) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].ID
}

// anyCursor makes up how a reader comes back who has seen this much.
func anyCursor(w *apptest.System, seen int64) reading {
	near := seen + int64(w.Between(-20, 20))
	valid := max(near, 0)
	switch w.Between(0, 6) {
	case 0:
		return reading{how: fmt.Sprintf("Last-Event-ID: %d", seen), cursor: seen}
	case 1:
		return reading{how: fmt.Sprintf("?after=%d", valid), cursor: valid}
	case 2:
		return reading{how: fmt.Sprintf("Last-Event-ID: %d?after=%d", valid, seen+7), cursor: valid}
	case 3:
		garbage := []string{"abc", "-5", "1.5", "0x10", "99999999999999999999", "%20", "7 8", "٣", "+", "null"}
		text := garbage[w.Between(0, len(garbage)-1)]
		return reading{how: "?after=" + text}
	case 4:
		return reading{how: "Last-Event-ID: nonsense?after=" + strconv.FormatInt(valid, 10)} // the header counts
	case 5:
		return reading{how: ""}
	default:
		return reading{how: fmt.Sprintf("Last-Event-ID: %d", valid), cursor: valid}
	}
}

// readPiece makes the connection and reads a while, or to the end.
func readPiece(ctx context.Context, w *apptest.System, k *apptest.Conversation, r reading) (reading, error) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	url, method, header, body := w.Process().URL, http.MethodGet, []string(nil), any(nil)
	how, query, _ := strings.Cut(r.how, "?")
	if r.how == "question" {
		url, method, body, header = url+"/api/chat/stream", http.MethodPost, k.Body, []string{"Idempotency-Key", k.Key}
	} else {
		url += "/api/chat/runs/" + k.RunID + "/stream"
		if query != "" {
			url += "?" + strings.ReplaceAll(query, " ", "%20")
		}
		if value, ok := strings.CutPrefix(how, "Last-Event-ID: "); ok {
			header = []string{"Last-Event-ID", value}
		}
	}
	req, err := apptest.NewRequest(ctx, method, url, body, header...)
	if err != nil {
		return r, err
	}
	resp, err := w.Client.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	r.status = resp.StatusCode
	if r.status == http.StatusOK {
		k.RunID = resp.Header.Get("X-Run-Id")
	}
	for in, left := apptest.NewStreamReader(resp.Body), w.Between(1, 40); left > 0; left-- {
		f, err := in.Next()
		if errors.Is(err, io.EOF) {
			return r, nil
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", r.how, err)
		}
		r.frames = append(r.frames, f)
	}
	return r, nil
}

// compare holds what was read against the log.
func (r reading) compare(log []apptest.ChatFrame) error {
	from, _ := slices.BinarySearchFunc(log, r.cursor+1, func(f apptest.ChatFrame, id int64) int { return int(f.ID - id) })
	switch {
	case r.status == http.StatusNoContent && r.cursor >= lastOf(log):
		return nil
	case r.status != http.StatusOK:
		return fmt.Errorf("%q: status %d, want 200", r.how, r.status)
	case len(r.frames) > len(log)-from || !slices.EqualFunc(r.frames, log[from:from+len(r.frames)], apptest.SameFrame):
		return fmt.Errorf("%q got\n%s\nwant the beginning of\n%s", r.how, apptest.ListFrames(r.frames), apptest.ListFrames(log[from:]))
	}
	return nil
}

// A reader whose cursor is a little past the log, as after a crash, gets what is greater.
func TestResumePastTheLog(t *testing.T) {
	t.Parallel()
	w := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	w.ServeHere(app.Options{})
	gate := make(chan struct{})
	k := w.Gated("chat", "reject", gate)
	done := k.Start(t)
	w.AwaitModel(t, k)
	apptest.Eventually(t, "some text is read", func() bool { return runState(w, t, k.ID()).LastSequence > 4 })
	past := runState(w, t, k.ID()).LastSequence + 3
	req, err := apptest.NewRequest(t.Context(), http.MethodGet, w.URL(t)+"/api/chat/runs/"+k.ID()+"/stream", nil, "Last-Event-ID", strconv.FormatInt(past, 10))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	list, err := apptest.NewStreamReader(resp.Body).Rest()
	if err != nil {
		t.Fatal(err)
	}
	if err := (reading{how: "past the log", cursor: past, status: resp.StatusCode, frames: list}).compare(k.Frames); err != nil {
		t.Error(err)
	}
	if lastOf(list) != lastOf(k.Frames) {
		t.Errorf("the last event is %d, want %d", lastOf(list), lastOf(k.Frames))
	}
}

// stalledIsBorne is less than the deadline of a write to a reader.
const stalledIsBorne = 5 * time.Second

// Two hundred readers of one run, half of which never read: the others get
// everything, and soon after the end nobody is left.
func TestReadersOfOneRun(t *testing.T) {
	t.Parallel()
	w := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	w.Settings = append(w.Settings, "DIAGNOSTICS=off")
	w.Start()
	gate := make(chan struct{})
	parts := []upstream.Part{upstream.Say("Here "), upstream.Wait(gate)}
	for n := range longAnswer {
		parts = append(parts, upstream.Say(strconv.Itoa(n)+strings.Repeat("x", longWord)+" "))
	}
	w.Model.Push(upstream.Stream(append(parts, upstream.Finish("stop"))...))
	k := w.NewConversation("chat", "reject")
	k.MarkScripted()
	done := k.Start(t)
	apptest.Eventually(t, "the run has begun", k.Accepted.Load)
	w.Client.CloseIdleConnections()
	before := resourcesOf(w, t)

	var stalled []net.Conn
	for range readersOfOne / 2 {
		stalled = append(stalled, stall(w, t, k.ID()))
	}
	var readers sync.WaitGroup
	for range readersOfOne / 2 {
		readers.Go(func() {
			list, err := readWhole(w, t, k.ID())
			if err != nil || len(list) < longAnswer || !list[len(list)-1].Event.Terminal() {
				t.Errorf("a reader got %d events, %v; want at least %d with an end", len(list), err, longAnswer)
			}
			for i := 1; i < len(list); i++ {
				if list[i].ID <= list[i-1].ID {
					t.Errorf("event %d came after %d", list[i].ID, list[i-1].ID)
				}
			}
		})
	}
	apptest.Eventually(t, "all are there", func() bool { return resourcesOf(w, t).streams >= readersOfOne })
	close(gate)
	began := time.Now()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	readers.Wait()
	w.Client.CloseIdleConnections()
	// On a busy machine the others may need longer than a stalled reader is borne.
	if n := resourcesOf(w, t).streams; n < readersOfOne/2 && time.Since(began) < stalledIsBorne {
		t.Errorf("%d streams are open while %d clients stall; the test does not stall them", n, len(stalled))
	}
	apptest.Eventually(t, "nobody is left", func() bool {
		w.Client.CloseIdleConnections()
		now := resourcesOf(w, t)
		return now.streams == 0 && now.goroutines <= before.goroutines+5 && now.files <= before.files+3
	})
	for _, conn := range stalled {
		_ = conn.Close()
	}
	if k.Frames[len(k.Frames)-1].Event.Type != schemas.TypeComplete {
		t.Errorf("the run ended with %s, want complete", k.Frames[len(k.Frames)-1].Event.Type)
	}
}

// readWhole reads the events of a run to their end. A reader that a busy machine
// has held up is taken for a stalled one, and comes back.
func readWhole(w *apptest.System, t *testing.T, run string) (list []apptest.ChatFrame, err error) {
	for {
		began, after := time.Now(), strconv.FormatInt(lastOf(list), 10)
		req, err := apptest.NewRequest(t.Context(), http.MethodGet, w.URL(t)+"/api/chat/runs/"+run+"/stream?after="+after, nil)
		if err != nil {
			return list, err
		}
		resp, err := w.Client.Do(req)
		if err != nil {
			return list, err
		}
		more, err := apptest.NewStreamReader(resp.Body).Rest()
		list = append(list, more...)
		if err == nil || time.Since(began) < stalledIsBorne {
			return list, err
		}
	}
}

// stall asks for a run's events and never reads them.
func stall(w *apptest.System, t *testing.T, run string) net.Conn {
	t.Helper()
	address := strings.TrimPrefix(w.URL(t), "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil { //nolint:forcetypeassert // it was dialled over TCP
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /api/chat/runs/%s/stream HTTP/1.1\r\nHost: %s\r\n\r\n", run, address); err != nil {
		t.Fatal(err)
	}
	return conn
}

// resourceCounts is what the program says that it holds.
type resourceCounts struct{ goroutines, files, streams int }

func resourcesOf(w *apptest.System, t *testing.T) resourceCounts {
	t.Helper()
	req, err := apptest.NewRequest(t.Context(), http.MethodGet, w.URL(t)+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := w.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var r resourceCounts
	for name, into := range map[string]*int{"go_goroutines": &r.goroutines, "process_open_fds": &r.files, "chattray_streams_active": &r.streams} {
		_, rest, found := strings.Cut("\n"+string(text), "\n"+name+" ")
		value, _, _ := strings.Cut(rest, "\n")
		f, err := strconv.ParseFloat(value, 64)
		if !found || err != nil {
			t.Fatalf("no metric %s: %v", name, err)
		}
		*into = int(f)
	}
	return r
}
