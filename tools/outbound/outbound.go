// Package outbound makes the HTTP client with which the service calls other
// servers for a user or a model.
//
// It owns what such a client may reach and how much it may read: public
// addresses on ports 80 and 443, checked when the connection is made, so that
// no spelling, name or redirect can bypass the check. Callers make the requests
// and use the answers.
package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The limits of a client. Config has fields for the limits named default.
const (
	defaultBody       = 8 << 20
	MaxRedirects      = 5
	defaultTimeout    = 30 * time.Second
	defaultHeaderWait = 20 * time.Second // for the first byte of an answer

	// NoTimeout is the Timeout of a client whose requests end only with their contexts.
	NoTimeout time.Duration = -1

	maxHeader   = 64 << 10
	dialTimeout = 10 * time.Second
	tlsTimeout  = 10 * time.Second
	idleTimeout = 60 * time.Second

	// silence is how long a connection of HTTP/2 may be silent before it is asked for a sign
	// of life, and how long that may take.
	silence = 10 * time.Second

	maxIdle          = 32
	maxIdleForAHost  = 4
	defaultUserAgent = "chattray"
)

// The errors of a client besides network errors. The errors of http.Client.Do
// and of the body wrap them.
var (
	// ErrRefused is for a request that the guard refuses.
	ErrRefused = errors.New("this address may not be reached")
	// ErrTooLarge is for an answer over the limit.
	ErrTooLarge = errors.New("the answer is too large")
	// ErrCoding is for an answer that is compressed although the request did not ask for it.
	ErrCoding = errors.New("the answer is compressed")
	// ErrRedirects is for an answer after too many redirects.
	ErrRedirects = errors.New("too many redirects")
)

// Config configures what a client may do. The zero value is the guard without
// exceptions.
type Config struct {
	// Allow lists networks that the rules for addresses and ports do not apply
	// to (fetch.allow).
	Allow []netip.Prefix
	// Base is a URL that the operator configured: this client may reach its
	// host and port, exactly as written there, whatever address they resolve
	// to. Other hosts stay guarded, including those that Base redirects to.
	Base *url.URL
	// Resolver replaces the default one.
	Resolver *net.Resolver
	// MaxBody bounds the bytes of a body, after decompression; 0 means
	// defaultBody.
	MaxBody int64
	// Timeout bounds a whole exchange with its redirects; 0 is defaultTimeout,
	// within which the answer has to begin after defaultHeaderWait.
	Timeout time.Duration
}

// New returns a client with the limits of c. It uses no proxy, whatever the
// environment says, keeps no cookies and sends no referrer. It is safe for
// concurrent use.
func New(c Config) *http.Client {
	g := newGuard(c.Allow)
	plain := &net.Dialer{Timeout: dialTimeout, Resolver: c.Resolver}
	guarded := *plain
	guarded.Control = g.control
	base := hostPort(c.Base)
	timeout, headerWait := cmp.Or(c.Timeout, defaultTimeout), defaultHeaderWait
	if c.Timeout == NoTimeout {
		timeout, headerWait = 0, 0
	}
	transport := &http.Transport{
		Proxy: nil,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if base != "" && strings.EqualFold(addr, base) {
				return plain.DialContext(ctx, network, addr)
			}
			return guarded.DialContext(ctx, network, addr)
		},
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: silence},
		TLSHandshakeTimeout:    tlsTimeout,
		ResponseHeaderTimeout:  headerWait,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdleForAHost,
		MaxResponseHeaderBytes: maxHeader,
	}
	return &http.Client{
		Transport:     &checked{next: transport, base: base, max: cmp.Or(c.MaxBody, defaultBody)},
		CheckRedirect: checkRedirect,
		Timeout:       timeout,
	}
}

// checkRedirect bounds the length of the chain. The transport checks where each hop leads.
func checkRedirect(r *http.Request, via []*http.Request) error {
	if len(via) > MaxRedirects {
		return ErrRedirects
	}
	r.Header.Del("Referer") // it would leak a key in the query to the next host
	return nil
}

// checked checks each request before it is sent and bounds each answer.
type checked struct {
	next http.RoundTripper
	base string
	max  int64
}

func (t *checked) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.check(r.URL); err != nil {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
	query := sendable(r.URL.RawQuery)
	if r.Header.Get("User-Agent") == "" || query != r.URL.RawQuery {
		r = r.Clone(r.Context())
		r.Header.Set("User-Agent", cmp.Or(r.Header.Get("User-Agent"), defaultUserAgent))
		r.URL.RawQuery = query
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &bounded{resp.Body, t.max}
	if compressed(resp.Header.Get("Content-Encoding")) && resp.ContentLength != 0 && r.Method != http.MethodHead {
		resp.Body = &unreadable{resp.Body}
	}
	return resp, nil
}

// compressed reports whether a coding compresses. Some servers send others, such as a charset,
// with a body that is as it is.
func compressed(coding string) bool {
	return slices.Contains([]string{"br", "zstd", "gzip", "x-gzip", "deflate", "compress"}, strings.ToLower(coding))
}

// unreadable is a compressed body. The transport has removed the one coding that it asks for.
type unreadable struct{ io.ReadCloser }

func (*unreadable) Read([]byte) (int, error) { return 0, ErrCoding }

// sendable escapes what a query may not have in a request, as browsers do. A URL is parsed with
// its query as it is, and a space would end the request's line before its end.
func sendable(query string) string {
	refused := func(b byte) bool { return b <= ' ' || b >= 0x7f || strings.IndexByte(`"<>`, b) >= 0 }
	var out strings.Builder
	for i := range len(query) {
		if refused(query[i]) {
			fmt.Fprintf(&out, "%%%02X", query[i])
		} else {
			out.WriteByte(query[i])
		}
	}
	return out.String()
}

// check refuses a URL that is wrong by itself, with a clear message and without
// looking up a name; the dialer checks the rest.
func (t *checked) check(u *url.URL) error {
	own := t.base != "" && strings.EqualFold(hostPort(u), t.base)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("the scheme is not http or https")
	case u.Hostname() == "":
		return refuse("there is no host")
	case u.User != nil && !own:
		return refuse("the address has a user name in it")
	case !own && endsInNumber(u.Hostname()):
		return refuse("the host is an unusual spelling of an address")
	}
	return nil
}

// endsInNumber reports whether resolvers may take a host for an IPv4 address in
// an unusual form: 127.1, 2130706433, 0x7f000001, 017700000001.
func endsInNumber(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// hostPort returns the address that the transport will dial for u.
func hostPort(u *url.URL) string {
	if u == nil || u.Hostname() == "" {
		return ""
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func refuse(why string) error { return fmt.Errorf("%w: %s", ErrRefused, why) }

// bounded is a body that fails with ErrTooLarge past its limit.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}
