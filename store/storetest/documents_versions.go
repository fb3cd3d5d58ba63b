package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/documents"
)

// versions writes the versions of a document, the newest first: why, title and blocks.
func (f *fixture) versions(id string) ([]schemas.DocumentVersion, []string) {
	f.Helper()
	list, err := f.store.DocumentVersions(f.ctx, f.owner, id)
	must(f, err)
	lines := []string{}
	for _, v := range list.Items {
		lines = append(lines, fmt.Sprintf("%s %s %d", v.Reason, v.Title, v.Blocks))
	}
	return list.Items, lines
}

func (f *fixture) acceptAll(id string) {
	f.Helper()
	_, err := f.store.SettleDocument(f.ctx, f.owner, id, record.Accept, nil)
	must(f, err)
}

// testDocumentVersions checks that the accepted state is stored before each
// change of the whole document, and once for consecutive changes of the user.
func testDocumentVersions(f *fixture) {
	doc := f.doc("a1", "b1")
	_, none := f.versions(doc)
	equal(f, "a document that grows has the version before its second block", none, []string{"edited Title 1"})
	content := "edited"
	_, err := f.store.PatchBlock(f.ctx, f.owner, "a1", schemas.BlockPatch{Content: &content}, nil)
	must(f, err)
	_, err = f.store.RenameDocument(f.ctx, f.owner, doc, "Other", nil)
	must(f, err)
	must(f, f.store.DeleteBlock(f.ctx, f.owner, "b1", nil))
	_, lines := f.versions(doc)
	equal(f, "changes that follow one another, and a block that the version does not have", lines, []string{"edited Other 2", "edited Title 1"})

	f.acceptAll(doc)
	_, lines = f.versions(doc)
	equal(f, "a decision about nothing", lines, []string{"edited Other 2", "edited Title 1"})
	f.write(doc, "a1", "proposed")
	f.write(doc, "c1", "new")
	before := f.document(doc)
	f.acceptAll(doc)
	items, lines := f.versions(doc)
	equal(f, "what was accepted", lines, []string{"accepted Other 1", "edited Other 2", "edited Title 1"})
	equal(f, "named by the revision", items[0].Revision, before.Revision)

	old, err := f.store.DocumentVersion(f.ctx, f.owner, doc, items[0].Revision)
	must(f, err)
	equal(f, "shown", shape(old), "a edited")
	equal(f, "title", old.Title, "Other")
	equal(f, "meta", string(old.Blocks[0].Meta), `{"of":"a1"}`)
	_, err = f.store.DocumentVersion(f.ctx, f.owner, doc, items[0].Revision+1)
	fails(f, "unknown version", err, schemas.ErrNotFound)
	bob := f.anotherUser()
	_, err = bob.store.DocumentVersions(f.ctx, bob.owner, doc)
	fails(f, "versions of another user", err, schemas.ErrNotFound)
	_, err = bob.store.DocumentVersion(f.ctx, bob.owner, doc, items[0].Revision)
	fails(f, "version of another user", err, schemas.ErrNotFound)
	_, err = bob.store.RestoreDocument(f.ctx, bob.owner, doc, items[0].Revision, nil)
	fails(f, "restore of another user", err, schemas.ErrNotFound)

	must(f, f.store.DeleteDocument(f.ctx, f.owner, doc, nil))
	_, err = f.store.DocumentVersions(f.ctx, f.owner, doc)
	fails(f, "versions of what is gone", err, schemas.ErrNotFound)
	_, err = f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: doc, Title: "Again", CreatedAt: f.now()})
	must(f, err)
	_, lines = f.versions(doc)
	equal(f, "another document under the id", lines, []string{})
}

