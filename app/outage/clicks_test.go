package outage

import (
	"context"
	"testing"

	"github.com/chattray/chattray/app"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/services/clicks"
	"github.com/chattray/chattray/services/runs"
)

// thenAway is a database that is away once it has accepted a payload.
type thenAway struct {
	clicks.Store
	begin func()
}

func (a thenAway) AcceptPayload(ctx context.Context, owner string, id int64, payloadID, outcome, run string) error {
	err := a.Store.AcceptPayload(ctx, owner, id, payloadID, outcome, run)
	if err == nil {
		a.begin()
	}
	return err
}

// The database is away for long when the action of a card is accepted and has not begun: it is
// done once, in a later attempt.
func TestOutageBeforeTheActionOfACard(t *testing.T) {
	for _, d := range apptest.Databases() {
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			url, o := breakable(t, d)
			system, away := apptest.NewSystem(t, url), o.begin
			system.ServeHere(app.Options{Runs: func(r *runs.Options) {
				r.Hold = shortHold
				o.options(r)
				r.Store.Clicks = thenAway{r.Store.Clicks, func() {
					away()
					away = func() {}
				}}
			}})
			s := &scene{T: t, system: system, chat: "chat"}
			c := s.click()
			done := c.Start(t)
			untilGivenUp(t, c, done)
			o.end()
			s.await(done)
			s.ended(c, schemas.TypeComplete)
			s.called(c, 1)
		})
	}
}
