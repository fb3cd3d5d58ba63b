package api

import (
	"context"

	"github.com/chattray/chattray/schemas"
)

// pages is what pages offer to their chats. Its results are shared and must not
// be changed.
type pages interface {
	List() []schemas.Page
	// Page returns the page of that name or alias.
	Page(name string) (schemas.Page, bool)
	// Tools returns the tools for the user on a page, tab and subtab; the
	// global tools if no page file describes them.
	Tools(page, tab, subtab string, user schemas.User) ([]schemas.Tool, error)
}

func (s *server) listPages(context.Context, schemas.User, none) (schemas.PageList, error) {
	return schemas.PageList{Items: array(s.Pages.List())}, nil
}

func (s *server) getPage(_ context.Context, _ schemas.User, in struct {
	Page string `path:"page" form:"any"`
},
) (schemas.Page, error) {
	page, ok := s.Pages.Page(in.Page)
	if !ok {
		return page, schemas.ErrNotFound
	}
	return page, nil
}

func (s *server) listTools(_ context.Context, user schemas.User, in struct {
	Page   string `query:"page" max:"200"`
	Tab    string `query:"tab" max:"200"`
	Subtab string `query:"subtab" max:"200"`
},
) (schemas.ToolList, error) {
	tools, err := s.Pages.Tools(in.Page, in.Tab, in.Subtab, user)
	return schemas.ToolList{Items: array(tools)}, err
}

func (s *server) listModels(context.Context, schemas.User, none) (schemas.ModelList, error) {
	return schemas.ModelList{Items: array(s.Models)}, nil
}
