package api

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// usage is what users have used. Asking about another user is forbidden to all
// but admins; days that make no range are an error of code invalid.
type usage interface {
	Usage(ctx context.Context, user schemas.User, q record.UsageQuery) (schemas.UsageReport, error)
}

// maxUser bounds the id of a user, which is issuer and subject.
const maxUser = 1024

func (s *server) getUsage(c echo.Context) error {
	var q record.UsageQuery
	var err error
	if q.User, err = queryText(c, "user", maxUser); err != nil {
		return err
	}
	if q.From, err = queryDay(c, "from"); err != nil {
		return err
	}
	if q.To, err = queryDay(c, "to"); err != nil {
		return err
	}
	ctx, user := caller(c)
	report, err := s.Usage.Usage(ctx, user, q)
	if err != nil {
		return err
	}
	report.Items = array(report.Items)
	return respond(c, report)
}

// queryDay returns a query parameter that is a day; zero when absent.
func queryDay(c echo.Context, name string) (time.Time, error) {
	v := c.QueryParam(name)
	if v == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, v)
	if err != nil || day.Year() < 1 {
		return time.Time{}, badQuery(name, "must be a day as YYYY-MM-DD")
	}
	return day, nil
}
