package store

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
)

// exchanges counts how often a session waits for the answer of a database that is asked over a
// network: in each Query and Insert that has something to ask.
type exchanges struct {
	sqldb.Session

	asked bool
	n     int
}

func (e *exchanges) Ask(ctx context.Context, statement string, rows [][]any, scan func(sqldb.Scanner) error) error {
	e.asked = e.asked || len(rows) > 0
	return e.Session.Ask(ctx, statement, rows, scan)
}

func (e *exchanges) Query(ctx context.Context, statement string, rows [][]any, scan func(sqldb.Scanner) error) error {
	e.wait(rows)
	return e.Session.Query(ctx, statement, rows, scan)
}

func (e *exchanges) Insert(ctx context.Context, statement, key string, rows [][]any, inserted func(int, int64)) error {
	e.wait(rows)
	return e.Session.Insert(ctx, statement, key, rows, inserted)
}

func (e *exchanges) wait(rows [][]any) {
	if e.asked || len(rows) > 0 {
		e.asked = false
		e.n++
	}
}

// A question waits for few exchanges with the database before it is accepted: what does not
// depend on an answer is asked together.
func TestExchangesOfABegin(t *testing.T) {
	limits := StartLimits{OpenRuns: 9, RunsPerMinute: 9}
	for name, c := range map[string]struct {
		many               bool
		limits             StartLimits
		begin              record.Begin
		newChat, knownChat int // with COMMIT
	}{
		"bare":            {newChat: 3, knownChat: 3},
		"named":           {begin: record.Begin{Named: true, Run: record.Run{IdempotencyKey: "key"}}, newChat: 6, knownChat: 5},
		"many":            {many: true, limits: limits, newChat: 3, knownChat: 4},
		"many, and named": {many: true, limits: limits, begin: record.Begin{Named: true, Run: record.Run{IdempotencyKey: "key"}}, newChat: 6, knownChat: 6},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "test.db"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			for i, want := range []int{c.newChat, c.knownChat} {
				id, g := fmt.Sprintf("run-%d", i), c.begin
				g.ChatKey, g.Queue = "chat", true
				g.Run.ID, g.Run.Owner, g.Run.CreatedAt, g.Run.Request = id, schemas.User{ID: "ann"}, time.Now(), []byte("{}")
				g.Run.MessageID, g.Run.UserMessageID = id+"-answer", id+"-question"
				if g.Run.IdempotencyKey != "" {
					g.Run.IdempotencyKey = id
				}
				g.UserMessage = &record.UserMessage{Message: schemas.Message{ID: g.Run.UserMessageID, Role: "user", Type: "md", Content: "hi", CreatedAt: g.Run.CreatedAt}}
				w := &record.Write{RunID: id, Attempt: 1, Begin: &g}
				counted := new(exchanges)
				err := s.db.Transact(t.Context(), func(tx sqldb.Session) error {
					counted = &exchanges{Session: tx}
					b := newBatch(t.Context(), counted, []*record.Write{w}, 0)
					b.remain, b.limits, b.many = b.writes, c.limits, c.many
					err := b.apply()
					b.report()
					return err
				})
				if err != nil || w.Err != nil {
					t.Fatal(err, w.Err)
				}
				if got := counted.n + 1; got != want { // COMMIT is the last one
					t.Errorf("question %d waits for %d exchanges, want %d", i+1, got, want)
				}
			}
		})
	}
}
