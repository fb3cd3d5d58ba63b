package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/agents/modeltest/upstream"
	"github.com/chattray/chattray/app/settings"
	"github.com/chattray/chattray/app/telemetry"
	"github.com/chattray/chattray/schemas"
)

// socketWait bounds each wait of a test for a frame.
const socketWait = 20 * time.Second

// newSocketDesk is a service with a scripted model, and its users ann and bob.
func newSocketDesk(t *testing.T) (*desk, *upstream.Server) {
	t.Helper()
	up := upstream.NewMemory()
	environ := []string{
		"CHATTRAY_DATABASE_URL=sqlite:" + filepath.Join(t.TempDir(), "c.db"), "CHATTRAY_LOG_FORMAT=json", "CHATTRAY_REQUESTS_PER_MINUTE=0",
		"CHATTRAY_OPENAI_BASE_URL=http://upstream.test/v1", "CHATTRAY_OPENAI_API_KEY=key", "CHATTRAY_JWT_SECRET=secret-of-32-bytes-for-this-test",
		"CHATTRAY_MODELS=claude sonnet 3.7 thinking", "CHATTRAY_CORS_ORIGINS=https://app.example", "CHATTRAY_DRAIN=1s",
	}
	config, _, err := settings.Load(nil, environ, "")
	if err != nil {
		t.Fatal(err)
	}
	watch, err := telemetry.New(t.Context(), telemetry.Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	log := telemetry.NewLogger(io.Discard, config.LogLevel, config.LogFormat)
	ctx, stop := context.WithCancel(context.Background())
	s, err := Build(ctx, config, Options{Models: up.Transport()}, watch, log)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Answer(ctx, config, listener, log) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, s.store.Close(), watch.Close(context.Background())); err != nil {
			t.Errorf("the service stopped with %v", err)
		}
	})
	d := &desk{T: t, base: "http://" + listener.Addr().String(), tokens: map[string]string{}}
	for _, user := range []string{"ann", "bob"} {
		token, err := command(t, environ, "token", "--user", user)
		if err != nil {
			t.Fatal(err)
		}
		d.tokens[user] = strings.TrimSpace(token)
	}
	return d, up
}

// client is one websocket.
type client struct {
	*testing.T
	conn *websocket.Conn
	seen []schemas.Chunk
}

// dial opens a websocket of the user's; it is closed with the test.
func (d *desk) dial(user string) *client {
	d.Helper()
	conn, answer, err := websocket.Dial(d.Context(), d.base+"/api/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + d.tokens[user]}}})
	if err != nil {
		d.Fatal(err)
	}
	if answer.Body != nil {
		answer.Body.Close()
	}
	conn.SetReadLimit(16 << 20)
	d.Cleanup(func() { _ = conn.CloseNow() })
	return &client{T: d.T, conn: conn}
}

func (c *client) send(frame string) {
	c.Helper()
	if err := c.conn.Write(c.Context(), websocket.MessageText, []byte(frame)); err != nil {
		c.Fatal(err)
	}
}

// next reads one chunk.
func (c *client) next() schemas.Chunk {
	c.Helper()
	ctx, done := context.WithTimeout(c.Context(), socketWait)
	defer done()
	_, frame, err := c.conn.Read(ctx)
	if err != nil {
		c.Fatalf("%v, after %s", err, shown(c.seen))
	}
	var chunk schemas.Chunk
	if err := json.Unmarshal(frame, &chunk); err != nil {
		c.Fatalf("%v in %s", err, frame)
	}
	c.seen = append(c.seen, chunk)
	return chunk
}

// until reads chunks until one is wanted, and returns all that it read.
func (c *client) until(wanted func(schemas.Chunk) bool) []schemas.Chunk {
	c.Helper()
	var list []schemas.Chunk
	for {
		chunk := c.next()
		if list = append(list, chunk); wanted(chunk) {
			return list
		}
	}
}

func runEnd(c schemas.Chunk) bool { return c.Type == schemas.ChunkRunEnd }
func isContent(c schemas.Chunk) bool {
	return c.Content != nil && c.Type != schemas.ChunkStatus && c.Type != schemas.ChunkError && !c.End
}
func isError(c schemas.Chunk) bool { return c.Type == schemas.ChunkError }

// content joins what chunks give to a block; "" is any block.
func content(list []schemas.Chunk, block string) string {
	var b strings.Builder
	for _, c := range list {
		if isContent(c) && (block == "" || c.BlockIDs == block) {
			b.WriteString(*c.Content)
		}
	}
	return b.String()
}

// shown is chunks one a line, for comparing them without numbers.
func shown(list []schemas.Chunk) string {
	var b strings.Builder
	for _, c := range list {
		raw, _ := json.Marshal(c) //nolint:errchkjson // it was JSON
		b.Write(append(raw, '\n'))
	}
	return b.String()
}
