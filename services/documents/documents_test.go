package documents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/services/documents"
)

// fakeStore is a store with one document and one block. It records its calls.
type fakeStore struct {
	documents.Records
	documents.Versions
	documents.Blocks
	documents.Proposals
	documents.Plans
	block    schemas.Block
	document schemas.Document
	fails    error
	writes   []record.BlockWrite
	pieces   []string
	plan     record.Plan
	lost     error // the error of an AppendBlock that is stored nevertheless
}

func (s *fakeStore) Block(context.Context, string, string) (schemas.Block, error) {
	return s.block, s.fails
}

func (s *fakeStore) Document(_ context.Context, owner, id string) (schemas.Document, error) {
	if owner != ann.ID || id != s.document.ID {
		return schemas.Document{}, schemas.ErrNotFound
	}
	return s.document, s.fails
}

func (s *fakeStore) WriteBlock(_ context.Context, _, _ string, w record.BlockWrite) (schemas.Block, error) {
	s.writes = append(s.writes, w)
	return schemas.Block{ID: w.ID}, s.fails
}

func (s *fakeStore) AppendBlock(_ context.Context, _, _, _, piece string) error {
	if s.fails == nil {
		s.pieces = append(s.pieces, strings.ReplaceAll(piece, "\x00", "")) // as a database does
	}
	return errors.Join(s.fails, s.lost)
}

func (s *fakeStore) TouchBlock(_ context.Context, _, _, id string) (schemas.Block, error) {
	return schemas.Block{ID: id, New: new(strings.Join(s.pieces, ""))}, s.fails
}

func (s *fakeStore) PlanDocument(_ context.Context, _, _ string, p record.Plan) (schemas.Document, error) {
	s.plan = p
	return schemas.Document{}, s.fails
}

func (s *fakeStore) AnswerChat(context.Context, string, string) (string, error) {
	return "", schemas.ErrNotFound
}

func (s *fakeStore) AddBlock(_ context.Context, _, _ string, b record.NewBlock, _ record.Match) (schemas.Block, error) {
	return schemas.Block{ID: b.ID, Type: b.Type}, s.fails
}

var ann = schemas.User{ID: "ann"}

// written is what a run of Ann's writes.
var written = documents.Claim{Run: "run", Owner: "ann", Document: "d", Blocks: []string{"b"}}

func code(err error) schemas.Code {
	if err == nil {
		return ""
	}
	return schemas.Visible(err).Code
}

func TestApplyTakesMarkersOut(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                                "plain",
		"Before\n\n[[tool:0]]\n\nafter":        "Before\n\nafter",
		"[[tool:0]]\n\n[[tool:1]]\n\nafter":    "after",
		"Before\n\n[[tool:0]]\n\n[[tool:12]]":  "Before",
		"A\n\n\n\nB\n\n[[tool:0]]\n\n    code": "A\n\n\n\nB\n\n    code",
		`What \[[tool:x]] and [\[tool:0]] are`: `What \[[tool:x]] and [[tool:0]] are`,
	} {
		s := &fakeStore{block: schemas.Block{ID: "m1", ChatID: "c", Type: "md", Current: &text}}
		if _, err := documents.New(s, s, s, s, s).Apply(t.Context(), ann, "m1", schemas.BlockApply{DocumentID: "d"}, nil); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := s.writes[0].Content; got != want {
			t.Errorf("%q is applied as %q, want %q", text, got, want)
		}
	}
}

