package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/chattray/chattray/agents"
	"github.com/chattray/chattray/agents/openai/sending"
	"github.com/chattray/chattray/schemas/text"
)

// cleaning is the round tripper beneath go-openai. It puts messages and tools into the request and
// turns a response other than a success into a *fault. It hides the body of a success from go-openai,
// which is slow and takes some broken streams for complete ones: the call reads the body itself, with a reader.
type cleaning struct {
	next   http.RoundTripper
	limits Limits
	query  string // query of the base URL
	key    string
	hide   *strings.Replacer
	before func(ctx context.Context) error
	memory func(ctx context.Context, bytes int) (release func(), err error)
	azure  bool
}

func (t *cleaning) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.query != "" || t.azure {
		req = req.Clone(req.Context())
		req.URL.RawQuery = t.query
		if t.azure && t.key != "" {
			req.Header.Del("Authorization")
			req.Header.Set("Api-Key", t.key)
		}
	}
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("openai: the request's context has no exchange")
	}
	req.Header["Accept-Encoding"] = uncompressed // the header belongs to this one call
	req, err := putRequest(req, x.request, x.quirks)
	if err != nil {
		return nil, err
	}
	sent := &sentBody{
		ReadCloser: req.Body, again: req.GetBody, release: x.release,
		ready:  func() error { return t.before(req.Context()) },
		memory: func() (func(), error) { return t.memory(req.Context(), memoryOf(x.request)) },
	}
	req.Body, req.GetBody = sent, sent.get
	resp, err := t.next.RoundTrip(req)
	if unread, ok := errors.AsType[*sending.ImageError](err); ok {
		return nil, unread
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	sent.drop()
	unpack(resp)
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	if resp.StatusCode/100 == 2 && !strings.EqualFold(strings.TrimSpace(kind), "text/html") {
		x.reader = &reader{lines: lines{body: resp.Body, watch: x.watch, limit: t.limits.Line}, limits: t.limits, hide: t.hide}
		resp.Body = http.NoBody
		return resp, nil
	}
	defer resp.Body.Close() // the body has been read
	f := responseFault(resp).without(t.hide)
	if resp.StatusCode/100 == 2 {
		f = protocol("HTML instead of an event stream: %.200q", f.message)
	}
	return nil, f
}

// sentBody is a request's body that is freed once the answer has begun. The
// transport keeps the request for as long as the reply streams, and prompts are
// long. The first read, which the transport makes when it has a connection, calls ready;
// its error ends the request before anything of the body is sent.
type sentBody struct {
	ready   func() error                       // nil after the first read; reads come one after the other
	release func()                             // called when the body has been sent
	memory  func() (release func(), err error) // called before the body is sent again

	mu sync.Mutex
	io.ReadCloser
	again func() (io.ReadCloser, error)
}

// get returns the body for another connection, if the server has closed a kept one.
func (b *sentBody) get() (io.ReadCloser, error) {
	b.mu.Lock()
	again := b.again
	b.mu.Unlock()
	if again == nil {
		return nil, errors.New("the body has been sent")
	}
	release, err := b.memory()
	if err != nil {
		return nil, err
	}
	time.AfterFunc(longSend, release)
	body, err := again()
	return &sentBody{ReadCloser: body, release: release}, err
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	if ready := b.ready; ready != nil {
		if err := ready(); err != nil {
			return 0, err
		}
		b.ready = nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ReadCloser.Read(p)
}

// Close implements io.Closer.
func (b *sentBody) Close() error {
	defer b.release()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ReadCloser.Close()
}

// drop frees the bytes. The answer has begun, so nobody reads them again.
func (b *sentBody) drop() {
	defer b.release()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ReadCloser, b.again = http.NoBody, nil
}

// hiding returns what replaces the key, and values of the base URL's query that are named like secrets or as long as keys are.
func hiding(key, query string) *strings.Replacer {
	var pairs []string
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(value); err == nil && (len(value) >= 20 || len(value) >= text.ShortestSecret && text.NamesSecret(name)) {
			pairs = append(pairs, value, "[key]", plain, "[key]")
		}
	}
	if len(key) >= text.ShortestSecret { // local servers take any key, such as "x"
		pairs = append(pairs, key, "[key]")
	}
	return strings.NewReplacer(pairs...)
}

// without returns f without keys, which an upstream may repeat, and then cuts it: a part of a key would not be found.
func (f *fault) without(hide *strings.Replacer) *fault {
	for _, s := range []*string{&f.kind, &f.code, &f.param, &f.message} {
		*s = hide.Replace(*s)
		*s = strings.ToValidUTF8((*s)[:min(len(*s), maxErrorText)], "\uFFFD")
	}
	return f
}

// exchange is shared by a call and the round tripper.
type exchange struct {
	request *agents.ModelRequest
	quirks  quirks
	watch   *watch
	release func()  // called when the request has been sent
	reader  *reader // reader of the reply; set by the round tripper
}

type exchangeKey struct{}
