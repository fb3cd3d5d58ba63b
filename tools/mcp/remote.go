package mcp

import (
	"context"
	"io"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools/outbound"
)

// streamWait bounds the wait for the first byte of a stream, which answers at once. A call
// may answer only when it is done, and has its own time limit.
const streamWait = 20 * time.Second

// remote is the link's transport to the server's URL.
func (c *client) remote(l *link) sdk.Transport {
	// Streams stay open; calls and lists end with their context.
	guarded := outbound.New(outbound.Config{Base: c.base, MaxBody: maxMessage, Timeout: outbound.NoTimeout})
	guarded.Transport = &answers{next: &originOnly{next: guarded.Transport, client: c}, link: l}
	check := guarded.CheckRedirect
	guarded.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		err := errElsewhere
		if c.own(r) {
			err = check(r, via)
		}
		if err == nil {
			return nil
		}
		return callOf(r.Context()).fail(&badAnswer{r.Response.StatusCode, mediaType(r.Response), err})
	}
	return &sdk.StreamableClientTransport{Endpoint: c.URL, HTTPClient: guarded, MaxEventSize: maxMessage}
}

// own reports whether a request goes to the configured origin.
func (c *client) own(r *http.Request) bool {
	return r.URL.Scheme == c.base.Scheme && r.URL.Host == c.base.Host
}

// originOnly adds the configured headers to requests to the configured origin,
// and limits the wait for streams.
type originOnly struct {
	next   http.RoundTripper
	client *client
}

// RoundTrip implements http.RoundTripper.
func (t *originOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	r = r.Clone(ctx)
	if t.client.own(r) {
		for name, value := range t.client.Headers {
			r.Header.Set(name, value)
		}
	}
	if r.Method == http.MethodGet {
		late := time.AfterFunc(streamWait, cancel)
		defer late.Stop()
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelling{resp.Body, cancel}
	return resp, nil
}

// cancelling is a body that ends its request's context when it is closed.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *cancelling) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
