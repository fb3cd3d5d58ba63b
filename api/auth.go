package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chattray/chattray/schemas"
)

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
