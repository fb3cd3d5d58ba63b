package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chattray/chattray/schemas"
)

// TestRevisions sends each change with a matching If-Match, and with others.
func TestRevisions(t *testing.T) {
	for _, tt := range []struct{ method, path, body string }{
		{"PATCH", "/api/documents/doc1", `{"title":"x"}`},
		{"DELETE", "/api/documents/doc1", ""},
		{"POST", "/api/documents/doc1/versions/6/restore", ""},
		{"POST", "/api/documents/doc1/accept", ""},
		{"POST", "/api/documents/doc1/revert", ""},
		{"POST", "/api/documents/doc1/reject", ""},
		{"POST", "/api/documents/doc1/blocks", `{"type":"md"}`},
		{"PATCH", "/api/blocks/b1", `{"content":"x"}`},
		{"DELETE", "/api/blocks/b1", ""},
		{"POST", "/api/blocks/b1/accept", ""},
		{"POST", "/api/blocks/b1/revert", ""},
		{"POST", "/api/blocks/b1/reject", ""},
		{"POST", "/api/blocks/b1/apply", `{"document_id":"doc1"}`},
	} {
		w, ts := newTestEnv(t, nil)
		for match, ok := range map[string]bool{
			"-": true, "*": true, `"7"`: true, `"1", "7"`: true, `"1"`: false, `W/"7"`: false, `7`: false, `"x"`: false, `""`: false, `"1",`: false, `"07"`: false, `"+7"`: false,
		} {
			got, req := send(t, ts.URL, tt.method, tt.path, tt.body, "If-Match", match)
			w.CheckResponse(t, req, got.status, got.header, got.body)
			if ok && got.status >= 300 {
				t.Errorf("%s %s, If-Match %s: got %d %s", tt.method, tt.path, match, got.status, got.body)
			}
			if tag := got.header.Get("ETag"); ok && got.status == 200 && (len(tag) < 3 || tag[0] != '"') {
				t.Errorf("%s %s: the entity tag is %q, want a quoted revision", tt.method, tt.path, tag)
			}
			if p := got; !ok && (p.status != http.StatusPreconditionFailed || p.problem(t).Code != schemas.CodePrecondition) {
				t.Errorf("%s %s, If-Match %s: got %d %s, want 412", tt.method, tt.path, match, got.status, got.body)
			}
		}
		for tags, tooMany := range map[int]bool{100: false, 101: true, 200: true} {
			got, _ := send(t, ts.URL, tt.method, tt.path, tt.body, "If-Match", strings.Repeat(`"1",`, tags-1)+`"7"`)
			if tooMany != (got.status == http.StatusBadRequest) || got.status >= 300 != tooMany {
				t.Errorf("%s %s with %d tags: got %d", tt.method, tt.path, tags, got.status)
			}
		}
	}
}

func TestBlocksThatAreGone(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	for _, path := range []string{"/api/blocks/gone/accept", "/api/blocks/gone/revert", "/api/blocks/gone/reject"} {
		got, req := send(t, ts.URL, "POST", path, "")
		w.CheckResponse(t, req, got.status, got.header, got.body)
		if got.status != http.StatusNoContent {
			t.Errorf("%s: got %d", path, got.status)
		}
	}
	want := []string{"Settle alice gone true []", "Settle alice gone false []", "Settle alice gone false []"}
	if !slices.Equal(w.calls, want) {
		t.Errorf("services were asked %q, want %q", w.calls, want)
	}
}

func TestBadDocumentBodies(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	const doc, blocks, block, apply = "/api/documents", "/api/documents/doc1/blocks", "/api/blocks/b1", "/api/blocks/b1/apply"
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		pointer                  string
	}{
		{"no title", "POST", doc, `{}`, 422, "/title"},
		{"blank title", "POST", doc, `{"title":"\u200b "}`, 422, "/title"},
		{"odd id", "POST", doc, `{"id":"a b","title":"x"}`, 422, "/id"},
		{"empty id of a document", "POST", doc, `{"id":"","title":"x"}`, 422, "/id"},
		{"id in use", "POST", doc, `{"id":"taken","title":"x"}`, 409, ""},
		{"blank new title", "PATCH", doc + "/doc1", `{"title":"\u200b "}`, 422, "/title"},
		{"no type", "POST", blocks, `{"content":"x"}`, 422, "/type"},
		{"empty id of a block", "POST", blocks, `{"id":"","type":"md"}`, 422, "/id"},
		{"odd type", "POST", blocks, `{"type":"a b"}`, 422, "/type"},
		{"a list for meta", "POST", blocks, `{"type":"md","meta":[]}`, 422, "/meta"},
		{"large meta", "POST", blocks, `{"type":"md","meta":{"a":"` + strings.Repeat("a", 64<<10) + `"}}`, 422, "/meta"},
		{"odd block before", "POST", blocks, `{"type":"md","after_block_id":"a b"}`, 422, "/after_block_id"},
		{"NUL", "POST", blocks, `{"type":"md","content":"\u0000"}`, 422, "/content"},
		{"null for content", "PATCH", block, `{"content":null}`, 422, ""},
		{"nothing", "PATCH", block, `{}`, 422, ""},
		{"type of a block", "PATCH", block, `{"type":"csv"}`, 400, "/type"},
		{"no document", "POST", apply, `{}`, 422, "/document_id"},
		{"target and place", "POST", apply, `{"document_id":"doc1","target_block_id":"b2","after_block_id":""}`, 422, "/after_block_id"},
		{"large title", "POST", doc, `{"title":"` + strings.Repeat("a", 2<<20) + `"}`, 413, ""},
		{"9 MiB of content", "POST", blocks, `{"type":"csv","content":"` + strings.Repeat("a", 9<<20) + `"}`, 413, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, req := send(t, ts.URL, tt.method, tt.path, tt.body)
			w.CheckResponse(t, req, got.status, got.header, got.body)
			p := got.problem(t)
			fields := tt.status == 400 || tt.status == 422
			if p.Status != tt.status || fields && (len(p.Errors) == 0 || p.Errors[0].Pointer != tt.pointer) {
				t.Errorf("got %s, want %d at %q", got.body, tt.status, tt.pointer)
			}
		})
	}
}

// TestLargeBlocks sends blocks that are larger than other bodies may be.
func TestLargeBlocks(t *testing.T) {
	w, ts := newTestEnv(t, nil)
	content := strings.Repeat("a", 5<<20)
	for _, tt := range []struct{ method, path, body, call string }{
		{"POST", "/api/documents/doc1/blocks", `{"type":"image/png","content":"` + content + `"}`, "Add alice doc1 image/png 5242880  false []"},
		{"PATCH", "/api/blocks/b1", `{"content":"` + content + `"}`, "Patch alice b1 true  false []"},
	} {
		got, _ := send(t, ts.URL, tt.method, tt.path, tt.body)
		if got.status != 200 || w.calls[len(w.calls)-1] != tt.call {
			t.Errorf("got %d %.200s, services were asked %q", got.status, got.body, w.calls)
		}
	}
}

func TestExportNamesItsFile(t *testing.T) {
	_, ts := newTestEnv(t, nil)
	got, _ := send(t, ts.URL, "GET", "/api/documents/doc1/export", "")
	const want = "attachment; filename*=utf-8''Gold%20%20%202026%20%20%C3%A9.md"
	if got.header.Get("Content-Disposition") != want || string(got.body) != "# Gold\n" {
		t.Errorf("got %q and %q", got.header.Get("Content-Disposition"), got.body)
	}
}