// testDocumentVersionsOfWhatGoes checks that a version has what the user wrote before it is
// replaced by accepting one block, or deleted, however soon, that one has what was accepted
// before that is edited, and that consecutive decisions share a version.
func testDocumentVersionsOfWhatGoes(f *fixture) {
	doc := f.doc("a1", "b1", "c1", "d1")
	edit := func(id, content string) {
		f.Helper()
		_, err := f.store.PatchBlock(f.ctx, f.owner, id, schemas.BlockPatch{Content: &content}, nil)
		must(f, err)
	}
	accept := func(id string) {
		f.Helper()
		_, err := f.store.SettleBlock(f.ctx, f.owner, id, record.Accept, nil)
		must(f, err)
	}
	newest := func() string {
		f.Helper()
		items, _ := f.versions(doc)
		d, err := f.store.DocumentVersion(f.ctx, f.owner, doc, items[0].Revision)
		must(f, err)
		return shape(d)
	}
	count := func() int { _, lines := f.versions(doc); return len(lines) }
	edit("a1", "by hand")
	edit("a1", "by hand, again")
	equal(f, "the user's own edits share a version", count(), 1)
	for _, id := range []string{"a1", "b1", "n1"} {
		f.write(doc, id, "proposed")
	}
	accept("a1")
	equal(f, "before what was written by hand is replaced", newest(), "a by hand, again, b, c, d")
	accept("b1")
	accept("n1")
	equal(f, "versions after three decisions", count(), 2)

	edit("a1", "over it")
	edit("a1", "over it, again")
	equal(f, "before what was accepted is edited", newest(), "a proposed, b proposed, c, d, n proposed")
	edit("a1", "proposed")
	f.write(doc, "c1", "proposed")
	accept("c1") // of what is the newest version, since the edits were undone
	edit("c1", "over it")
	equal(f, "before what was accepted after an undo is edited", newest(), "a proposed, b proposed, c proposed, d, n proposed")
	edit("a1", "over it, again")
	edit("c1", "by hand")
	must(f, f.store.DeleteBlock(f.ctx, f.owner, "c1", nil))
	equal(f, "before what was written by hand is deleted", newest(), "a over it, again, b proposed, c by hand, d, n proposed")
	must(f, f.store.DeleteBlock(f.ctx, f.owner, "d1", nil))
	f.write(doc, "o1", "proposed")
	must(f, f.store.DeleteBlock(f.ctx, f.owner, "o1", nil))
	_, lines := f.versions(doc)
	equal(f, "versions after three deletions", lines, []string{"edited Title 5", "edited Title 5", "accepted Title 5", "accepted Title 4", "edited Title 1"})
}

// testDocumentRestored restores a version, and then the state before that.
func testDocumentRestored(f *fixture) {
	doc := f.doc("a2", "b2", "c2")
	f.write(doc, "a2", "second")
	_, err := f.store.ProposeDelete(f.ctx, f.owner, doc, "b2")
	must(f, err)
	first := ""
	_, err = f.store.ProposeMove(f.ctx, f.owner, doc, "c2", &first)
	must(f, err)
	_, err = f.store.RestoreDocument(f.ctx, f.owner, doc, 2, nil)
	failsWith(f, "restore while a change is pending", err, schemas.CodeConflict)
	f.acceptAll(doc)
	after := f.document(doc)
	equal(f, "accepted", shape(after), "c, a second")
	items, lines := f.versions(doc)
	equal(f, "versions", lines, []string{"accepted Title 3", "edited Title 1"})

	_, err = f.store.RestoreDocument(f.ctx, f.owner, doc, items[0].Revision, record.Match{after.Revision - 1})
	fails(f, "restore of what has changed", err, schemas.ErrStale)
	restored, err := f.store.RestoreDocument(f.ctx, f.owner, doc, items[0].Revision, record.Match{after.Revision})
	must(f, err)
	equal(f, "restored", shape(restored), "a, b, c")
	equal(f, "a new revision", restored.Revision, after.Revision+1)
	repeated, err := f.store.RestoreDocument(f.ctx, f.owner, doc, items[0].Revision, record.Match{after.Revision}) // the answer was lost
	must(f, err)
	untimed(f, "repeated", repeated, restored)
	_, err = f.store.RestoreDocument(f.ctx, f.owner, doc, items[1].Revision, record.Match{after.Revision})
	fails(f, "another version", err, schemas.ErrStale)
	_, err = f.store.RestoreDocument(f.ctx, f.owner, doc, 1_000, record.Match{after.Revision})
	fails(f, "an unknown version at an earlier revision", err, schemas.ErrStale)
	untimed(f, "read again", f.document(doc), restored)
	items, lines = f.versions(doc)
	equal(f, "and the one before", lines, []string{"restored Title 2", "accepted Title 3", "edited Title 1"})
	again, err := f.store.RestoreDocument(f.ctx, f.owner, doc, items[0].Revision, nil)
	must(f, err)
	equal(f, "back again", shape(again), shape(after))
	if diff := cmp.Diff(blockContents(after), blockContents(again)); diff != "" {
		f.Errorf("the restored document differs from the version:\n%s", diff)
	}
}

