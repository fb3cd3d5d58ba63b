package api

import "github.com/labstack/echo/v4"

func (s *server) getVersions(c echo.Context) error {
	chat, message, err := inChat(c, "message_id")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	found, err := s.Chats.Versions(ctx, user, chat, message)
	if err != nil {
		return err
	}
	found.Items = array(found.Items)
	return respond(c, found)
}

func (s *server) selectVersion(c echo.Context) error {
	chat, message, err := inChat(c, "message_id")
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	selected, err := s.Chats.SelectVersion(ctx, user, chat, message)
	if err != nil {
		return err
	}
	return respond(c, selected)
}
