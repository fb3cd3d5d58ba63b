package api

import (
	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

func (s *server) listModels(c echo.Context) error {
	return respond(c, schemas.ModelList{Items: array(s.Models)})
}
