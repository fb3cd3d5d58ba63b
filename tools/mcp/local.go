package mcp

import (
	"context"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// local is the link's transport to its process.
func (c *client) local(l *link) sdk.Transport {
	return &noting{link: l, Transport: &sdk.IOTransport{
		Reader: newMessageLines(l.process.out, c.log, l.progress), Writer: l.process.in, MaxLineLength: maxMessage,
	}}
}

// noting is a transport whose connection notes which calls the server has answered.
type noting struct {
	sdk.Transport
	link *link
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
	link *link
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
	if errors.Is(err, errLongMessage) {
		c.link.tooLong.Store(true)
	}
	return m, err
}
