package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"
)

// The limits of requests to an identity provider.
const (
	// keyFetchEvery and keyFetchBurst bound how often keys are fetched,
	// whatever key ids tokens name.
	keyFetchEvery = 10 * time.Second
	keyFetchBurst = 4
	// keyRequestTimeout bounds one of the two requests of a fetch, maxKeyDocument
	// its answer in bytes.
	keyRequestTimeout = 5 * time.Second
	maxKeyDocument    = 1 << 20
	// minKeyAge and maxKeyAge bound the age at which keys are fetched again, which the
	// provider may choose; defaultKeyAge is that of keys for which it does not. Without an
	// answer, keys are used until they are keysKept old.
	minKeyAge, defaultKeyAge, maxKeyAge = time.Minute, 10 * time.Minute, time.Hour
	keysKept                            = 24 * time.Hour
)

var (
	// errKeysUnavailable says that the provider's keys could not be fetched.
	errKeysUnavailable = errors.New("signing keys unavailable")
	errBadSignature    = errors.New("no key of the provider verifies the signature")
)

// providerKeys are the signing keys of an identity provider. They are fetched
// when a token asks for a key that they lack, and again when they are old: the
// provider may have revoked one. All callers that wait share one fetch. It is
// safe for concurrent use.
type providerKeys struct {
	issuer  string // for discovery
	jwksURL string // takes the place of discovery, if not empty
	client  *http.Client
	limit   *rate.Limiter

	mu      sync.Mutex
	known   *keySet
	current *keyFetch // nil, if there is none
	// notBefore is when the next fetch may begin: after a failed one there is a
	// pause as long as that took, so that callers do not always wait.
	notBefore time.Time
	failed    bool // the last fetch
	closed    bool
}

// keySet is the result of a fetch. It does not change.
type keySet struct {
	url     string
	keys    []jose.JSONWebKey
	begun   time.Time // when they were asked for
	fetched time.Time
	maxAge  time.Duration
}

// keyFetch is a fetch that goes on. After done is closed it has a result.
type keyFetch struct {
	cancel context.CancelFunc
	done   chan struct{}
	set    *keySet
	err    error
}

func newProviderKeys(issuer, jwksURL string, transport http.RoundTripper) *providerKeys {
	return &providerKeys{
		issuer: issuer, jwksURL: jwksURL,
		client: &http.Client{Transport: transport},
		limit:  rate.NewLimiter(rate.Every(keyFetchEvery), keyFetchBurst),
		known:  &keySet{},
	}
}

// payload returns the payload of a token signed with one of the keys. If a key
// may be missing and cannot be fetched, the error is errKeysUnavailable. A fetch that had
// begun before may lack the newest key: it is followed by another one.
func (p *providerKeys) payload(ctx context.Context, token *jose.JSONWebSignature) ([]byte, error) {
	known, err := p.usable(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKeysUnavailable, err)
	}
	payload, err := known.verify(token)
	for asked, older := time.Now(), true; err != nil && older; older = known.begun.Before(asked) {
		fetched, fetchErr := p.fetch(ctx, known)
		switch {
		case fetchErr == nil:
			known = fetched
			payload, err = known.verify(token)
		case known.has(token):
			return nil, err
		default:
			return nil, fmt.Errorf("%w: %w", errKeysUnavailable, fetchErr)
		}
	}
	return payload, err
}

// usable returns the known keys, or newer ones if those are old. Callers wait for these once,
// but not again while the provider does not answer: they use what is known, until it is too
// old.
func (p *providerKeys) usable(ctx context.Context) (*keySet, error) {
	p.mu.Lock()
	known, failed := p.known, p.failed
	p.mu.Unlock()
	age := time.Since(known.fetched)
	if len(known.keys) == 0 || age < known.maxAge {
		return known, nil
	}
	f, err := p.join(ctx, known)
	if err == nil && (!failed || age >= keysKept) {
		var fetched *keySet
		if fetched, err = f.wait(ctx); err == nil {
			return fetched, nil
		}
	}
	if age >= keysKept {
		return nil, err
	}
	return known, nil
}

// fetch returns keys that are newer than known.
func (p *providerKeys) fetch(ctx context.Context, known *keySet) (*keySet, error) {
	f, err := p.join(ctx, known)
	if err != nil {
		return nil, err
	}
	return f.wait(ctx)
}

