package storetest

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store"
)

func init() { //nolint:gochecknoinits // the list of the suite, continued beside what it lists
	maps.Copy(ownTests, map[string]func(t *testing.T, url string){
		"quota of documents":   testQuotaDocuments,
		"quota of attachments": testQuotaAttachments,
		"no quota":             testNoQuota,
		"quota of versions":    testQuotaVersions,
	})
}

// quota has room for a document and for 16 KiB of rows and contents.
const quota = 17 << 10

func newQuota(t *testing.T, url string, bytes int64) *fixture {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{Quota: bytes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return newFixture(t, s)
}

func kib(n int) string { return strings.Repeat("x", n<<10) }

// full checks that err is the error for a used up quota.
func (f *fixture) full(what string, err error) {
	f.Helper()
	if code := schemas.Visible(err).Code; err == nil || code != schemas.CodeQuota {
		f.Errorf("%s gives %v, want quota", what, err)
	}
}

// testQuotaDocuments reaches the limit by each call that writes a document, and
// makes room by each call that deletes.
func testQuotaDocuments(t *testing.T, url string) {
	f := newQuota(t, url, quota)
	doc := f.doc()
	add := func(id, content string) error {
		_, err := f.store.AddBlock(f.ctx, f.owner, doc, record.NewBlock{ID: id, Type: "md", Content: content}, nil)
		return err
	}
	must(f, add("a", kib(14))) // with its row 15 of 16 KiB
	f.full("a block too many", add("b", "x"))
	must(f, add("b", "")) // 16 of 16
	before := f.document(doc)
	f.full("an empty block", add("c", ""))
	longer := kib(14) + "x"
	_, err := f.store.PatchBlock(f.ctx, f.owner, "a", schemas.BlockPatch{Content: &longer}, nil)
	f.full("a longer content", err)
	_, err = f.store.PatchBlock(f.ctx, f.owner, "a", schemas.BlockPatch{Meta: []byte(`{"a":1}`)}, nil)
	f.full("a meta", err)
	_, err = f.store.WriteBlock(f.ctx, f.owner, doc, record.BlockWrite{NewBlock: record.NewBlock{ID: "a", Content: "x"}})
	f.full("a proposal", err)
	_, err = f.store.WriteBlock(f.ctx, f.owner, doc, record.BlockWrite{NewBlock: record.NewBlock{ID: "d", Content: ""}})
	f.full("a proposed block", err)
	_, err = f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: newID(), CreatedAt: f.now()})
	f.full("another document", err)
	other := newID()
	_, err = f.store.WriteBlock(f.ctx, f.owner, other, record.BlockWrite{
		NewBlock: record.NewBlock{ID: "e"}, Create: &record.NewDocument{ID: other, CreatedAt: f.now()},
	})
	f.full("a block of a document that it makes", err)
	if diff := cmp.Diff(before, f.document(doc)); diff != "" {
		t.Errorf("a refused call has changed something:\n%s", diff)
	}

	same := kib(13)
	_, err = f.store.PatchBlock(f.ctx, f.owner, "a", schemas.BlockPatch{Content: &same}, nil) // 15 of 16
	must(f, err)
	_, err = f.store.WriteBlock(f.ctx, f.owner, doc, record.BlockWrite{NewBlock: record.NewBlock{ID: "b", Content: "x"}})
	must(f, err)
	must(f, f.store.AppendBlock(f.ctx, f.owner, doc, "b", strings.Repeat("y", 1023)))
	f.full("a piece", f.store.AppendBlock(f.ctx, f.owner, doc, "b", "y"))
	must(f, f.store.DeleteBlock(f.ctx, f.owner, "a", nil))
	must(f, f.store.AppendBlock(f.ctx, f.owner, doc, "b", kib(14)))
	f.full("a piece", f.store.AppendBlock(f.ctx, f.owner, doc, "b", "y"))
	must(f, f.store.DeleteDocument(f.ctx, f.owner, doc, nil))
	doc = f.doc()
	must(f, add("a", kib(15)))

	bob := newFixture(t, f.store)
	bob.doc("of bob, who has room of his own")
}

// testQuotaAttachments checks that attachments count for the same quota as
// documents, until their chat is deleted.
func testQuotaAttachments(t *testing.T, url string) {
	f := newQuota(t, url, quota)
	with := func(sizes ...int) *record.Write {
		return f.begin("see", func(g *record.Begin) {
			for _, n := range sizes {
				g.UserMessage.Files = append(g.UserMessage.Files, schemas.Attachment{Name: "a.bin", MIME: "text/plain", Content: random(n)})
			}
		})
	}
	fits, tooMuch, plain := with(8<<10, 5<<10), with(2<<10), with() // 15 of 17 KiB
	f.commit(fits, tooMuch, plain)
	must(f, fits.Err)
	f.full("a message whose files do not fit beside the files of the same commit", tooMuch.Err)
	must(f, plain.Err)
	_, err := f.store.CreateDocument(f.ctx, f.owner, record.NewDocument{ID: newID(), CreatedAt: f.now()})
	must(f, err)
	more := with(1 << 10)
	f.commit(more)
	f.full("a message whose files do not fit beside documents", more.Err)
	must(f, f.store.DeleteChat(f.ctx, f.owner, fits.Begin.Run.ConversationID))
	more = with(12 << 10)
	f.mustCommit(more)
}

// random is text of n bytes that cannot be packed.
func random(n int) string {
	from := rand.NewChaCha8([32]byte{1})
	raw := make([]byte, n)
	_, _ = from.Read(raw)
	return string(raw)
}

func testNoQuota(t *testing.T, url string) {
	f := newQuota(t, url, 0)
	doc := f.doc("a")
	_, err := f.store.AddBlock(f.ctx, f.owner, doc, record.NewBlock{ID: "b", Type: "md", Content: kib(100)}, nil)
	must(f, err)
}
