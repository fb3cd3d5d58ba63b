package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/time/rate"

	"github.com/chattray/chattray/schemas"
)

// The limits of requests to an identity provider.
const (
	// keyFetchEvery and keyFetchBurst bound how often keys are fetched,
	// whatever key ids tokens name.
	keyFetchEvery = 10 * time.Second
	keyFetchBurst = 4
	// keyFetchTimeout bounds one request, maxKeyDocument its answer in bytes.
	keyFetchTimeout = 10 * time.Second
	maxKeyDocument  = 1 << 20
)

// signingAlgorithms are the algorithms with public keys. The kind of the key
// that a token names decides which of them the token may use.
var signingAlgorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// OIDC accepts tokens signed by an identity provider.
type OIDC struct {
	issuer, jwksURL string
	audience        string
	provider        *keyFetch
	client          *http.Client
	// keys is filled by the first token: a provider that is down does not
	// prevent the start. The caller that fetches the keys holds the slot.
	keys atomic.Pointer[oidc.RemoteKeySet]
	slot chan struct{}
}

// NewOIDC returns an authenticator for the tokens of an issuer, whose keys are
// found by OpenID Connect discovery, or at jwksURL when that is not empty.
// If issuer is empty, the issuer of tokens is not checked; audience, when not
// empty, must be one of the token's audiences. Requests go through transport;
// nil means the default.
func NewOIDC(issuer, jwksURL, audience string, transport http.RoundTripper) *OIDC {
	if transport == nil {
		transport = http.DefaultTransport
	}
	provider := &keyFetch{next: transport, limit: rate.NewLimiter(rate.Every(keyFetchEvery), keyFetchBurst)}
	return &OIDC{
		issuer: issuer, jwksURL: jwksURL, audience: audience,
		provider: provider,
		client:   &http.Client{Transport: provider},
		slot:     make(chan struct{}, 1),
	}
}

// Authenticate checks signature and issuer, then the claims. As long as no keys
// have been fetched, tokens cannot be checked: the error is auth_unavailable.
func (o *OIDC) Authenticate(ctx context.Context, bearer string) (schemas.User, time.Time, error) {
	user, expires, err := o.verify(ctx, bearer)
	switch {
	case err == nil:
		return user, expires, nil
	case errors.Is(err, errKeysUnavailable) && !o.provider.hasKeys.Load():
		seen := schemas.NewError(schemas.CodeAuthUnavailable, "tokens cannot be checked at the moment")
		seen.RetryAfter = int(keyFetchEvery / time.Second)
		return schemas.User{}, time.Time{}, seen.Because(err)
	default:
		return schemas.User{}, time.Time{}, unauthorized(err)
	}
}

func (o *OIDC) verify(ctx context.Context, bearer string) (schemas.User, time.Time, error) {
	if err := checkLength(bearer); err != nil {
		return schemas.User{}, time.Time{}, err
	}
	lookup := &keyLookup{from: o}
	verifier := oidc.NewVerifier(o.issuer, lookup, &oidc.Config{
		SkipClientIDCheck: true, SkipExpiryCheck: true, // claims.user checks both, for all kinds of tokens
		SkipIssuerCheck:      o.issuer == "",
		SupportedSigningAlgs: signingAlgorithms,
	})
	token, err := verifier.Verify(ctx, bearer)
	if err != nil {
		// The verifier keeps only the text of the lookup's error.
		return schemas.User{}, time.Time{}, errors.Join(err, lookup.err)
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return schemas.User{}, time.Time{}, err
	}
	return c.user(o.audience)
}

// keyLookup is the key set of one verification; it remembers why it failed.
type keyLookup struct {
	from *OIDC
	err  error
}

// VerifySignature returns the payload of a token signed with one of the keys.
func (l *keyLookup) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	keys, err := l.from.remoteKeys(ctx)
	if err == nil {
		var payload []byte
		if payload, err = keys.VerifySignature(ctx, token); err == nil {
			return payload, nil
		}
	}
	l.err = err
	return nil, err
}

// remoteKeys returns the provider's key set, found by the first call that can.
func (o *OIDC) remoteKeys(ctx context.Context) (*oidc.RemoteKeySet, error) {
	if keys := o.keys.Load(); keys != nil {
		return keys, nil
	}
	select {
	case o.slot <- struct{}{}:
		defer func() { <-o.slot }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if keys := o.keys.Load(); keys != nil {
		return keys, nil
	}
	ctx = oidc.ClientContext(ctx, o.client)
	url := o.jwksURL
	if url == "" {
		provider, err := oidc.NewProvider(ctx, o.issuer)
		if err != nil {
			return nil, fmt.Errorf("%w: discovery: %w", errKeysUnavailable, err)
		}
		var found struct {
			JWKSURL string `json:"jwks_uri"`
		}
		if err := provider.Claims(&found); err != nil {
			return nil, fmt.Errorf("%w: discovery: %w", errKeysUnavailable, err)
		}
		url = found.JWKSURL
	}
	keys := oidc.NewRemoteKeySet(ctx, url)
	o.keys.Store(keys)
	return keys, nil
}

// errKeysUnavailable says that the provider's keys could not be fetched.
var errKeysUnavailable = errors.New("signing keys unavailable")

// keyFetch is the way to the identity provider: limited in rate and size. An
// answer without a JSON object is errKeysUnavailable.
type keyFetch struct {
	next  http.RoundTripper
	limit *rate.Limiter
	// hasKeys is true once a key set has been fetched.
	hasKeys atomic.Bool
}

// RoundTrip sends the request and reads the whole answer. It has the time limit because an
// http.Client that has one does not wrap the error.
func (f *keyFetch) RoundTrip(r *http.Request) (*http.Response, error) {
	if !f.limit.Allow() {
		return nil, fmt.Errorf("%w: keys were fetched too often", errKeysUnavailable)
	}
	ctx, cancel := context.WithTimeout(r.Context(), keyFetchTimeout)
	defer cancel()
	answer, err := f.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errKeysUnavailable, err)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxKeyDocument+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return nil, fmt.Errorf("%w: %w", errKeysUnavailable, err)
	}
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if answer.StatusCode != http.StatusOK || len(body) > maxKeyDocument || json.Unmarshal(body, &document) != nil {
		return nil, fmt.Errorf("%w: the provider answers %s with %d bytes", errKeysUnavailable, answer.Status, len(body))
	}
	if len(document.Keys) > 0 {
		f.hasKeys.Store(true)
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}