func TestApply(t *testing.T) {
	s := &fakeStore{block: schemas.Block{ID: "m1", ChatID: "c", Type: "md", Current: new("answer")}}
	d := documents.New(s, s, s, s, s)
	for _, a := range []schemas.BlockApply{{DocumentID: "d"}, {DocumentID: "d"}, {DocumentID: "e"}, {DocumentID: "d", TargetBlockID: "x"}} {
		if _, err := d.Apply(t.Context(), ann, "m1", a, record.Match{3}); err != nil {
			t.Fatal(err)
		}
	}
	w := s.writes
	if w[0].ID != w[1].ID || w[0].ID == w[2].ID || w[0].Only || w[0].After != nil {
		t.Errorf("a message is added as %+v, again as %+v, to another document as %+v", w[0], w[1], w[2])
	}
	if w[3].ID != "x" || !w[3].Only || !w[3].KeepsType || w[0].KeepsType || !cmp.Equal(w[3].Match, record.Match{3}) || w[0].Create != nil {
		t.Errorf("a target is written as %+v", w[3])
	}
	for name, b := range map[string]schemas.Block{
		"a block of a document": {ID: "b", DocumentID: "d", Type: "md", Current: new("x")},
		"nothing but markers":   {ID: "m", ChatID: "c", Type: "md", Current: new("\n[[tool:0]]\n")},
		"a block without text":  {ID: "m", ChatID: "c", Type: "md"},
	} {
		s.block = b
		if _, err := d.Apply(t.Context(), ann, b.ID, schemas.BlockApply{DocumentID: "d"}, nil); code(err) != schemas.CodeInvalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestWrites(t *testing.T) {
	for _, tt := range []struct {
		name string
		w    record.NewBlock
		want schemas.Code
		kind string
	}{
		{"text", record.NewBlock{ID: "b"}, "", ""},
		{"any type", record.NewBlock{ID: "b", Type: "application/vnd.x+json"}, "", "application/vnd.x+json"},
		{"the spec's spelling", record.NewBlock{ID: "b", Type: "interative_chart"}, "", "interactive_chart"},
		{"odd type", record.NewBlock{ID: "b", Type: "a b"}, schemas.CodeInvalid, ""},
		{"odd id", record.NewBlock{ID: "a/b"}, schemas.CodeInvalid, ""},
		{"no id", record.NewBlock{}, schemas.CodeInvalid, ""},
		{"long id", record.NewBlock{ID: strings.Repeat("a", 65)}, schemas.CodeInvalid, ""},
		{"meta", record.NewBlock{ID: "b", Meta: json.RawMessage(`{}`)}, "", ""},
		{"a list for meta", record.NewBlock{ID: "b", Meta: json.RawMessage(`[]`)}, schemas.CodeInvalid, ""},
		{"null for meta", record.NewBlock{ID: "b", Meta: json.RawMessage(`null`)}, schemas.CodeInvalid, ""},
		{"deep meta", record.NewBlock{ID: "b", Meta: json.RawMessage(`{"a":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`)}, schemas.CodeInvalid, ""},
		{"large meta", record.NewBlock{ID: "b", Meta: json.RawMessage(`{"a":"` + strings.Repeat("a", 64<<10) + `"}`)}, schemas.CodeInvalid, ""},
	} {
		s := new(fakeStore)
		_, err := documents.New(s, s, s, s, s).Write(t.Context(), ann, "d", record.BlockWrite{NewBlock: tt.w})
		if code(err) != tt.want {
			t.Errorf("%s: got %v, want code %q", tt.name, err, tt.want)
		}
		if tt.want == "" && (s.writes[0].Type != tt.kind || s.writes[0].Create == nil || s.writes[0].Create.ID != "d") {
			t.Errorf("%s: written as %+v", tt.name, s.writes[0])
		}
	}
	d := documents.New(new(fakeStore), new(fakeStore), new(fakeStore), new(fakeStore), new(fakeStore))
	if b, err := d.Add(t.Context(), ann, "d", schemas.BlockCreate{Type: "interative_chart"}, nil); err != nil || b.Type != "interactive_chart" || len(b.ID) != 36 {
		t.Errorf("added %+v, %v", b, err)
	}
	if _, err := d.Plan(t.Context(), ann, "d", "t", make([]record.NewBlock, record.MaxPlanned+1)); code(err) != schemas.CodeInvalid {
		t.Errorf("a plan of too many blocks: %v", err)
	}
	if _, err := d.Plan(t.Context(), ann, "d", "t", []record.NewBlock{{ID: "a b"}}); code(err) != schemas.CodeInvalid {
		t.Errorf("a plan with an odd id: %v", err)
	}
}

// TestDraftOfALargeBlock writes 5 MiB in small pieces: few bytes are held, and
// few pieces are stored.
func TestDraftOfALargeBlock(t *testing.T) {
	const size, most = 5 << 20, 1 << 20
	s, now := new(fakeStore), time.Now()
	d := documents.New(s, s, s, s, s).At(func() time.Time { return now })
	draft, b, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b", Type: "csv"}}, nil)
	if err != nil || b.ID != "b" {
		t.Fatalf("got %+v, %v", b, err)
	}
	var want strings.Builder
	for i := 0; want.Len() < size; i++ {
		piece := fmt.Sprintf("%d,price,é\n", i)
		want.WriteString(piece)
		if err := draft.Write(t.Context(), piece, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := draft.End(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.pieces, ""); got != want.String() {
		t.Errorf("stored %d bytes, want %d", len(got), want.Len())
	}
	for _, p := range s.pieces {
		if len(p) > most {
			t.Errorf("a piece of %d bytes was held", len(p))
		}
	}
	if n := len(s.pieces); n > 64 {
		t.Errorf("stored in %d pieces", n)
	}
}

func (s *fakeStore) SettleBlock(context.Context, string, string, record.Settle, record.Match) (record.Settled, error) {
	return record.Settled{}, nil
}

// Who reads that a block is complete may accept it at once.
func TestAcceptedWhenItsEndIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(fakeStore)
		d := documents.New(s, s, s, s, s)
		draft, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan error, 1)
		err = draft.End(t.Context(), func() {
			go func() {
				_, err := d.Settle(t.Context(), ann, "b", record.Accept, nil)
				accepted <- err
			}()
			synctest.Wait()
		})
		if err := errors.Join(err, <-accepted); err != nil {
			t.Error(err)
		}
	})
}

