package api

import (
	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

func (s *server) listTools(c echo.Context) error {
	var place [3]string
	for i, name := range []string{"page", "tab", "subtab"} {
		var err error
		if place[i], err = queryText(c, name, maxQuery); err != nil {
			return err
		}
	}
	_, user := caller(c)
	tools, err := s.Pages.Tools(place[0], place[1], place[2], user)
	if err != nil {
		return err
	}
	return respond(c, schemas.ToolList{Items: array(tools)})
}
