package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chattray/chattray/schemas"
)

// signingAlgorithms are the algorithms with public keys. The kind of the key
// that a token names decides which of them the token may use.
var signingAlgorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// Google's tokens may name their issuer in either way.
const (
	googleIssuer      = "https://accounts.google.com"
	googleIssuerShort = "accounts.google.com"
)

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
	token, err := jose.ParseSignedCompact(bearer, signingAlgorithms)
	if err != nil {
		return schemas.User{}, time.Time{}, err
	}
	payload, err := o.keys.payload(ctx, token)
	if err != nil {
		return schemas.User{}, time.Time{}, err
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return schemas.User{}, time.Time{}, err
	}
	if !o.accepts(c.Issuer) {
		return schemas.User{}, time.Time{}, fmt.Errorf("iss %q is not ours", c.Issuer)
	}
	return c.user(o.audience)
}

func (o *OIDC) accepts(issuer string) bool {
	return o.issuer == "" || issuer == o.issuer || o.issuer == googleIssuer && issuer == googleIssuerShort
}
