package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/chattray/chattray/schemas"
)

// signingAlgorithms are the algorithms with public keys. The kind of the key
// that a token names decides which of them the token may use.
var signingAlgorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512,
	oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// OIDC accepts tokens signed by an identity provider.
type OIDC struct {
	issuer   string
	audience string
	keys     *providerKeys
}

// NewOIDC returns an authenticator for the tokens of an issuer, whose keys are
// found by OpenID Connect discovery, or at jwksURL when that is not empty. It
// makes no request before the first token: a provider that is down does not
// prevent the start. If issuer is empty, the issuer of tokens is not checked;
// audience, when not empty, must be one of the token's audiences. Requests go
// through transport; nil means the default. The caller closes the OIDC.
func NewOIDC(issuer, jwksURL, audience string, transport http.RoundTripper) *OIDC {
	return &OIDC{issuer: issuer, audience: audience, keys: newProviderKeys(issuer, jwksURL, transport)}
}

// Close ends a request to the provider. Tokens that need one are refused from
// then on.
func (o *OIDC) Close() { o.keys.close() }

// Authenticate checks signature and issuer, then the claims. If the token's key
// is not known and cannot be fetched, the error is auth_unavailable.
func (o *OIDC) Authenticate(ctx context.Context, bearer string) (schemas.User, time.Time, error) {
	user, expires, err := o.verify(ctx, bearer)
	switch {
	case err == nil:
		return user, expires, nil
	case errors.Is(err, errKeysUnavailable):
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
	lookup := &keyLookup{keys: o.keys}
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
	keys *providerKeys
	err  error
}

// VerifySignature returns the payload of a token signed with one of the keys.
func (l *keyLookup) VerifySignature(ctx context.Context, bearer string) ([]byte, error) {
	algorithms := make([]jose.SignatureAlgorithm, len(signingAlgorithms))
	for i, name := range signingAlgorithms {
		algorithms[i] = jose.SignatureAlgorithm(name)
	}
	token, err := jose.ParseSignedCompact(bearer, algorithms)
	if err != nil {
		return nil, err
	}
	payload, err := l.keys.payload(ctx, token)
	l.err = err
	return payload, err
}
