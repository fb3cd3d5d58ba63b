package auth

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

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

// claimNames are the names of the members of claims. The first registered of them decide
// who the user is, and when.
var claimNames = func() (names []string) {
	for field := range reflect.TypeFor[claims]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

const registered = 6

// UnmarshalJSON takes exact names only; encoding/json ignores letter case. It refuses a
// token that others may read in another way (RFC 7519, section 4): a name that occurs
// twice, and a registered one in other letter case.
func (c *claims) UnmarshalJSON(data []byte) error {
	named, err := members(data)
	if err != nil {
		return err
	}
	exact, err := json.Marshal(named)
	if err != nil {
		return err
	}
	type plain claims
	return json.Unmarshal(exact, (*plain)(c))
}

// members returns the members of an object with a name of claimNames.
func members(object []byte) (map[string]json.RawMessage, error) {
	list := json.NewDecoder(bytes.NewReader(object))
	if begin, err := list.Token(); err != nil || begin != json.Delim('{') {
		return nil, errors.Join(errors.New("the claims are not an object"), err)
	}
	named, seen := make(map[string]json.RawMessage), make(map[string]bool)
	for list.More() {
		token, err := list.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		if seen[name] {
			return nil, fmt.Errorf("claim %q occurs twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := list.Decode(&value); err != nil {
			return nil, err
		}
		switch at := slices.IndexFunc(claimNames, func(known string) bool { return strings.EqualFold(known, name) }); {
		case at < 0:
		case claimNames[at] == name:
			named[name] = value
		case at < registered:
			return nil, fmt.Errorf("claim %q is not %q", name, claimNames[at])
		}
	}
	return named, nil
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
		return none, time.Time{}, fmt.Errorf("aud %q does not have %q", []string(c.Audience), audience)
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

// isName returns whether s may be part of a user's id. Different texts that are
// no valid Unicode are all read with U+FFFD, and would be the same user.
func isName(s string) bool {
	return len(s) <= maxSubject && !strings.ContainsFunc(s, unicode.IsControl) && !strings.ContainsRune(s, utf8.RuneError)
}
