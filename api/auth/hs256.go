package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/chattray/chattray/schemas"
)

// devIssuer is the issuer of the tokens that SignToken makes.
const devIssuer = "chattray"

// HS256 accepts tokens signed with a shared secret, and no other algorithm.
type HS256 struct {
	secret   []byte
	audience string
	parser   *jwt.Parser
}

// NewHS256 returns an authenticator for tokens signed with the secret.
// Audience, when not empty, must be one of the token's audiences. The secret
// must not be empty.
func NewHS256(secret, audience string) *HS256 {
	return &HS256{
		secret:   []byte(secret),
		audience: audience,
		parser:   jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithoutClaimsValidation()),
	}
}

// Authenticate checks the signature, then the claims.
func (h *HS256) Authenticate(_ context.Context, bearer string) (schemas.User, time.Time, error) {
	user, expires, err := h.verify(bearer)
	if err != nil {
		return schemas.User{}, time.Time{}, unauthorized(err)
	}
	return user, expires, nil
}

func (h *HS256) verify(bearer string) (schemas.User, time.Time, error) {
	if err := checkLength(bearer); err != nil {
		return schemas.User{}, time.Time{}, err
	}
	var c signed
	token, err := h.parser.ParseWithClaims(bearer, &c, func(*jwt.Token) (any, error) { return h.secret, nil })
	if err != nil {
		return schemas.User{}, time.Time{}, err
	}
	if token.Header["crit"] != nil {
		return schemas.User{}, time.Time{}, errors.New("the header has critical extensions, which are not supported")
	}
	return c.user(h.audience)
}

// SignToken makes a token for development: HS256, the user's name as subject,
// good from issued until expires. Audience may be empty. A name that is no subject of a token
// is an error.
func SignToken(secret, audience string, user schemas.User, issued, expires time.Time) (string, error) {
	if secret == "" || user.Name == "" {
		return "", errors.New("sign token: secret and user name are required")
	}
	if !isName(user.Name) {
		return "", fmt.Errorf("sign token: the user name must be plain text of at most %d bytes", maxSubject)
	}
	c := signed{claims{
		Issuer: devIssuer, Subject: user.Name, Name: user.Name, Roles: user.Roles,
		IssuedAt: jwt.NewNumericDate(issued), ExpiresAt: jwt.NewNumericDate(expires),
	}}
	if audience != "" {
		c.Audience = jwt.ClaimStrings{audience}
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString([]byte(secret))
}

// signed gives claims the methods that the library asks for. claims.user checks
// them, in the same way for all kinds of tokens.
type signed struct{ claims }

func (s signed) GetExpirationTime() (*jwt.NumericDate, error) { return s.ExpiresAt, nil }
func (s signed) GetIssuedAt() (*jwt.NumericDate, error)       { return s.IssuedAt, nil }
func (s signed) GetNotBefore() (*jwt.NumericDate, error)      { return s.NotBefore, nil }
func (s signed) GetIssuer() (string, error)                   { return s.Issuer, nil }
func (s signed) GetSubject() (string, error)                  { return s.Subject, nil }
func (s signed) GetAudience() (jwt.ClaimStrings, error)       { return s.Audience, nil }
