package api

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chattray/chattray/api/dialects"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
)

// admin reads the runs of all users. It does not check who asks.
type admin interface {
	Runs(ctx context.Context, q record.AdminRunQuery) (schemas.AdminRunList, error)
	Timeline(ctx context.Context, id string) (schemas.AdminTimeline, error)
	// Events returns the stored events of a run after a number, at most limit, and the
	// number to continue after, 0 at the end.
	Events(ctx context.Context, id string, after int64, limit int) (events []runlog.Event, next int64, err error)
	Diagnostics(ctx context.Context, id string) (schemas.Diagnostics, error)
	// Stats returns the totals of the days; a zero day is the default.
	Stats(ctx context.Context, first, last time.Time, top int) (schemas.AdminStats, error)
	Processes(ctx context.Context) ([]schemas.AdminReplica, error)
	MCPServers() []schemas.AdminMCPServer
}

var (
	errNoAdmin = schemas.NewError(schemas.CodeForbidden, "only an admin may see the runs of all users")
	// errNoContents refuses what users and models have written.
	errNoContents = schemas.NewError(schemas.CodeForbidden, "the setting diagnostics does not let you see what a run has written")
)

// forAdmins returns the handler of a route for admins.
func forAdmins[In, Out any](s *server, call func(context.Context, In) (Out, error)) echo.HandlerFunc {
	return handle(s, func(ctx context.Context, user schemas.User, in In) (out Out, err error) {
		if !user.Admin() {
			return out, errNoAdmin
		}
		return call(ctx, in)
	})
}

// forReaders does what forAdmins does, for what only those may read who may see diagnostics.
func forReaders[In, Out any](s *server, call func(context.Context, In) (Out, error)) echo.HandlerFunc {
	return handle(s, func(ctx context.Context, user schemas.User, in In) (out Out, err error) {
		switch {
		case !user.Admin():
			return out, errNoAdmin
		case !s.Diagnostics(user):
			return out, errNoContents
		}
		return call(ctx, in)
	})
}

func (s *server) adminRuns(ctx context.Context, in struct {
	listPage

	State string    `query:"state" max:"20"`
	User  string    `query:"user" max:"1024"` // issuer and subject
	Page  string    `query:"page" max:"200"`
	Model string    `query:"model" max:"200"`
	Error string    `query:"error" max:"100"`
	From  time.Time `query:"from"`
	To    time.Time `query:"to"` // the last day
},
) (schemas.AdminRunList, error) {
	q := record.AdminRunQuery{
		State: in.State, Owner: in.User, Page: in.Page, Model: in.Model, Code: in.Error, From: in.From, Limit: in.Limit, Cursor: in.Cursor,
	}
	if !in.To.IsZero() {
		q.To = in.To.AddDate(0, 0, 1)
	}
	list, err := s.Admin.Runs(ctx, q)
	list.Items = array(list.Items)
	return list, err
}

func (s *server) adminTimeline(ctx context.Context, in runPath) (schemas.AdminTimeline, error) {
	return s.Admin.Timeline(ctx, in.Run)
}

func (s *server) adminDiagnostics(ctx context.Context, in runPath) (schemas.Diagnostics, error) {
	return s.Admin.Diagnostics(ctx, in.Run)
}

func (s *server) adminEvents(ctx context.Context, in struct {
	runPath

	After int64 `query:"after"`
	Limit int   `query:"limit"`
},
) (schemas.AdminEventList, error) {
	if in.After < 0 {
		return schemas.AdminEventList{}, refusedQuery("after", "must be at least 0")
	}
	events, next, err := s.Admin.Events(ctx, in.Run, in.After, in.Limit)
	if err != nil {
		return schemas.AdminEventList{}, err
	}
	list := schemas.AdminEventList{Items: make([]schemas.AdminEvent, len(events)), Next: next}
	for i := range events {
		e := &events[i]
		list.Items[i] = schemas.AdminEvent{Sequence: e.Seq, At: time.UnixMilli(e.Time).UTC()}
		if list.Items[i].Event, err = chatObject(e); err != nil {
			return schemas.AdminEventList{}, err
		}
	}
	return list, nil
}

// chatObject returns the frame of an event in the dialect chat; nil if it has none.
func chatObject(e *runlog.Event) (o schemas.Object, err error) {
	_, data, found := bytes.Cut(dialects.Named("chat").Open(new(dialects.Reader)).Append(nil, e), []byte("\ndata: "))
	if !found {
		return nil, nil
	}
	return o, json.Unmarshal(data, &o)
}

func (s *server) adminStats(ctx context.Context, in struct {
	From time.Time `query:"from"`
	To   time.Time `query:"to"`
	Top  int64     `query:"top"`
},
) (schemas.AdminStats, error) {
	if in.Top < 0 || in.Top > maxTop {
		return schemas.AdminStats{}, refusedQuery("top", "must be from 0 to 100")
	}
	return s.Admin.Stats(ctx, in.From, in.To, int(in.Top))
}

// maxTop bounds the entries of a table of totals.
const maxTop = 100

func (s *server) adminReplicas(ctx context.Context, _ none) (schemas.AdminReplicaList, error) {
	list, err := s.Admin.Processes(ctx)
	return schemas.AdminReplicaList{Items: array(list)}, err
}

func (s *server) adminMCPServers(context.Context, none) (schemas.AdminMCPServerList, error) {
	return schemas.AdminMCPServerList{Items: array(s.Admin.MCPServers())}, nil
}
