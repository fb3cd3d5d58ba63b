package transport

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// overStdio returns the link's transport to its process.
func (o Options) overStdio(l *Link) sdk.Transport {
	return &noting{link: l, Transport: &sdk.IOTransport{
		Reader: newMessageLines(l.process.out, o.lineLog("MCP server printed a line that is not a message"), l.progress), Writer: l.process.in, MaxLineLength: MaxMessage,
	}}
}

// noting is a transport whose connection notes which calls the server has answered.
type noting struct {
	sdk.Transport
	link *Link
}

// Connect implements sdk.Transport.
func (t *noting) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &notingConn{conn, t.link}, nil
}

type notingConn struct {
	sdk.Connection
	link *Link
}

// Write implements sdk.Connection.
func (c *notingConn) Write(ctx context.Context, m jsonrpc.Message) error {
	if sent, ok := m.(*jsonrpc.Request); ok {
		c.link.sends(callOf(ctx), sent.ID)
	}
	return c.Connection.Write(ctx, m)
}

// Read implements sdk.Connection.
func (c *notingConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if a, ok := m.(*jsonrpc.Response); ok {
		c.link.answered(a)
	}
	if errors.Is(err, ErrLongMessage) {
		c.link.tooLong.Store(true)
	}
	return m, err
}
