package documents_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/documents"
)

func (s *fakeStore) SettleDocument(context.Context, string, string, record.Settle, record.Match) (schemas.Document, error) {
	return schemas.Document{}, nil
}

// While a run writes a block, the user neither accepts it nor puts something else into it. Both
// are possible when the text has ended, or its run.
func TestBlockThatIsWritten(t *testing.T) {
	for name, ends := range map[string]func(d *documents.Documents, draft *documents.Draft) error{
		"the text ends": func(_ *documents.Documents, draft *documents.Draft) error { return draft.End(t.Context(), nil) },
		"the run ends":  func(d *documents.Documents, _ *documents.Draft) error { d.Release("run", 1); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := &fakeStore{block: schemas.Block{ID: "m1", ChatID: "c", Type: "md", Current: new("answer")}}
			d := documents.New(s, s, s, s, s)
			draft, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			try := func(when string, want schemas.Code) {
				for what, does := range map[string]func() error{
					"accept":              func() error { _, err := d.Settle(t.Context(), ann, "b", record.Accept, nil); return err },
					"accept the document": func() error { _, err := d.SettleAll(t.Context(), ann, "d", record.Accept, nil); return err },
					"apply": func() error {
						_, err := d.Apply(t.Context(), ann, "m1", schemas.BlockApply{DocumentID: "d", TargetBlockID: "b"}, nil)
						return err
					},
				} {
					if err := does(); code(err) != want {
						t.Errorf("%s %s: got %v, want %q", what, when, err, want)
					}
				}
			}
			try("meanwhile", schemas.CodeBeingWritten)
			if err := ends(d, draft); err != nil {
				t.Fatal(err)
			}
			try("afterwards", "")
			if n := len(s.writes); n != 2 {
				t.Errorf("the block was written %d times, want by the run and by apply", n)
			}
		})
	}
}

// Types and meta that would have another meaning, or that a database cannot store, are refused.
func TestRefusedContent(t *testing.T) {
	text, header := new("a,b\n1,2\n"), new("{\"type\":\"bar\"}\na,b\n")
	s := &fakeStore{block: schemas.Block{ID: "b", DocumentID: "d", Type: schemas.BlockChart, Current: text}}
	d := documents.New(s, s, s, s, s)
	write := func(b record.NewBlock) error {
		_, err := d.Write(t.Context(), ann, "d", record.BlockWrite{NewBlock: b})
		return err
	}
	for name, err := range map[string]error{
		"the type of a chunk": write(record.NewBlock{ID: "b", Type: schemas.ChunkStatus}),
		"meta with NUL":       write(record.NewBlock{ID: "b", Meta: json.RawMessage(`{"a":"\u0000"}`)}),
		"a chart whose header is in its text": func() error {
			_, err := d.Patch(t.Context(), ann, "b", schemas.BlockPatch{Content: header}, nil)
			return err
		}(),
	} {
		if code(err) != schemas.CodeInvalid || len(s.writes) > 0 {
			t.Errorf("%s: got %v and %d writes, want %s and none", name, err, len(s.writes), schemas.CodeInvalid)
		}
	}
}

// A claim of what no block can be is granted to everybody, and that of another user's document
// of the same name, too.
func TestClaimsThatDoNotMeet(t *testing.T) {
	d := documents.New(nil, nil, nil, nil, nil)
	for _, w := range []documents.Claim{
		{Run: "1", Owner: "ann", Document: "d", Blocks: []string{"a b"}},
		{Run: "2", Owner: "ann", Document: "d", Blocks: []string{"a b"}},
		{Run: "3", Owner: "ann", Document: "d", Blocks: []string{"c"}},
		{Run: "4", Owner: "ben", Document: "d", Plan: true},
		{Run: "5", Owner: "ben", Document: "e", Blocks: []string{"c"}},
	} {
		if holder, err := d.Claim(t.Context(), w); holder != "" || err != nil {
			t.Errorf("%+v: held by %q, %v; want it granted", w, holder, err)
		}
	}
}

// unsettled is a database with a new block, that is away as the block is to be removed: before, or
// so that only the answer is lost.
type unsettled struct {
	fakeStore

	refused, lost int
	gone          bool
}

func (s *unsettled) Block(context.Context, string, string) (schemas.Block, error) {
	if s.gone {
		return schemas.Block{}, schemas.ErrNotFound
	}
	return schemas.Block{ID: "b", New: new("text"), State: schemas.BlockPendingNew}, nil
}

