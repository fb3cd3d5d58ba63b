package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/agents/openai"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// album is a source of images that notes each read.
type album struct {
	content string
	err     error
	during  func() // called by each read, if it is not nil
	reads   atomic.Int32
}

func (a *album) Base64(context.Context) (string, error) {
	a.reads.Add(1)
	if a.during != nil {
		a.during()
	}
	return a.content, a.err
}

// look is a request with images: two in one message and one in another.
func look(images ...*album) agents.ModelRequest {
	shown := make([]turn.Image, len(images))
	for i, a := range images {
		shown[i] = turn.Image{MIME: "image/png", Size: len(a.content), Source: a}
	}
	return agents.ModelRequest{Model: "test", Messages: []turn.Message{
		{Role: turn.User, Content: "look", Images: shown[:len(shown)-1]},
		{Role: turn.Assistant, Content: "nice"},
		{Role: turn.User, Content: "and this?", Images: shown[len(shown)-1:]},
	}}
}

// ask returns the text of a reply, and the error that ended it.
func ask(ctx context.Context, m agents.Model, req agents.ModelRequest) (text string, err error) {
	for d, failed := range m.Stream(ctx, req) {
		text, err = text+d.Text, failed
	}
	return text, err
}

// Images reach the server as they are, at their places, also in a second attempt, for which they
// are read again.
func TestImagesAreReadForEachAttempt(t *testing.T) {
	images := []*album{{content: strings.Repeat("AAAA", 100_000)}, {content: "BBBB"}, {content: strings.Repeat("CCCC", 50_000)}}
	up := upstream.New()
	t.Cleanup(up.Close)
	up.Push(upstream.Status(http.StatusServiceUnavailable, `{"error":{"message":"busy"}}`), upstream.Text("ok"))
	m, err := openai.New(openai.Config{BaseURL: up.URL(), APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := ask(t.Context(), m, look(images...)); text != "ok" || err != nil {
		t.Fatalf("got %q, %v", text, err)
	}
	for n, r := range up.Requests() {
		var body struct {
			Messages []struct {
				Content any
			}
		}
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatalf("request %d is no JSON: %v", n, err)
		}
		var got []string
		for _, m := range body.Messages {
			parts, _ := m.Content.([]any) // the assistant's is a text
			for _, p := range parts {
				if image, ok := p.(map[string]any)["image_url"].(map[string]any); ok {
					got = append(got, strings.TrimPrefix(image["url"].(string), "data:image/png;base64,"))
				}
			}
		}
		if !slices.Equal(got, []string{images[0].content, images[1].content, images[2].content}) {
			t.Errorf("request %d has %d images, want the 3 in their order", n, len(got))
		}
	}
	for i, a := range images {
		if n := a.reads.Load(); n != 2 {
			t.Errorf("image %d was read %d times, want once for each attempt", i, n)
		}
	}
}

// An image that cannot be read ends the call with the reason, and the server is not asked again.
func TestImageThatCannotBeRead(t *testing.T) {
	gone := schemas.NewError(schemas.CodeStoreUnavailable, "the database is away")
	for name, bad := range map[string]*album{"unavailable": {content: "BBBB", err: gone}, "of another size": {content: "BBBB"}} {
		t.Run(name, func(t *testing.T) {
			up := upstream.New()
			t.Cleanup(up.Close)
			m, err := openai.New(openai.Config{BaseURL: up.URL(), APIKey: "k"})
			if err != nil {
				t.Fatal(err)
			}
			req := look(&album{content: "AAAA"}, bad)
			want := schemas.CodeStoreUnavailable
			if bad.err == nil {
				bad.content, want = "BBBBBBBB", schemas.CodeInternal
			}
			_, err = ask(t.Context(), m, req)
			if schemas.Visible(err).Code != want || bad.err != nil && !errors.Is(err, bad.err) {
				t.Errorf("got %v, want the code %s and the reason", err, want)
			}
			if n := bad.reads.Load(); n != 1 {
				t.Errorf("the image was read %d times, want once", n)
			}
		})
	}
}

// counted is the memory of prompts.
type counted struct {
	held  atomic.Int64
	taken atomic.Int32
	freed chan struct{}
}

func (c *counted) take(_ context.Context, bytes int) (func(), error) {
	c.held.Add(int64(bytes))
	c.taken.Add(1)
	return func() {
		if c.held.Load() > 0 {
			c.held.Add(-int64(bytes))
			c.freed <- struct{}{}
		}
	}, nil
}

// A request takes memory until it has been sent, not until the model answers: for its text and
// for one image, however many it has.
func TestMemoryOfARequest(t *testing.T) {
	memory := &counted{freed: make(chan struct{}, 1)}
	held := func() {
		if held := memory.held.Load(); held < 800_000 || held > 900_000 {
			t.Errorf("%d bytes are held, want an image as it is stored and as it is sent", held)
		}
	}
	image := strings.Repeat("AAAA", 100_000)
	images := []*album{{content: image, during: held}, {content: image, during: held}, {content: image, during: held}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-memory.freed // else the model never answers
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	m, err := openai.New(openai.Config{BaseURL: server.URL, APIKey: "k", Memory: memory.take})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := ask(t.Context(), m, look(images...)); text != "ok" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if n := memory.held.Load(); n != 0 {
		t.Errorf("%d bytes are held afterwards", n)
	}
}

// A call that ends while it waits for memory sends nothing.
func TestCallEndsWhileItWaitsForMemory(t *testing.T) {
	up := upstream.New()
	t.Cleanup(up.Close)
	cancelled := errors.New("cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	m, err := openai.New(openai.Config{BaseURL: up.URL(), APIKey: "k", Memory: func(ctx context.Context, _ int) (func(), error) {
		cancel(cancelled)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(ctx, m, look(&album{content: "AAAA"})); !errors.Is(err, cancelled) {
		t.Errorf("got %v, want %v", err, cancelled)
	}
	if n := len(up.Requests()); n != 0 {
		t.Errorf("%d requests were sent, want none", n)
	}
}

// again is a transport whose first connection breaks after a part of the body.
type again struct{ sent string }

func (a *again) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.CopyN(io.Discard, r.Body, 10); err != nil {
		return nil, err
	}
	r.Body.Close()
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(body)
	a.sent = string(raw)
	body.Close()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader("data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")),
	}, err
}

