package endtoend_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/store"
)

// draftStates make a block of the document "d" in each state, with the id "b".
var draftStates = map[string]func(s *drafting){
	"new":            func(*drafting) {},
	"clean":          func(s *drafting) { s.add() },
	"pending new":    func(s *drafting) { s.write("draft") },
	"pending edit":   func(s *drafting) { s.add(); s.write("draft") },
	"pending delete": func(s *drafting) { s.add(); s.must(s.Remove(s.Context(), s.user, "d", "b")) },
	"pending move":   func(s *drafting) { s.add(); s.must(s.Move(s.Context(), s.user, "d", "b", new(""))) },
	"planned": func(s *drafting) {
		s.must(s.Plan(s.Context(), s.user, "d", "Title", []record.NewBlock{{ID: "b", Type: "md", Meta: []byte(`{"plan":{"heading":"H"}}`)}}))
	},
}

// TestDiscardedDrafts writes into a block of each state: a discarded draft leaves the
// block as it was, one that ends is stored. Meanwhile the user cannot accept it.
func TestDiscardedDrafts(t *testing.T) {
	for _, d := range apptest.Databases() {
		for name, prepare := range draftStates {
			t.Run(d.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newDrafting(t, d.Fresh(t))
				prepare(s)
				before := s.block()
				draft := s.begin("half of ")
				s.must(nil, draft.Write(t.Context(), "it", nil))
				if _, err := s.Settle(t.Context(), s.user, "b", record.Accept, nil); !errors.Is(err, record.ErrBeingWritten) {
					t.Errorf("accepted while it is written: %v", err)
				}
				stored, discarded, err := draft.Discard(t.Context())
				if err != nil || !discarded {
					t.Fatalf("discarded: %v, %v", discarded, err)
				}
				s.compare("discarded", before, s.block())
				s.compare("returned", before, stored)
				again := s.begin("all of ")
				s.must(nil, again.Write(t.Context(), "it", nil))
				s.must(nil, again.End(t.Context(), nil))
				if b := s.block(); b == nil || b.New == nil || *b.New != "all of it" {
					t.Errorf("stored is %+v", b)
				}
			})
		}
	}
}

// TestDecidedDrafts decides about a block whose text is held: rejected or deleted text is
// not stored, and is not discarded again.
func TestDecidedDrafts(t *testing.T) {
	decisions := map[string]func(s *drafting) error{
		"revert": func(s *drafting) error {
			_, err := s.Settle(s.Context(), s.user, "b", record.Revert, nil)
			return err
		},
		"delete": func(s *drafting) error { return s.DeleteBlock(s.Context(), s.user, "b", nil) },
	}
	for _, d := range apptest.Databases() {
		for name, decide := range decisions {
			t.Run(d.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newDrafting(t, d.Fresh(t))
				draftStates["pending edit"](s)
				draft := s.begin("text")
				s.must(nil, decide(s))
				after := s.block()
				if err := draft.End(t.Context(), nil); err != nil || !draft.Withdrawn() {
					t.Errorf("the draft ended with %v, withdrawn: %v", err, draft.Withdrawn())
				}
				if _, discarded, err := draft.Discard(t.Context()); discarded || err != nil {
					t.Errorf("discarded: %v, %v", discarded, err)
				}
				s.compare("decided", after, s.block())
			})
		}
	}
}

// drafting is a document "d" of a user with the clean block "a".
type drafting struct {
	*testing.T
	*documents.Documents
	user schemas.User
}

func newDrafting(t *testing.T, url string) *drafting {
	data, err := store.Open(t.Context(), url, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() })
	s := &drafting{t, documents.New(data, data, data, data, data), schemas.User{ID: "ann"}}
	s.must(s.Create(t.Context(), s.user, schemas.DocumentCreate{ID: new("d"), Title: "D"}))
	s.must(s.Add(t.Context(), s.user, "d", schemas.BlockCreate{ID: new("a"), Type: "md", Content: "first"}, nil))
	return s
}

func (s *drafting) must(_ any, err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *drafting) add() {
	s.must(s.Add(s.Context(), s.user, "d", schemas.BlockCreate{ID: new("b"), Type: "md", Content: "current"}, nil))
}

func (s *drafting) write(text string) {
	s.must(s.Write(s.Context(), s.user, "d", record.BlockWrite{NewBlock: record.NewBlock{ID: "b", Content: text}}))
}

func (s *drafting) begin(text string) *documents.Draft {
	s.Helper()
	draft, b, err := s.DraftCall(s.Context(), documents.Claim{Run: "run", Owner: s.user.ID, Document: "d"}, record.BlockWrite{NewBlock: record.NewBlock{ID: "b", Content: text}}, nil)
	if err != nil || b.ID != "b" {
		s.Fatalf("began %+v: %v", b, err)
	}
	return draft
}

// block is the block "b" as a reader of the document sees it, nil for none.
func (s *drafting) block() *schemas.Block {
	s.Helper()
	doc, err := s.Get(s.Context(), s.user, "d")
	s.must(nil, err)
	for i := range doc.Blocks {
		if doc.Blocks[i].ID == "b" {
			return &doc.Blocks[i]
		}
	}
	return nil
}

func (s *drafting) compare(what string, want, got *schemas.Block) {
	s.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(schemas.Block{}, "Revision")); diff != "" {
		s.Errorf("%s (-before +after):\n%s", what, diff)
	}
}
