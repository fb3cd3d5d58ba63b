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

// reading has the events that one connection received for its cursor.
type reading struct {
	how    string
	cursor int64
	status int
	frames []apptest.ChatFrame
}

// Whichever cursors a reader comes back with, each connection gets exactly the
// events of the log after its cursor, in order and once.
func TestResume(t *testing.T) {
	apptest.OnDatabases(t, func(t *testing.T, system *apptest.System) {
		system.ServeHere(app.Options{})
		var runs sync.WaitGroup
		for n := range resumeRuns {
			runs.Go(func() {
				c := system.NewConversation(fmt.Sprintf("chat-%d", n), "reject")
				if err := readInPieces(t.Context(), system, c); err != nil {
					t.Errorf("%s: %v", c.Question, err)
				}
			})
		}
		runs.Wait()
	})
}

// readInPieces reads a run over many connections, during the run and
// afterwards, and compares each with the log.
func readInPieces(ctx context.Context, system *apptest.System, c *apptest.Conversation) error {
	system.Script(c.Question, c.Turns, nil)
	first, err := readPiece(ctx, system, c, reading{how: "question"})
	if err != nil {
		return err
	}
	readings, seen := []reading{first}, lastOf(first.frames)
	for over := false; !over; {
		r, err := readPiece(ctx, system, c, anyCursor(system, seen))
		if err != nil {
			return err
		}
		readings = append(readings, r)
		if n := len(r.frames); n > 0 {
			seen, over = max(seen, lastOf(r.frames)), r.frames[n-1].Event.Terminal()
		}
		over = over || r.status == http.StatusNoContent
	}
	log, err := c.Log(ctx)
	if err != nil {
		return err
	}
	for range resumeAfter {
		r, err := readPiece(ctx, system, c, anyCursor(system, seen))
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

// tooLarge is larger than any number of an event. A run that goes on is read from its start,
// and one that has ended has nothing after it.
const tooLarge = "99999999999999999999"

// anyCursor picks a cursor, and a way to send it, for a reader who has read up to
// the event seen.
func anyCursor(system *apptest.System, seen int64) reading {
	near := seen + int64(system.Between(-20, 20))
	valid := max(near, 0)
	switch system.Between(0, 6) {
	case 0:
		return reading{how: fmt.Sprintf("Last-Event-ID: %d", seen), cursor: seen}
	case 1:
		return reading{how: fmt.Sprintf("?after=%d", valid), cursor: valid}
	case 2:
		return reading{how: fmt.Sprintf("Last-Event-ID: %d?after=%d", valid, seen+7), cursor: valid}
	case 3:
		garbage := []string{"abc", "-5", "1.5", "0x10", tooLarge, "%20", "7 8", "٣", "+", "null"}
		text := garbage[system.Between(0, len(garbage)-1)]
		return reading{how: "?after=" + text}
	case 4:
		return reading{how: "Last-Event-ID: nonsense?after=" + strconv.FormatInt(valid, 10)} // the header counts
	case 5:
		return reading{how: ""}
	default:
		return reading{how: fmt.Sprintf("Last-Event-ID: %d", valid), cursor: valid}
	}
}

// readPiece connects and reads some events, or all to the end.
func readPiece(ctx context.Context, system *apptest.System, c *apptest.Conversation, r reading) (reading, error) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	url, method, header, body := system.Process().URL, http.MethodGet, []string(nil), any(nil)
	how, query, _ := strings.Cut(r.how, "?")
	if r.how == "question" {
		url, method, body, header = url+"/api/chat/stream", http.MethodPost, c.Body, []string{"Idempotency-Key", c.Key}
	} else {
		url += "/api/chat/runs/" + c.RunID + "/stream"
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
	resp, err := system.Client.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	r.status = resp.StatusCode
	if r.status == http.StatusOK {
		c.RunID = resp.Header.Get("X-Run-Id")
	}
	for in, left := apptest.NewStreamReader(resp.Body), system.Between(1, 40); left > 0; left-- {
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

// compare compares what was read with the log.
func (r reading) compare(log []apptest.ChatFrame) error {
	from, _ := slices.BinarySearchFunc(log, r.cursor+1, func(f apptest.ChatFrame, id int64) int { return int(f.ID - id) })
	switch {
	case r.status == http.StatusNoContent && (r.cursor >= lastOf(log) || strings.HasSuffix(r.how, tooLarge)):
		return nil
	case r.status != http.StatusOK:
		return fmt.Errorf("%q: status %d, want 200", r.how, r.status)
	case len(r.frames) > len(log)-from || !slices.EqualFunc(r.frames, log[from:from+len(r.frames)], apptest.SameFrame):
		return fmt.Errorf("%q got\n%s\nwant the beginning of\n%s", r.how, apptest.ListFrames(r.frames), apptest.ListFrames(log[from:]))
	}
	return nil
}

// A reader whose cursor is a little past the log, as after a crash, gets the
// events with greater numbers.
func TestResumePastTheLog(t *testing.T) {
	t.Parallel()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.ServeHere(app.Options{})
	gate := make(chan struct{})
	c := system.Gated("chat", "reject", gate)
	done := c.Start(t)
	system.AwaitModel(t, c)
	apptest.Eventually(t, "some text is read", func() bool { return runState(system, t, c.ID()).LastSequence > 4 })
	past := runState(system, t, c.ID()).LastSequence + 3
	resp := system.Send(t, http.MethodGet, "/api/chat/runs/"+c.ID()+"/stream", nil, "Last-Event-ID", strconv.FormatInt(past, 10))
	close(gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	list, err := apptest.NewStreamReader(resp.Body).Rest()
	if err != nil {
		t.Fatal(err)
	}
	if err := (reading{how: "past the log", cursor: past, status: resp.StatusCode, frames: list}).compare(c.Frames); err != nil {
		t.Error(err)
	}
	if lastOf(list) != lastOf(c.Frames) {
		t.Errorf("the last event is %d, want %d", lastOf(list), lastOf(c.Frames))
	}
}

// A write to a reader has the deadline of stalledIsCut; stalledIsBorne is shorter.
const (
	stalledIsCut   = "STREAM_WRITE_TIMEOUT=10s"
	stalledIsBorne = 5 * time.Second
)

// Of two hundred readers of one run half never read. The others get everything,
// and soon after the end no reader is connected.
func TestReadersOfOneRun(t *testing.T) {
	t.Parallel()
	system := apptest.NewSystem(t, apptest.SQLite.Fresh(t))
	system.Settings = append(system.Settings, "DIAGNOSTICS=off", stalledIsCut)
	system.Start()
	gate := make(chan struct{})
	parts := []upstream.Part{upstream.Say("Here "), upstream.Wait(gate)}
	for n := range longAnswer {
		parts = append(parts, upstream.Say(strconv.Itoa(n)+strings.Repeat("x", longWord)+" "))
	}
	system.Model.Push(upstream.Stream(append(parts, upstream.Finish("stop"))...))
	c := system.NewConversation("chat", "reject")
	c.MarkScripted()
	done := c.Start(t)
	apptest.Eventually(t, "the run has begun", c.Accepted.Load)
	system.Client.CloseIdleConnections()
	before := resourcesOf(system, t)

	var stalled []net.Conn
	for range readersOfOne / 2 {
		stalled = append(stalled, stall(system, t, c.ID()))
	}
	var readers sync.WaitGroup
	for range readersOfOne / 2 {
		readers.Go(func() {
			list, err := readWhole(system, t, c.ID())
			if err != nil || len(list) < longAnswer || !list[len(list)-1].Event.Terminal() {
				t.Errorf("a reader got %d events, %v; want at least %d with an end", len(list), err, longAnswer)
			}
			for i := 1; i < len(list); i++ {
				if list[i].ID <= list[i-1].ID {
					t.Errorf("event %d came after event %d, want a greater id", list[i].ID, list[i-1].ID)
				}
			}
		})
	}
	apptest.Eventually(t, "all are there", func() bool { return resourcesOf(system, t).streams >= readersOfOne })
	close(gate)
	began := time.Now()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	readers.Wait()
	system.Client.CloseIdleConnections()
	// On a busy machine the others may need longer than a stalled reader has.
	if n := resourcesOf(system, t).streams; n < readersOfOne/2 && time.Since(began) < stalledIsBorne {
		t.Errorf("%d streams are open, want at least the %d whose clients stall", n, len(stalled))
	}
	apptest.Eventually(t, "no reader is connected", func() bool {
		system.Client.CloseIdleConnections()
		now := resourcesOf(system, t)
		return now.streams == 0 && now.goroutines <= before.goroutines+5 && now.files <= before.files+3
	})
	for _, conn := range stalled {
		_ = conn.Close()
	}
	if c.Frames[len(c.Frames)-1].Event.Type != schemas.TypeComplete {
		t.Errorf("the run ended with %s, want complete", c.Frames[len(c.Frames)-1].Event.Type)
	}
}

// readWhole reads the events of a run to their end. A reader that was slow
// because the machine is busy is taken for a stalled one, and comes back.
func readWhole(system *apptest.System, t *testing.T, run string) (list []apptest.ChatFrame, err error) {
	for {
		began, after := time.Now(), strconv.FormatInt(lastOf(list), 10)
		resp, err := system.Request(t.Context(), http.MethodGet, "/api/chat/runs/"+run+"/stream?after="+after, nil)
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
func stall(system *apptest.System, t *testing.T, run string) net.Conn {
	t.Helper()
	address := strings.TrimPrefix(system.URL(t), "http://")
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

// resourceCounts are the resources that the program reports.
type resourceCounts struct{ goroutines, files, streams int }

func resourcesOf(system *apptest.System, t *testing.T) resourceCounts {
	t.Helper()
	text := apptest.Get(t, system.URL(t)+"/metrics")
	var r resourceCounts
	for name, into := range map[string]*int{"go_goroutines": &r.goroutines, "process_open_fds": &r.files, "chattray_streams_active": &r.streams} {
		_, rest, found := strings.Cut("\n"+text, "\n"+name+" ")
		value, _, _ := strings.Cut(rest, "\n")
		f, err := strconv.ParseFloat(value, 64)
		if !found || err != nil {
			t.Fatalf("the metric %s: %v, want a number", name, err)
		}
		*into = int(f)
	}
	return r
}
