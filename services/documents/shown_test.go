package documents_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/documents"
)

// changedStore is a store in which the block is another one, or none, after a deletion or a
// restoration that succeeds.
type changedStore struct {
	fakeStore

	after schemas.Block // none without an id
	err   error         // of the change
}

func (s *changedStore) change() error {
	if s.err == nil {
		s.block, s.fails = s.after, nil
		if s.after.ID == "" {
			s.fails = schemas.ErrNotFound
		}
	}
	return s.err
}

func (s *changedStore) RestoreDocument(context.Context, string, string, int64, record.Match) (schemas.Document, error) {
	return schemas.Document{}, s.change()
}

func (s *changedStore) DeleteDocument(context.Context, string, string, record.Match) error {
	return s.change()
}

func (s *changedStore) DeleteBlock(context.Context, string, string, record.Match) error {
	return s.change()
}

// Readers of a run that has written a block are told when the user deletes it, or restores the
// document without it; and nothing when it stays, the change fails, or the run has ended.
func TestWhatWasShownIsWithdrawn(t *testing.T) {
	shown := schemas.Block{ID: "b", DocumentID: "d", Type: "md", New: new("text")}
	kept := schemas.Block{ID: "b", DocumentID: "d", Type: "md", Current: new("text")}
	other := schemas.Block{ID: "b", DocumentID: "d", Type: "md", Current: new("other")}
	ben := schemas.User{ID: "ben"}
	restore := func(ctx context.Context, d *documents.Documents, user schemas.User) error {
		_, err := d.Restore(ctx, user, "d", 1, nil)
		return err
	}
	remove := func(ctx context.Context, d *documents.Documents, user schemas.User) error {
		return d.Delete(ctx, user, "d", nil)
	}
	removeBlock := func(ctx context.Context, d *documents.Documents, user schemas.User) error {
		return d.DeleteBlock(ctx, user, "b", nil)
	}
	for _, tt := range []struct {
		name   string
		change func(ctx context.Context, d *documents.Documents, user schemas.User) error
		user   schemas.User
		after  schemas.Block
		err    error
		ended  bool
		want   int
	}{
		{name: "a version with another text is restored", change: restore, user: ann, after: other, want: 1},
		{name: "a version without the block is restored", change: restore, user: ann, want: 1},
		{name: "a version with the text is restored", change: restore, user: ann, after: kept},
		{name: "the restoration fails", change: restore, user: ann, after: other, err: errors.New("busy")},
		{name: "the run has ended", change: restore, user: ann, after: other, ended: true},
		{name: "the document is deleted", change: remove, user: ann, want: 1},
		{name: "another user's document of that name is deleted", change: remove, user: ben},
		{name: "the block is deleted", change: removeBlock, user: ann, want: 1},
		{name: "the deletion of the block fails", change: removeBlock, user: ann, err: errors.New("busy")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &changedStore{fakeStore: fakeStore{block: shown}, after: tt.after, err: tt.err}
			d := documents.New(s, s, s, s, s)
			var told []string
			w := d.Watch(ann, "run", func(b *runlog.BlockReset) { told = append(told, b.Place.BlockIDs) })
			w.Note(&runlog.BlockContent{Place: runlog.Place{BlockIDs: "b", DocumentID: "d"}, Text: "text"})
			if tt.ended {
				d.Release("run", 1)
			}
			if err := tt.change(t.Context(), d, tt.user); !errors.Is(err, tt.err) {
				t.Fatal(err)
			}
			if len(told) != tt.want {
				t.Errorf("readers are told of %q, want of %d blocks", told, tt.want)
			}
		})
	}
}

// lostStore is a store whose answer to the first removal of planned blocks is lost.
type lostStore struct {
	fakeStore

	lost bool
}

func (s *lostStore) DropPlanned(context.Context, string, string, string) ([]schemas.Block, error) {
	if s.fails = schemas.ErrNotFound; !s.lost {
		s.lost = true
		return nil, record.ErrUnavailable
	}
	return nil, nil
}

// Readers are told of planned blocks that a run removes, also if the store's answer is lost.
func TestRemovedPlanIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(lostStore)
		d := documents.New(s, s, s, s, s)
		var told []string
		w := d.Watch(ann, "run", func(b *runlog.BlockReset) { told = append(told, b.Place.BlockIDs) })
		w.Note(&runlog.ToolProgress{Document: &runlog.DocumentChange{DocumentID: "d", NewDoc: true, BlockIDs: "one,two"}})
		if err := d.DropPlanned(t.Context(), ann, "d", w); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(told, []string{"one", "two"}) {
			t.Errorf("readers are told of %q, want of both blocks", told)
		}
	})
}

// awayStore is a store whose database is away.
type awayStore struct{ fakeStore }

func (*awayStore) SettleBlock(context.Context, string, string, record.Settle, record.Match) (record.Settled, error) {
	return record.Settled{}, record.ErrUnavailable
}

func (*awayStore) DropPlanned(context.Context, string, string, string) ([]schemas.Block, error) {
	return nil, record.ErrUnavailable
}

// While a run waits for the database to remove what it has written, the user is told at once
// that the database is away.
func TestUserDoesNotWaitForARun(t *testing.T) {
	for name, remove := range map[string]func(ctx context.Context, d *documents.Documents, p *documents.Draft) error{
		"drop": func(ctx context.Context, d *documents.Documents, _ *documents.Draft) error {
			_, err := d.Drop(ctx, ann, "b")
			return err
		},
		"drop what was planned": func(ctx context.Context, d *documents.Documents, _ *documents.Draft) error {
			return d.DropPlanned(ctx, ann, "d", d.Watch(ann, "run", func(*runlog.BlockReset) {}))
		},
		"discard": func(ctx context.Context, _ *documents.Documents, p *documents.Draft) error {
			_, _, err := p.Discard(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := new(awayStore)
				d := documents.New(s, s, s, s, s)
				draft, _, err := d.Draft(t.Context(), documents.Claim{Run: "run", Owner: ann.ID, Document: "d"}, record.BlockWrite{NewBlock: record.NewBlock{ID: "c", Type: "md"}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				s.fails = record.ErrUnavailable
				ctx, done := context.WithTimeout(t.Context(), time.Minute)
				defer done()
				over := make(chan error, 1)
				go func() { over <- remove(ctx, d, draft) }()
				synctest.Wait()
				began := time.Now()
				if _, err := d.Settle(t.Context(), ann, "b", record.Revert, nil); !errors.Is(err, record.ErrUnavailable) {
					t.Errorf("the user is told %v, want that the database is away", err)
				}
				if waited := time.Since(began); waited > time.Second {
					t.Errorf("the user waited %v", waited)
				}
				if err := <-over; err == nil {
					t.Error("nothing failed")
				}
			})
		})
	}
}