// testLargeDocumentRestored goes back from a document that is larger than other versions are, and
// to it again.
func testLargeDocumentRestored(f *fixture) {
	blocks := []string{"a4", "b4", "c4"}
	doc := f.doc(blocks...)
	items, _ := f.versions(doc)
	for _, id := range blocks {
		f.write(doc, id, strings.Repeat("x", documents.MaxBlockContent))
	}
	f.acceptAll(doc)
	_, err := f.store.RestoreDocument(f.ctx, f.owner, doc, items[0].Revision, nil)
	must(f, err)
	items, lines := f.versions(doc)
	equal(f, "the large one", lines[0], "restored Title 3")
	again, err := f.store.RestoreDocument(f.ctx, f.owner, doc, items[0].Revision, nil)
	must(f, err)
	equal(f, "back again, bytes", len(*again.Blocks[2].Current), documents.MaxBlockContent)
}

func blockContents(d schemas.Document) []string {
	var all []string
	for _, b := range d.Blocks {
		all = append(all, b.ID+b.Type+*b.Current+string(b.Meta)+string(b.State)+b.Position)
	}
	return all
}

// testDocumentVersionsKept stores a bounded number of versions, the newest ones.
func testDocumentVersionsKept(f *fixture) {
	doc := f.doc("a3")
	for i := range 55 {
		_, err := f.store.WriteBlock(f.ctx, f.owner, doc, record.BlockWrite{NewBlock: record.NewBlock{ID: "a3", Content: fmt.Sprint(i), Meta: json.RawMessage(`{}`)}})
		must(f, err)
		f.acceptAll(doc)
	}
	items, _ := f.versions(doc)
	equal(f, "versions", len(items), 50)
	newest, err := f.store.DocumentVersion(f.ctx, f.owner, doc, items[0].Revision)
	must(f, err)
	equal(f, "the newest", *newest.Blocks[0].Current, "53")
}

// testQuotaVersions checks that versions have room of their own, as large as
// the quota, and that no change is refused because of them.
func testQuotaVersions(t *testing.T, url string) {
	f := newQuota(t, url, quota)
	docs := []string{f.doc("a"), f.doc("b")}
	for i := range 3 {
		for n, doc := range docs {
			f.write(doc, []string{"a", "b"}[n], fmt.Sprint(i, kib(3)))
			f.acceptAll(doc)
		}
	}
	total := 0
	for _, doc := range docs {
		items, _ := f.versions(doc)
		total += len(items)
	}
	equal(f, "versions of all documents", total, 4) // each of 4 KiB with its row, in 17 KiB, and the small first ones are gone

	// What is about to be replaced is kept, although it takes twice the room as JSON.
	f = newQuota(t, url, quota)
	doc := f.doc("c")
	f.write(doc, "c", strings.Repeat("\n", 9<<10))
	f.acceptAll(doc)
	items, _ := f.versions(doc)
	before := f.document(doc)
	_, err := f.store.RestoreDocument(f.ctx, f.owner, doc, items[0].Revision, nil)
	must(f, err)
	items, _ = f.versions(doc)
	restored, err := f.store.RestoreDocument(f.ctx, f.owner, doc, items[0].Revision, nil)
	must(f, err)
	equal(f, "the restored document is replaced again", *restored.Blocks[0].Current, *before.Blocks[0].Current)
}

// testDocumentVersionsShared accepts proposals that are made one after the other: together
// they make one version as long as it has what each of them replaces or removes.
func testDocumentVersionsShared(f *fixture) {
	doc := f.doc("a1", "b1", "c1")
	accept := func(id string) {
		f.Helper()
		_, err := f.store.SettleBlock(f.ctx, f.owner, id, record.Accept, nil)
		must(f, err)
	}
	for _, id := range []string{"a1", "b1", "n1"} {
		f.write(doc, id, "proposed")
		accept(id)
	}
	_, err := f.store.ProposeDelete(f.ctx, f.owner, doc, "c1")
	must(f, err)
	accept("c1")
	items, lines := f.versions(doc)
	equal(f, "versions after four proposals", lines, []string{"accepted Title 3", "edited Title 1"})
	f.write(doc, "b1", "proposed again")
	accept("b1")
	again, lines := f.versions(doc)
	equal(f, "versions after a block is replaced again", len(lines), 3)
	for at, want := range map[int64]string{items[0].Revision: "a, b, c", again[0].Revision: "a proposed, b proposed, n proposed"} {
		d, err := f.store.DocumentVersion(f.ctx, f.owner, doc, at)
		must(f, err)
		equal(f, "a version", shape(d), want)
	}
}
