package api

import (
	"context"

	"github.com/chattray/chattray/schemas"
)

// research has the streams and reports that everybody may read. An unknown id
// is schemas.ErrNotFound; only its owner or an admin may change a stream, for
// others it is forbidden.
type research interface {
	Streams(ctx context.Context) ([]schemas.Stream, error)
	Stream(ctx context.Context, id int64) (schemas.Stream, error)
	UpdateStream(ctx context.Context, user schemas.User, id int64, u schemas.StreamUpdate) (schemas.Stream, error)
	// Reports returns the reports of a stream, or of all streams when streamID
	// is 0.
	Reports(ctx context.Context, streamID int64) ([]schemas.Report, error)
	// Report returns a report with its articles.
	Report(ctx context.Context, id int64) (schemas.Report, error)
}

type streamPath struct {
	Stream int64 `path:"stream_id"`
}

func (s *server) listStreams(ctx context.Context, _ schemas.User, _ none) (schemas.StreamList, error) {
	streams, err := s.Research.Streams(ctx)
	return schemas.StreamList{Items: array(streams)}, err
}

func (s *server) getResearchStream(ctx context.Context, _ schemas.User, in streamPath) (schemas.Stream, error) {
	return s.Research.Stream(ctx, in.Stream)
}

func (s *server) putResearchStream(ctx context.Context, user schemas.User, in struct {
	streamPath

	Body schemas.StreamUpdate
},
) (schemas.Stream, error) {
	return s.Research.UpdateStream(ctx, user, in.Stream, in.Body)
}

func (s *server) listReports(ctx context.Context, _ schemas.User, in struct {
	Stream int64 `query:"stream_id"`
},
) (schemas.ReportList, error) {
	reports, err := s.Research.Reports(ctx, in.Stream)
	return schemas.ReportList{Items: array(reports)}, err
}

func (s *server) getReport(ctx context.Context, _ schemas.User, in struct {
	Report int64 `path:"report_id"`
},
) (schemas.Report, error) {
	return s.Research.Report(ctx, in.Report)
}