// A request that is sent again over another connection is whole, and takes memory again.
func TestMemoryOfARequestThatIsSentAgain(t *testing.T) {
	memory, transport := &counted{freed: make(chan struct{}, 2)}, new(again)
	m, err := openai.New(openai.Config{BaseURL: "http://upstream.test/v1", APIKey: "k", Transport: transport, Memory: memory.take})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := ask(t.Context(), m, look(&album{content: "AAAA"}, &album{content: "BBBB"})); text != "ok" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if !strings.Contains(transport.sent, "base64,AAAA") || !json.Valid([]byte(transport.sent)) {
		t.Errorf("%s was sent, want the whole request", transport.sent)
	}
	if n, held := memory.taken.Load(), memory.held.Load(); n != 2 || held != 0 {
		t.Errorf("memory was taken %d times, and %d bytes are held; want 2 and none", n, held)
	}
}

// stall is a transport whose server takes the connection and reads nothing: the first one, or
// after that has been closed another one.
type stall struct{ another bool }

func (s stall) RoundTrip(r *http.Request) (*http.Response, error) {
	body := r.Body
	if s.another {
		body.Close()
		body, _ = r.GetBody()
	}
	<-r.Context().Done()
	body.Close()
	return nil, r.Context().Err()
}

// A request whose server does not read it gives its memory back long before the call ends: others may
// be read.
func TestMemoryOfARequestThatIsNotRead(t *testing.T) {
	for _, another := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const firstToken = time.Hour
			begun, held := time.Now(), time.Duration(0)
			m, err := openai.New(openai.Config{
				BaseURL: "http://upstream.test/v1", APIKey: "k", Transport: stall{another}, Connect: 2 * firstToken, FirstToken: firstToken,
				Memory: func(context.Context, int) (func(), error) {
					return sync.OnceFunc(func() { held = time.Since(begun) }), nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ask(t.Context(), m, look(&album{content: "AAAA"})); schemas.Visible(err).Code != schemas.CodeUpstreamTimeout {
				t.Errorf("got %v, want that the model did not answer in time", err)
			}
			if held > time.Minute || time.Since(begun) != firstToken {
				t.Errorf("another connection %t: memory was held for %v of %v", another, held, time.Since(begun))
			}
		})
	}
}
