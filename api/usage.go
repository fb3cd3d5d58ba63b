package api

import (
	"context"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// usage is what users have consumed. Only admins may ask about another user;
// days that make no range are an error of code invalid.
type usage interface {
	Usage(ctx context.Context, user schemas.User, q record.UsageQuery) (schemas.UsageReport, error)
}

func (s *server) getUsage(ctx context.Context, user schemas.User, in struct {
	User string    `query:"user" max:"1024"` // issuer and subject
	From time.Time `query:"from"`
	To   time.Time `query:"to"`
},
) (schemas.UsageReport, error) {
	report, err := s.Usage.Usage(ctx, user, record.UsageQuery{User: in.User, From: in.From, To: in.To})
	report.Items = array(report.Items)
	return report, err
}
