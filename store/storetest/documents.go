package storetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func init() { //nolint:gochecknoinits // the list of the suite, continued beside what it lists
	maps.Copy(sharedTests, map[string]func(f *fixture){
		"every operation in every state of a block": testBlockStates,
		"stale and foreign changes of blocks":       testBlockRefusals,
		"decisions at once":                         testSettleAtOnce,
		"documents in pages":                        testDocumentPages,
		"documents and their ids":                   testDocumentIDs,
		"rename and delete documents":               testDocumentRename,
		"repeat an edit":                            testRepeatedEdit,
		"repeat an addition":                        testRepeatedAdd,
		"repeat an application":                     testRepeatedApply,
		"repeat an application after a plan":        testRepeatedApplyKeeps,
		"repeat a decision":                         testRepeatedDecision,
		"a reverted plan":                           testPlanReverted,
		"plans over pending changes":                testPlanUndone,
		"an accepted plan":                          testPlanAccepted,
		"a repeated plan":                           testPlanRepeated,
		"a plan that its run has not written":       testPlanDropped,
		"a plan that its run makes again":           testPlanMadeAgain,
		"plans of runs in any order":                testPlanModel,
		"repeated writes":                           testWritesRepeated,
		"a plan filled by the user":                 testPlanFilledByUser,
		"metas of pending edits":                    testBlockMetas,
		"blocks in order":                           testBlockOrder,
		"keys assigned again":                       testKeysDealt,
		"keys assigned again under pending moves":   testKeysDealtMoving,
		"blocks of chats":                           testChatBlocks,
		"large blocks":                              testLargeBlocks,
		"pieces of a block":                         testBlockPieces,
		"a touched block":                           testBlockTouched,
		"changes of one document at once":           testDocumentAtOnce,
		"versions of a document":                    testDocumentVersions,
		"versions of what goes":                     testDocumentVersionsOfWhatGoes,
		"versions that proposals share":             testDocumentVersionsShared,
		"restored versions":                         testDocumentRestored,
		"a large document, restored":                testLargeDocumentRestored,
		"the newest versions within the limit":      testDocumentVersionsKept,
	})
}

// doc makes a document with clean blocks of these ids; the content of each is
// its id.
func (f *fixture) doc(ids ...string) string {
	f.Helper()
	d := record.NewDocument{ID: newID(), Title: "Title", CreatedAt: f.now()}
	_, err := f.store.CreateDocument(f.ctx, f.owner, d)
	must(f, err)
	for _, id := range ids {
		_, err := f.store.AddBlock(f.ctx, f.owner, d.ID, record.NewBlock{ID: id, Type: "md", Content: id, Meta: json.RawMessage(`{"of":"` + id + `"}`)}, nil)
		must(f, err)
	}
	return d.ID
}

// write proposes content for a block.
func (f *fixture) write(doc, id, content string) schemas.Block {
	f.Helper()
	b, err := f.store.WriteBlock(f.ctx, f.owner, doc, record.BlockWrite{NewBlock: record.NewBlock{ID: id, Content: content}})
	must(f, err)
	return b
}

func (f *fixture) document(id string) schemas.Document {
	f.Helper()
	d, err := f.store.Document(f.ctx, f.owner, id)
	must(f, err)
	return d
}