func (f *keyFetch) wait(ctx context.Context) (*keySet, error) {
	select {
	case <-f.done:
		return f.set, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// join returns the fetch that goes on or has ended since known, or begins one.
// It does not end with the caller's context: others wait for it too.
func (p *providerKeys) join(ctx context.Context, known *keySet) (*keyFetch, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.known != known:
		ended := &keyFetch{done: make(chan struct{}), set: p.known}
		close(ended.done)
		return ended, nil
	case p.current != nil:
		return p.current, nil
	case p.closed:
		return nil, errors.New("the service is stopping")
	case time.Now().Before(p.notBefore):
		return nil, errors.New("the last fetch has just failed")
	case !p.limit.Allow():
		return nil, errors.New("keys were fetched too often")
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.current = &keyFetch{cancel: cancel, done: make(chan struct{})}
	go p.run(ctx, p.current)
	return p.current, nil
}

// run fetches keys. If that fails, the known ones stay.
func (p *providerKeys) run(ctx context.Context, f *keyFetch) {
	defer close(f.done)
	defer f.cancel()
	begun := time.Now()
	f.set, f.err = p.request(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.current, p.failed = nil, f.err != nil
	if p.failed {
		p.notBefore = time.Now().Add(time.Since(begun))
		return
	}
	p.known = f.set
}

// close ends the fetch that goes on, and prevents others.
func (p *providerKeys) close() {
	p.mu.Lock()
	p.closed = true
	f := p.current
	p.mu.Unlock()
	if f != nil {
		f.cancel()
		<-f.done
	}
}

// request asks the provider where its keys are, and for the keys. As a
// provider may move them, it asks both each time; if it does not say where, they
// are looked for where they were.
func (p *providerKeys) request(ctx context.Context) (*keySet, error) {
	begun, at, discoverErr := time.Now(), p.jwksURL, error(nil)
	if at == "" {
		if at, discoverErr = p.discover(ctx); discoverErr != nil {
			p.mu.Lock()
			at = p.known.url
			p.mu.Unlock()
		}
	}
	if at == "" {
		return nil, discoverErr
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	header, err := p.get(ctx, at, &document)
	if err != nil {
		return nil, errors.Join(discoverErr, err)
	}
	set := &keySet{url: at, begun: begun, fetched: time.Now(), maxAge: maxAge(header)}
	for _, raw := range document.Keys {
		// RFC 7517, section 5: keys that are not understood are ignored.
		if key, err := keyOf(raw); err == nil && key.Valid() && key.IsPublic() && key.Use != "enc" {
			set.keys = append(set.keys, key)
		}
	}
	if len(set.keys) == 0 {
		return nil, errors.Join(discoverErr, errors.New("there is no key that signatures can be checked with"))
	}
	return set, nil
}

// keyOf reads a key without its certificates, of which a provider may have some that Go does
// not read. The provider's address vouches for its keys.
func keyOf(raw json.RawMessage) (key jose.JSONWebKey, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return key, err
	}
	for _, name := range []string{"x5c", "x5t", "x5t#S256", "x5u"} {
		delete(members, name)
	}
	rest, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(rest, &key)
	}
	return key, err
}

// discover returns the URL of the keys of the issuer (OpenID Connect Discovery
// 1.0, section 4).
func (p *providerKeys) discover(ctx context.Context) (string, error) {
	var document struct {
		Issuer  string `json:"issuer"`
		JWKSURL string `json:"jwks_uri"`
	}
	if _, err := p.get(ctx, strings.TrimSuffix(p.issuer, "/")+"/.well-known/openid-configuration", &document); err != nil {
		return "", fmt.Errorf("discovery: %w", err)
	}
	if document.Issuer != p.issuer {
		return "", fmt.Errorf("discovery: the provider calls itself %q, not %q", document.Issuer, p.issuer)
	}
	u, err := url.Parse(document.JWKSURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "", fmt.Errorf("discovery: jwks_uri %q is not a URL of keys", document.JWKSURL)
	}
	return document.JWKSURL, nil
}

// get reads a JSON object and returns the headers of the answer. Its errors have no query of
// the URL, which may be secret.
func (p *providerKeys) get(ctx context.Context, from string, into any) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, keyRequestTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Cache-Control", "no-cache")
	from = r.URL.Scheme + "://" + r.URL.Host + r.URL.Path
	answer, err := p.client.Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = fmt.Errorf("%s: %w", from, e.Err)
	}
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKeyDocument+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	if answer.StatusCode != http.StatusOK || len(body) > maxKeyDocument || json.Unmarshal(body, into) != nil {
		return nil, fmt.Errorf("%s answers %s with %d bytes", from, answer.Status, len(body))
	}
	return answer.Header, nil
}

// maxAge returns the age that an answer may have (RFC 9111, section 5.2.2), within the bounds.
func maxAge(h http.Header) time.Duration {
	age := defaultKeyAge
	for part := range strings.SplitSeq(strings.Join(h.Values("Cache-Control"), ","), ",") {
		name, value, _ := strings.Cut(strings.ToLower(strings.TrimSpace(part)), "=")
		switch name {
		case "no-store", "no-cache":
			return minKeyAge
		case "max-age":
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				age = time.Duration(seconds) * time.Second
			}
		}
	}
	return min(max(age, minKeyAge), maxKeyAge)
}

// candidates are the keys that may have signed a token: those with its key id,
// all if it has none.
func (s *keySet) candidates(token *jose.JSONWebSignature) []jose.JSONWebKey {
	id := token.Signatures[0].Header.KeyID
	if id == "" {
		return s.keys
	}
	var found []jose.JSONWebKey
	for _, key := range s.keys {
		if key.KeyID == id {
			found = append(found, key)
		}
	}
	return found
}

// has returns whether one of the keys has the key id of the token.
func (s *keySet) has(token *jose.JSONWebSignature) bool {
	return token.Signatures[0].Header.KeyID != "" && len(s.candidates(token)) > 0
}

func (s *keySet) verify(token *jose.JSONWebSignature) ([]byte, error) {
	for _, key := range s.candidates(token) {
		if payload, err := token.Verify(&key); err == nil {
			return payload, nil
		}
	}
	return nil, errBadSignature
}