func (s *unsettled) SettleBlock(context.Context, string, string, record.Settle, record.Match) (record.Settled, error) {
	if s.refused--; s.refused >= 0 {
		return record.Settled{}, record.ErrUnavailable
	}
	if s.gone {
		return record.Settled{}, schemas.ErrNotFound
	}
	s.gone = true
	if s.lost--; s.lost >= 0 {
		return record.Settled{}, record.ErrUnavailable
	}
	return record.Settled{Gone: true, Reverted: true}, nil
}

// What a call has written that is not run does not wait for the user, although the database was
// away for a while.
func TestDiscardDuringAnOutage(t *testing.T) {
	for name, s := range map[string]*unsettled{"refused": {refused: 3}, "lost": {lost: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := documents.New(s, s, s, s, s)
				draft, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b", Content: "text"}}, nil)
				if err != nil {
					t.Fatal(err)
				}
				if stored, discarded, err := draft.Discard(t.Context()); err != nil || !discarded || stored != nil || !s.gone {
					t.Errorf("got %+v, %t, %v, the block is gone: %t; want that it is", stored, discarded, err, s.gone)
				}
			})
		})
	}
}

// rejectedClaim are the claims of all processes, in which nothing waits for the user where a run
// is writing.
type rejectedClaim struct{ claimTable }

func (*rejectedClaim) Rejected(context.Context, []string) ([]record.Claim, error) {
	return []record.Claim{written}, nil
}

// What a discard has removed is not taken for a rejection of the user while the discard is tried
// again.
func TestDiscardIsNoRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &unsettled{lost: 1}
		d := documents.New(s, s, s, s, s)
		d.Share(&rejectedClaim{claimTable{holders: map[string]string{}}}, func() string { return "me" })
		draft, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b", Content: "text"}}, func() { t.Error("the draft was withdrawn") })
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan bool, 1)
		go func() {
			_, discarded, err := draft.Discard(t.Context())
			over <- discarded && err == nil
		}()
		synctest.Wait()
		if err := d.LookForWithdrawals(t.Context()); err != nil {
			t.Error(err)
		}
		if !<-over {
			t.Error("the discard takes the text for one that the user has decided about")
		}
	})
}

// acceptedStore is a store that is away as a block is to be reverted, which the user accepts then.
type acceptedStore struct{ fakeStore }

func (s *acceptedStore) SettleBlock(context.Context, string, string, record.Settle, record.Match) (record.Settled, error) {
	s.block = schemas.Block{ID: "b", Current: s.block.New, State: schemas.BlockClean}
	return record.Settled{}, record.ErrUnavailable
}

// While the discard of a whole text waits for the database, the user may accept the text: it is not
// discarded then.
func TestAcceptedWhileItIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(acceptedStore)
		d := documents.New(s, s, s, s, s)
		draft, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b", Content: "text"}}, nil)
		if err == nil {
			err = draft.End(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.block = schemas.Block{ID: "b", New: new("text"), State: schemas.BlockPendingNew}
		if b, discarded, err := draft.Discard(t.Context()); discarded || err != nil || b == nil || b.Current == nil {
			t.Errorf("got %+v, %t, %v, want the accepted text, which is not discarded", b, discarded, err)
		}
	})
}

// decidedStore is a store in which everything was decided before.
type decidedStore struct{ fakeStore }

func (*decidedStore) SettleBlock(context.Context, string, string, record.Settle, record.Match) (record.Settled, error) {
	return record.Settled{}, record.ErrDecided
}

func (*decidedStore) SettleDocument(context.Context, string, string, record.Settle, record.Match) (schemas.Document, error) {
	return schemas.Document{}, record.ErrDecided
}

// A revert that is sent again is answered with what is there now, and withdraws nothing that a
// run has begun to write since.
func TestRevertedBefore(t *testing.T) {
	s := &decidedStore{fakeStore{block: schemas.Block{ID: "b", Revision: 3}, document: schemas.Document{ID: "d", Revision: 4}}}
	d := documents.New(s, s, s, s, s)
	if _, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b"}}, func() { t.Error("the draft was withdrawn") }); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Settle(t.Context(), ann, "b", record.Revert, record.Match{1}); err != nil || got.Block.Revision != 3 || got.Gone || got.Reverted {
		t.Errorf("the block: got %+v, %v", got, err)
	}
	if got, err := d.SettleAll(t.Context(), ann, "d", record.Revert, record.Match{1}); err != nil || got.Revision != 4 {
		t.Errorf("the document: got %+v, %v", got, err)
	}
}