// shape describes a document on one line: its blocks in order with their state
// and content.
func shape(d schemas.Document) string {
	var parts []string
	for _, b := range d.Blocks {
		part := b.ID[:1]
		if b.State != schemas.BlockClean {
			part += " " + strings.TrimPrefix(string(b.State), "pending_")
		}
		if b.Current != nil && *b.Current != b.ID {
			part += " " + *b.Current
		}
		if b.New != nil {
			part += " +" + *b.New
		}
		if b.NewPosition != "" {
			part += " moving"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// scene is a document of blocks a, x and z, of which x is in a state.
type scene struct {
	*fixture
	doc, a, x, z string
}

func (f *fixture) scene(state string) *scene {
	f.Helper()
	id := newID()
	s := &scene{fixture: f, a: "a" + id, x: "x" + id, z: "z" + id}
	if state == "pending_new" {
		s.doc = f.doc(s.a, s.z)
		_, err := f.store.WriteBlock(f.ctx, f.owner, s.doc, record.BlockWrite{NewBlock: record.NewBlock{ID: s.x, Content: "n", After: &s.a}})
		must(f, err)
		return s
	}
	s.doc = f.doc(s.a, s.x, s.z)
	switch state {
	case "pending_edit":
		f.write(s.doc, s.x, "n")
	case "pending_delete":
		_, err := f.store.ProposeDelete(f.ctx, f.owner, s.doc, s.x)
		must(f, err)
	case "pending_move":
		_, err := f.store.ProposeMove(f.ctx, f.owner, s.doc, s.x, nil)
		must(f, err)
	case "edit and move":
		f.write(s.doc, s.x, "n")
		_, err := f.store.ProposeMove(f.ctx, f.owner, s.doc, s.x, nil)
		must(f, err)
	}
	return s
}

// blockOperation does something to x, as the owner, at one of the revisions.
type blockOperation func(s *scene, owner string, match record.Match) error

var front = ""

var blockOperations = map[string]blockOperation{
	"accept": func(s *scene, owner string, match record.Match) error {
		_, err := s.store.SettleBlock(s.ctx, owner, s.x, record.Accept, match)
		return err
	},
	"revert": func(s *scene, owner string, match record.Match) error {
		_, err := s.store.SettleBlock(s.ctx, owner, s.x, record.Revert, match)
		return err
	},
	"accept all": func(s *scene, owner string, match record.Match) error {
		_, err := s.store.SettleDocument(s.ctx, owner, s.doc, record.Accept, match)
		return err
	},
	"revert all": func(s *scene, owner string, match record.Match) error {
		_, err := s.store.SettleDocument(s.ctx, owner, s.doc, record.Revert, match)
		return err
	},
	"write": func(s *scene, owner string, match record.Match) error {
		_, err := s.store.WriteBlock(s.ctx, owner, s.doc, record.BlockWrite{NewBlock: record.NewBlock{ID: s.x, Content: "w"}, Only: true, Match: match})
		return err
	},
	"edit": func(s *scene, owner string, match record.Match) error {
		text := "u"
		_, err := s.store.PatchBlock(s.ctx, owner, s.x, schemas.BlockPatch{Content: &text}, match)
		return err
	},
	"move": func(s *scene, owner string, match record.Match) error {
		_, err := s.store.PatchBlock(s.ctx, owner, s.x, schemas.BlockPatch{AfterBlockID: &front}, match)
		return err
	},
	"delete": func(s *scene, owner string, match record.Match) error {
		return s.store.DeleteBlock(s.ctx, owner, s.x, match)
	},
	"propose move": func(s *scene, owner string, _ record.Match) error {
		_, err := s.store.ProposeMove(s.ctx, owner, s.doc, s.x, &front)
		return err
	},
	"propose delete": func(s *scene, owner string, _ record.Match) error {
		_, err := s.store.ProposeDelete(s.ctx, owner, s.doc, s.x)
		return err
	},
	"append": func(s *scene, owner string, _ record.Match) error {
		return s.store.AppendBlock(s.ctx, owner, s.doc, s.x, "p")
	},
}

// unmatched are the operations that do not check a revision.
var unmatched = map[string]bool{"propose move": true, "propose delete": true, "append": true}

// blockTable is the result for a block, by state and by operation. Repeating an
// operation changes nothing, except for those that end in "!" (not found) and
// pieces.
var blockTable = map[string]map[string]string{
	"clean": {
		"accept": "a, x, z", "revert": "a, x, z", "accept all": "a, x, z", "revert all": "a, x, z",
		"write": "a, x edit +w, z", "edit": "a, x u, z", "move": "x, a, z", "delete": "a, z!",
		"propose move": "a, x move moving, z", "propose delete": "a, x delete, z", "append": "a, x, z!!",
	},
	"pending_new": {
		"accept": "a, x n, z", "revert": "a, z!", "accept all": "a, x n, z", "revert all": "a, z",
		"write": "a, x new +w, z", "edit": "a, x edit u +n, z", "move": "x new +n, a, z", "delete": "a, z!",
		"propose move": "x new +n, a, z", "propose delete": "a, z!", "append": "a, x new +np, z",
	},
	"pending_edit": {
		"accept": "a, x n, z", "revert": "a, x, z", "accept all": "a, x n, z", "revert all": "a, x, z",
		"write": "a, x edit +w, z", "edit": "a, x edit u +n, z", "move": "x edit +n, a, z", "delete": "a, z!",
		"propose move": "a, x edit +n moving, z", "propose delete": "a, x delete, z", "append": "a, x edit +np, z",
	},
	"pending_delete": {
		"accept": "a, z!", "revert": "a, x, z", "accept all": "a, z", "revert all": "a, x, z",
		"write": "a, x edit +w, z", "edit": "a, x delete u, z", "move": "x delete, a, z", "delete": "a, z!",
		"propose move": "a, x move moving, z", "propose delete": "a, x delete, z", "append": "a, x delete, z!!",
	},
	"pending_move": {
		"accept": "a, z, x", "revert": "a, x, z", "accept all": "a, z, x", "revert all": "a, x, z",
		"write": "a, x edit +w moving, z", "edit": "a, x move u moving, z", "move": "x, a, z", "delete": "a, z!",
		"propose move": "a, x move moving, z", "propose delete": "a, x delete, z", "append": "a, x move moving, z!!",
	},
	"edit and move": {
		"accept": "a, z, x n", "revert": "a, x, z", "accept all": "a, z, x n", "revert all": "a, x, z",
		"write": "a, x edit +w moving, z", "edit": "a, x edit u +n moving, z", "move": "x edit +n, a, z", "delete": "a, z!",
		"propose move": "a, x edit +n moving, z", "propose delete": "a, x delete, z", "append": "a, x edit +np moving, z",
	},
}

func testBlockStates(f *fixture) {
	for state, row := range blockTable {
		equal(f, "operations in "+state, len(row), len(blockOperations))
		for name, wanted := range row {
			s, what := f.scene(state), state+", "+name
			do := blockOperations[name]
			want := strings.TrimRight(wanted, "!")
			marks := len(wanted) - len(want)
			first := do(s, s.owner, nil)
			if marks == 2 {
				fails(f, what, first, schemas.ErrNotFound)
			} else if first != nil {
				f.Errorf("%s: %v", what, first)
			}
			after := f.document(s.doc)
			equal(f, what, shape(after), want)
			second := do(s, s.owner, nil)
			if marks > 0 {
				fails(f, what+" again", second, schemas.ErrNotFound)
			} else if second != nil {
				f.Errorf("%s again: %v", what, second)
			}
			if name == "append" && marks == 0 {
				want = strings.Replace(want, "+np", "+npp", 1)
				equal(f, what+" again", shape(f.document(s.doc)), want)
				continue
			}
			equal(f, what+" again", f.document(s.doc), after) // to the revision
		}
	}
}

func testBlockRefusals(f *fixture) {
	for state := range blockTable {
		for name, do := range blockOperations {
			s, what := f.scene(state), state+", "+name
			before := f.document(s.doc)
			if !unmatched[name] {
				fails(f, what+" at a stale revision", do(s, s.owner, record.Match{1, before.Revision + 1}), schemas.ErrStale)
				fails(f, what+" at no revision", do(s, s.owner, record.Match{}), schemas.ErrStale)
			}
			fails(f, what+" by another user", do(s, f.anotherUser().owner, nil), schemas.ErrNotFound)
			equal(f, what+" refused", f.document(s.doc), before)
			if unmatched[name] {
				continue
			}
			revision := before.Revision
			if !strings.HasSuffix(name, " all") {
				b, err := f.store.Block(f.ctx, f.owner, s.x)
				must(f, err)
				revision = b.Revision
			}
			if err := do(s, s.owner, record.Match{1, revision}); err != nil {
				f.Errorf("%s at its revision: %v", what, err)
			}
		}
	}
}

// testSettleAtOnce decides about the same changes in several calls at the same
// time: each settles them or finds them settled.
func testSettleAtOnce(f *fixture) {
	for _, name := range []string{"accept", "revert", "accept all"} {
		for _, state := range []string{"pending_new", "pending_edit", "pending_delete", "pending_move"} {
			s := f.scene(state)
			before := f.document(s.doc).Revision
			want := blockTable[state][name]
			var wg sync.WaitGroup
			errs := make([]error, 4)
			for i := range errs {
				wg.Go(func() { errs[i] = blockOperations[name](s, s.owner, nil) })
			}
			wg.Wait()
			done := 0
			for _, err := range errs {
				if err == nil {
					done++
				} else {
					fails(f, name+" of "+state+" at once", err, schemas.ErrNotFound)
				}
			}
			if gone := strings.HasSuffix(want, "!"); gone && done != 1 || !gone && done != len(errs) {
				f.Errorf("%s of %s at the same time: %d found it", name, state, done)
			}
			d := f.document(s.doc)
			equal(f, name+" of "+state+" at once", shape(d), strings.TrimRight(want, "!"))
			equal(f, fmt.Sprintf("revision after %s of %s", name, state), d.Revision, before+1)
		}
	}
	// With the same revision only one caller succeeds.
	s := f.scene("pending_edit")
	b, err := f.store.Block(f.ctx, f.owner, s.x)
	must(f, err)
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		wg.Go(func() {
			_, errs[i] = f.store.SettleBlock(f.ctx, f.owner, s.x, i%2 == 0, record.Match{b.Revision})
		})
	}
	wg.Wait()
	done := slices.Index(errs, nil)
	for i, err := range errs {
		switch {
		case i == done:
		case i%2 == done%2:
			fails(f, "the same decision", err, record.ErrDecided)
		default:
			fails(f, "the other decision", err, schemas.ErrStale)
		}
	}
	if done < 0 {
		f.Error("no decision was made")
	}
}
