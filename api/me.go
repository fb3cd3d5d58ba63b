package api

import "github.com/labstack/echo/v4"

func (s *server) getMe(c echo.Context) error {
	_, user := caller(c)
	user.Roles = array(user.Roles)
	return respond(c, user)
}
