// Package auth says who a request is from. It checks bearer tokens, of a shared secret
// or of an identity provider, and issues the tickets that replace a token in a URL. It
// knows no HTTP server: the caller takes the token from the request.
package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Identity is who a request is from, and the time at which the token expires; the zero
// time means never. Its JSON is stored with a ticket.
type Identity struct {
	User    schemas.User `json:"user"`
	Expires time.Time    `json:"expires,omitzero"`
}

// end returns the time at which a ticket of that life ends, but no later than
// the token.
func (id *Identity) end(now time.Time, life time.Duration) time.Time {
	until := now.Add(life)
	if !id.Expires.IsZero() && id.Expires.Before(until) {
		until = id.Expires
	}
	return until
}

// maxToken is the size in bytes of the largest token that is looked at.
const maxToken = 8 << 10

// Local is the authenticator of a service without authentication: every request
// comes from the user dev, an admin. It is for loopback
// addresses only.
type Local struct{}

// Authenticate returns the user dev, whose identity does not expire.
func (Local) Authenticate(context.Context, string) (schemas.User, time.Time, error) {
	return schemas.User{ID: "local|dev", Name: "dev", Roles: []string{"admin"}}, time.Time{}, nil
}

// The two reasons that a client is told why its token is refused. For all
// others it learns only that the token is not valid.
var (
	errNoToken = errors.New("no token")
	errExpired = errors.New("token has expired")
)

// unauthorized is the answer to a token that is missing or bad.
func unauthorized(cause error) error {
	message := "the bearer token is not valid"
	switch {
	case errors.Is(cause, errNoToken):
		message = "a bearer token is required"
	case errors.Is(cause, errExpired):
		message = "the sign-in has expired; sign in again"
	}
	return schemas.NewError(schemas.CodeUnauthorized, message).Because(cause)
}

// checkLength refuses a token before anything is done with it.
func checkLength(bearer string) error {
	switch {
	case bearer == "":
		return errNoToken
	case len(bearer) > maxToken:
		return fmt.Errorf("token of %d bytes", len(bearer))
	default:
		return nil
	}
}
