package apptest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/chattray/chattray/schemas"
)

// Socket is one websocket.
type Socket struct {
	*testing.T
	Conn *websocket.Conn
	Seen []schemas.Chunk
}

// Dial opens a websocket for the user; it is closed at the end of the test.
func (c *Client) Dial(user string) *Socket {
	c.Helper()
	conn, answer, err := websocket.Dial(c.Context(), c.URL+"/api/ws", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + c.Tokens[user]}}})
	if err != nil {
		c.Fatal(err)
	}
	if answer.Body != nil {
		answer.Body.Close()
	}
	conn.SetReadLimit(16 << 20)
	c.Cleanup(func() { _ = conn.CloseNow() })
	return &Socket{T: c.T, Conn: conn}
}

// Send writes a frame.
func (c *Socket) Send(frame string) {
	c.Helper()
	if err := c.Conn.Write(c.Context(), websocket.MessageText, []byte(frame)); err != nil {
		c.Fatal(err)
	}
}

// Next reads one chunk.
func (c *Socket) Next() schemas.Chunk {
	c.Helper()
	ctx, done := context.WithTimeout(c.Context(), Limit)
	defer done()
	_, frame, err := c.Conn.Read(ctx)
	if err != nil {
		c.Fatalf("reading the next chunk: %v, after\n%s", err, ListChunks(c.Seen))
	}
	var chunk schemas.Chunk
	if err := json.Unmarshal(frame, &chunk); err != nil {
		c.Fatalf("decoding a chunk: %v, in %s", err, frame)
	}
	c.Seen = append(c.Seen, chunk)
	return chunk
}

// Until reads chunks up to a wanted one and returns all of them.
func (c *Socket) Until(wanted func(schemas.Chunk) bool) []schemas.Chunk {
	c.Helper()
	var list []schemas.Chunk
	for {
		chunk := c.Next()
		if list = append(list, chunk); wanted(chunk) {
			return list
		}
	}
}

// IsRunEnd reports whether a chunk is the last of a run.
func IsRunEnd(c schemas.Chunk) bool { return c.Type == schemas.ChunkRunEnd }

// IsContent reports whether a chunk has content of a block.
func IsContent(c schemas.Chunk) bool {
	return c.Content != nil && c.BlockIDs != "" && !c.End
}

// IsError reports whether a chunk is an error.
func IsError(c schemas.Chunk) bool { return c.Type == schemas.ChunkError }

// JoinContent joins the content of a block's chunks; "" means any block.
func JoinContent(list []schemas.Chunk, block string) string {
	var b strings.Builder
	for _, c := range list {
		if IsContent(c) && (block == "" || c.BlockIDs == block) {
			b.WriteString(*c.Content)
		}
	}
	return b.String()
}

// ListChunks writes chunks as JSON, one per line.
func ListChunks(list []schemas.Chunk) string {
	var b strings.Builder
	for _, c := range list {
		raw, _ := json.Marshal(c) //nolint:errchkjson // it was JSON
		b.Write(append(raw, '\n'))
	}
	return b.String()
}
