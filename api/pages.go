package api

import (
	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

// pages is what pages offer to their chats. What it returns is shared and is
// not changed here.
type pages interface {
	List() []schemas.Page
	// Page returns the page of that name or alias.
	Page(name string) (schemas.Page, bool)
	// Tools returns the tools for the user on a page, tab and subtab; where no
	// page file describes them, the global ones.
	Tools(page, tab, subtab string, user schemas.User) ([]schemas.Tool, error)
}

func (s *server) listPages(c echo.Context) error {
	return respond(c, schemas.PageList{Items: array(s.Pages.List())})
}

func (s *server) getPage(c echo.Context) error {
	page, ok := s.Pages.Page(c.Param("page"))
	if !ok {
		return schemas.ErrNotFound
	}
	return respond(c, page)
}
