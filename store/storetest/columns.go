package storetest

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
)

// testColumnsAdded lets a later release add columns while this one works: what the server
// has prepared for its connections is no longer valid.
func testColumnsAdded(t *testing.T, url string) {
	f := newFixture(t, open(t, url))
	g := f.turn("q", "a")
	id := g.Run.ConversationID
	_, err := f.store.CreateDocument(t.Context(), f.owner, record.NewDocument{ID: "d", Title: "0"})
	must(t, err)
	_, err = f.store.Import(t.Context(), strings.NewReader(`{"kind":"stream","stream_id":1,"name":"n"}`))
	must(t, err)
	admin, err := sql.Open("pgx", url)
	must(t, err)
	t.Cleanup(func() { must(t, admin.Close()) })
	for name, call := range map[string]func(ctx context.Context) error{
		"chat":  func(ctx context.Context) error { _, err := f.store.Chat(ctx, f.owner, id); return err },
		"waits": func(ctx context.Context) error { _, err := f.store.Waits(ctx, g.Run.ID); return err },
		"documents": func(ctx context.Context) error {
			_, err := f.store.Documents(ctx, f.owner, record.DocumentQuery{})
			return err
		},
		"new document": func(ctx context.Context) error {
			_, err := f.store.CreateDocument(ctx, f.owner, record.NewDocument{ID: newID()})
			return err
		},
		"rename": func(ctx context.Context) error {
			_, err := f.store.RenameDocument(ctx, f.owner, "d", newID(), nil)
			return err
		},
		"stream": func(ctx context.Context) error {
			_, err := f.store.UpdateStream(ctx, 1, func(*schemas.Stream) error { return nil })
			return err
		},
	} {
		everywhere := func() {
			t.Helper()
			var wg sync.WaitGroup
			for range 2 * sqldb.DefaultPostgresConns {
				wg.Go(func() {
					if err := call(t.Context()); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			wg.Wait()
		}
		everywhere()
		for _, table := range []string{"chats", "waits", "documents", "streams"} {
			_, err := admin.ExecContext(t.Context(), "ALTER TABLE "+table+" ADD COLUMN of_"+strings.ReplaceAll(name, " ", "_")+" BIGINT")
			must(t, err)
		}
		everywhere()
	}
}
