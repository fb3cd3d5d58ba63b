package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/golang-jwt/jwt/v5"

	"github.com/chattray/chattray/schemas"
)

const (
	// clockSkew is how far the clock of a token's issuer may be ahead of ours.
	clockSkew = time.Minute
	// maxSubject is the length in bytes of iss and of sub; OpenID Connect
	// allows 255 for sub.
	maxSubject = 255
)

// claims are the claims of a token that are checked, once its signature is
// known to be good.
type claims struct {
	Issuer            string           `json:"iss"`
	Subject           string           `json:"sub"`
	Audience          jwt.ClaimStrings `json:"aud,omitempty"`
	ExpiresAt         *jwt.NumericDate `json:"exp,omitempty"`
	NotBefore         *jwt.NumericDate `json:"nbf,omitempty"`
	IssuedAt          *jwt.NumericDate `json:"iat,omitempty"`
	Name              string           `json:"name,omitempty"`
	PreferredUsername string           `json:"preferred_username,omitempty"`
	Roles             roles            `json:"roles,omitempty"`
	Role              roles            `json:"role,omitempty"`
}

// roles is a list of strings, or a string with spaces. Anything else gives none.
type roles []string

// UnmarshalJSON never fails: a claim that is not a role gives no rights.
func (r *roles) UnmarshalJSON(data []byte) error {
	var list []string
	var text string
	switch {
	case json.Unmarshal(data, &list) == nil:
		*r = list
	case json.Unmarshal(data, &text) == nil:
		*r = strings.Fields(text)
	}
	return nil
}

// user checks times, audience and names and returns the user that the token
// names.
func (c claims) user(audience string) (schemas.User, time.Time, error) {
	var none schemas.User
	now := time.Now()
	switch {
	case c.ExpiresAt == nil:
		return none, time.Time{}, errors.New("exp is missing")
	case !isTime(c.ExpiresAt) || !isTime(c.NotBefore) || !isTime(c.IssuedAt):
		return none, time.Time{}, errors.New("exp, nbf or iat is not a time")
	case !now.Before(c.ExpiresAt.Time):
		return none, time.Time{}, errExpired
	case c.NotBefore != nil && now.Add(clockSkew).Before(c.NotBefore.Time):
		return none, time.Time{}, errors.New("nbf is in the future")
	case c.IssuedAt != nil && now.Add(clockSkew).Before(c.IssuedAt.Time):
		return none, time.Time{}, errors.New("iat is in the future")
	case audience != "" && !slices.Contains(c.Audience, audience):
		return none, time.Time{}, fmt.Errorf("aud %q is not ours", []string(c.Audience))
	case !isName(c.Subject) || c.Subject == "":
		return none, time.Time{}, errors.New("sub is missing, too long or not plain text")
	case !isName(c.Issuer) || strings.Contains(c.Issuer, "|"):
		return none, time.Time{}, errors.New("iss is too long or not plain text")
	}
	return schemas.User{
		ID:    c.Issuer + "|" + c.Subject,
		Name:  cmp.Or(c.Name, c.PreferredUsername, c.Subject),
		Roles: append(slices.Clone([]string(c.Roles)), c.Role...),
	}, c.ExpiresAt.Time, nil
}

// isTime returns whether a claim that may be missing is a time. A number beyond
// the range of time wraps around to a distant year.
func isTime(t *jwt.NumericDate) bool {
	return t == nil || t.UTC().Year() > 0 && t.UTC().Year() <= 9999
}

func isName(s string) bool {
	return len(s) <= maxSubject && !strings.ContainsFunc(s, unicode.IsControl)
}
