package api

import (
	"context"
	"iter"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

// userData counts, deletes and exports all the data of a user.
type userData interface {
	Size(ctx context.Context, user schemas.User) (schemas.DataSize, error)
	// Delete refuses with code conflict, and says how much it would delete, if more is
	// stored than confirm says.
	Delete(ctx context.Context, user schemas.User, confirm string) (schemas.DataSize, error)
	// Export yields lines of JSON.
	Export(ctx context.Context, user schemas.User) iter.Seq2[[]byte, error]
}

// getMe returns the user, and what the user may see and do.
func (s *server) getMe(_ context.Context, user schemas.User, _ none) (schemas.Me, error) {
	return schemas.Me{ID: user.ID, Name: user.Name, Roles: array(user.Roles), May: schemas.May{
		Diagnostics: s.Diagnostics(user), AllUsage: user.Admin(), AllStreams: user.Admin(),
	}}, nil
}

func (s *server) getMyData(ctx context.Context, user schemas.User, _ none) (schemas.DataSize, error) {
	return s.UserData.Size(ctx, user)
}

// deleteMyData goes on when the client has gone.
func (s *server) deleteMyData(ctx context.Context, user schemas.User, in struct {
	Confirm string `query:"confirm" max:"100"`
},
) (schemas.DataSize, error) {
	return s.UserData.Delete(context.WithoutCancel(ctx), user, in.Confirm)
}

// exportMyData streams everything of the user.
func (s *server) exportMyData(c echo.Context) error {
	ctx, user := caller(c)
	c.Response().Header().Set(echo.HeaderContentType, "application/jsonl")
	asFile(c, "chattray", "", ".jsonl")
	return s.sendPieces(c, s.UserData.Export(ctx, user))
}