func TestDraftIsStoredInTime(t *testing.T) {
	s, now, withdrawn := new(fakeStore), time.Now(), 0
	d := documents.New(s, s, s, s, s).At(func() time.Time { return now })
	draft, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b"}}, func() { withdrawn++ })
	if err != nil {
		t.Fatal(err)
	}
	write := func(piece string, wantErr error) {
		t.Helper()
		if err := draft.Write(t.Context(), piece, nil); !errors.Is(err, wantErr) {
			t.Errorf("%s: got %v, want %v", piece, err, wantErr)
		}
	}
	write("a", nil)
	now = now.Add(2 * time.Second)
	write("b", nil)
	s.fails = record.ErrUnavailable
	now = now.Add(2 * time.Second)
	write("c", record.ErrUnavailable)
	s.fails = nil
	write("d", nil)
	if diff := cmp.Diff([]string{"ab", "cd"}, s.pieces); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
	s.fails = schemas.ErrNotFound // another process has deleted it
	now = now.Add(2 * time.Second)
	write("e", documents.ErrWithdrawn)
	s.fails = nil
	write("f", documents.ErrWithdrawn)
	if err := draft.End(t.Context(), nil); err != nil || !draft.Withdrawn() || withdrawn != 1 || len(s.pieces) != 2 {
		t.Errorf("after the end: %v, withdrawn %d times, %q", err, withdrawn, s.pieces)
	}
}

// A piece whose answer was lost may be stored; it is not stored twice.
func TestDraftAfterALostAnswer(t *testing.T) {
	for name, next := range map[string]string{"more text": "d", "the same text": "c", "no text": "", "characters that are not stored": "\x00"} {
		t.Run(name, func(t *testing.T) {
			s, now := new(fakeStore), time.Now()
			d := documents.New(s, s, s, s, s).At(func() time.Time { return now })
			draft, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			write := func(piece string, lost error) {
				t.Helper()
				now, s.lost = now.Add(2*time.Second), lost
				if err := draft.Write(t.Context(), piece, nil); !errors.Is(err, lost) {
					t.Errorf("%s: got %v, want %v", piece, err, lost)
				}
			}
			write("ab\x00c", nil)
			write("c\x00", record.ErrUnavailable)
			s.fails = record.ErrUnavailable
			write("", record.ErrUnavailable)
			s.fails = nil
			write(next, nil)
			if err := draft.End(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			if got, want := strings.Join(s.pieces, ""), "abcc"+strings.Trim(next, "\x00"); got != want {
				t.Errorf("the block has %q, want %q", got, want)
			}
		})
	}
}

// The database is away as a draft ends. Until the rest is stored, or the draft is left, the user
// does not accept a part of it.
func TestDraftWhoseEndIsNotStored(t *testing.T) {
	for name, ends := range map[string]func(*documents.Draft) error{
		"it is stored later": func(draft *documents.Draft) error { return draft.End(t.Context(), nil) },
		"it is left":         func(draft *documents.Draft) error { draft.Leave(t.Context()); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := new(fakeStore)
			d := documents.New(s, s, s, s, s)
			draft, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := draft.Write(t.Context(), "text", nil); err != nil {
				t.Fatal(err)
			}
			accept := func(want schemas.Code) {
				t.Helper()
				if _, err := d.Settle(t.Context(), ann, "b", record.Accept, nil); code(err) != want {
					t.Errorf("accept: got %v, want %q", err, want)
				}
			}
			s.fails = record.ErrUnavailable
			if err := draft.End(t.Context(), nil); !errors.Is(err, record.ErrUnavailable) {
				t.Errorf("got %v, want that the database is not available", err)
			}
			accept(schemas.CodeBeingWritten)
			s.fails = nil
			if err := ends(draft); err != nil {
				t.Error(err)
			}
			accept("")
		})
	}
}

