package api

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
)

// research is the streams and reports that everybody may read. An unknown id is
// schemas.ErrNotFound; a stream is changed by its owner or an admin, for others
// it is forbidden.
type research interface {
	Streams(ctx context.Context) ([]schemas.Stream, error)
	Stream(ctx context.Context, id int64) (schemas.Stream, error)
	UpdateStream(ctx context.Context, user schemas.User, id int64, u schemas.StreamUpdate) (schemas.Stream, error)
	// Reports returns the reports of a stream, of all when streamID is 0.
	Reports(ctx context.Context, streamID int64) ([]schemas.Report, error)
	// Report returns a report with its articles.
	Report(ctx context.Context, id int64) (schemas.Report, error)
}

func (s *server) listStreams(c echo.Context) error {
	streams, err := s.Research.Streams(c.Request().Context())
	if err != nil {
		return err
	}
	return respond(c, schemas.StreamList{Items: array(streams)})
}

func (s *server) getResearchStream(c echo.Context) error {
	stream, err := number(c, "stream_id", firstID)
	if err != nil {
		return err
	}
	found, err := s.Research.Stream(c.Request().Context(), stream)
	if err != nil {
		return err
	}
	return respond(c, found)
}

func (s *server) putResearchStream(c echo.Context) error {
	stream, err := number(c, "stream_id", firstID)
	if err != nil {
		return err
	}
	update, _, err := decode[schemas.StreamUpdate](s, c)
	if err != nil {
		return err
	}
	ctx, user := caller(c)
	updated, err := s.Research.UpdateStream(ctx, user, stream, update)
	if err != nil {
		return err
	}
	return respond(c, updated)
}

func (s *server) listReports(c echo.Context) error {
	stream, err := queryNumber(c, "stream_id")
	if err != nil {
		return err
	}
	reports, err := s.Research.Reports(c.Request().Context(), stream)
	if err != nil {
		return err
	}
	return respond(c, schemas.ReportList{Items: array(reports)})
}

func (s *server) getReport(c echo.Context) error {
	report, err := number(c, "report_id", firstID)
	if err != nil {
		return err
	}
	found, err := s.Research.Report(c.Request().Context(), report)
	if err != nil {
		return err
	}
	return respond(c, found)
}
