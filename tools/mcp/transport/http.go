package transport

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools/outbound"
)

// streamWait bounds the wait for the first byte of a stream, which answers at once. A call
// may answer only when it is done, and has its own time limit.
const streamWait = 20 * time.Second

// overHTTP returns the link's transport to the server's URL.
func (o Options) overHTTP(l *Link) (sdk.Transport, error) {
	base, err := url.Parse(o.URL)
	if err != nil {
		return nil, err
	}
	// Streams stay open; calls and lists end with their context.
	guarded := outbound.New(outbound.Config{Base: base, MaxBody: MaxMessage, Timeout: outbound.NoTimeout})
	origin := &originOnly{next: guarded.Transport, base: base, headers: o.Headers}
	guarded.Transport = &answers{next: origin, link: l}
	check := guarded.CheckRedirect
	guarded.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		err := errElsewhere
		if origin.own(r) {
			err = check(r, via)
		}
		if err == nil {
			return nil
		}
		return callOf(r.Context()).fail(&BadAnswer{r.Response.StatusCode, mediaType(r.Response), err})
	}
	return &sdk.StreamableClientTransport{Endpoint: o.URL, HTTPClient: guarded, MaxEventSize: MaxMessage}, nil
}

// originOnly adds the configured headers to requests to the configured origin,
// and limits the wait for streams.
type originOnly struct {
	next    http.RoundTripper
	base    *url.URL
	headers map[string]string
}

// own reports whether a request goes to the configured origin.
func (t *originOnly) own(r *http.Request) bool {
	return r.URL.Scheme == t.base.Scheme && r.URL.Host == t.base.Host
}

// RoundTrip implements http.RoundTripper.
func (t *originOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	r = r.Clone(ctx)
	if t.own(r) {
		for name, value := range t.headers {
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