// settling is a database that waits before it settles a block.
type settling struct {
	fakeStore
	wait chan struct{}
}

func (s *settling) SettleBlock(context.Context, string, string, record.Settle, record.Match) (record.Settled, error) {
	<-s.wait
	return record.Settled{}, nil
}

// A draft ends while the database keeps another request of its owner waiting. Its text can
// still be stored later.
func TestDraftEndsBehindAnotherRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &settling{wait: make(chan struct{})}
		d := documents.New(s, s, s, s, s)
		draft, _, err := d.Draft(t.Context(), written, record.BlockWrite{NewBlock: record.NewBlock{ID: "b"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := draft.Write(t.Context(), "text", nil); err != nil {
			t.Fatal(err)
		}
		settled := make(chan error)
		go func() {
			_, err := d.Settle(t.Context(), ann, "other", record.Accept, nil)
			settled <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := draft.End(ctx, nil); !errors.Is(err, record.ErrUnavailable) {
			t.Errorf("the draft ends with %v, want record.ErrUnavailable", err)
		}
		close(s.wait)
		if err := errors.Join(<-settled, draft.End(t.Context(), nil)); err != nil || !slices.Equal(s.pieces, []string{"text"}) {
			t.Errorf("after it: got %v, the block has %q, want the text", err, s.pieces)
		}
	})
}

func TestExport(t *testing.T) {
	blocks := []struct{ kind, content, meta, want string }{
		{"md", "# Gold\n\nText.\n", "", "# Gold\n\nText."},
		{"md", "\n", "", ""},
		{"md", "```go\nx := 1\n", "", "```go\nx := 1\n```"},
		{"csv", "year,price\n2024,\"2,386\"\n2025,a|b,extra\n2026\n", "", "| year | price |\n| --- | --- |\n| 2024 | 2,386 |\n| 2025 | a\\|b | extra |\n| 2026 |  |"},
		{"csv", "a,b\n\\|,\\\\|x\\\n", "", "| a | b |\n| --- | --- |\n| \\\\\\| | \\\\\\\\\\|x\\ |"},
		{"csv", "a,\"two\nlines\"\n", "", "| a | two<br>lines |\n| --- | --- |"},
		{"interactive_chart", "x,y\n1,2\n", `{"title":"A *chart*","mark":"bar"}`, "**A \\*chart\\***\n\n| x | y |\n| --- | --- |\n| 1 | 2 |"},
		{"interactive_chart", "x\n1\n", `{"title":{"text":"Deep"}}`, "**Deep**\n\n| x |\n| --- |\n| 1 |"},
		{"image/png", "iVBO\nRw0KGgo=", `{"mime":"image/png","alt":"A [map]"}`, `![A \[map\]](data:image/png;base64,iVBORw0KGgo=)`},
		{"image/jpg", "/9j/", `{"mime":"text/html"}`, "![image](data:image/jpg;base64,/9j/)"},
		{"image/png", "https://x.example/a b>.png", "", "![image](<https://x.example/ab%3E.png>)"},
		{"image/png", "javascript:alert(1)", "", "*(image: an image that cannot be shown)*"},
		{"image/png", "http:\\x", "", "*(image: an image that cannot be shown)*"},
		{"text/x-go", "a ```` b", "", "`````text/x-go\na ```` b\n`````"},
	}
	s := &fakeStore{document: schemas.Document{ID: "d", Title: "Gold"}}
	var want []string
	for _, b := range blocks {
		block := schemas.Block{Type: b.kind, Current: &b.content}
		if b.meta != "" {
			block.Meta = json.RawMessage(b.meta)
		}
		s.document.Blocks = append(s.document.Blocks, block, schemas.Block{Type: "md", New: new("not accepted")})
		if b.want != "" {
			want = append(want, b.want)
		}
	}
	title, got, err := documents.New(s, s, s, s, s).Export(t.Context(), ann, "d")
	if err != nil || title != "Gold" {
		t.Fatalf("got %q, %v", title, err)
	}
	if diff := cmp.Diff(strings.Join(want, "\n\n")+"\n", got); diff != "" {
		t.Errorf("Markdown (-want +got):\n%s", diff)
	}
	s.document.Blocks = nil
	if _, got, err := documents.New(s, s, s, s, s).Export(t.Context(), ann, "d"); got != "" || err != nil {
		t.Errorf("an empty document is %q, %v", got, err)
	}
	if _, _, err := documents.New(s, s, s, s, s).Export(t.Context(), schemas.User{ID: "bob"}, "d"); !errors.Is(err, schemas.ErrNotFound) {
		t.Errorf("another user's: %v", err)
	}
}
