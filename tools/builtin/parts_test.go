package builtin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
	"github.com/chattray/chattray/tools/builtin"
	"github.com/chattray/chattray/tools/toolstest"
)

// readOn is the note that says where a long text continues.
var readOn = regexp.MustCompile(`To read on, call again with start (\d+)`)

// The model reads all of a long text, however few characters of an output it gets.
func TestPartsFitInWhatTheModelGets(t *testing.T) {
	var words strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&words, "word%d ", i)
	}
	long := words.String()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write([]byte(long))
	}))
	t.Cleanup(page.Close)
	d := &desk{document: schemas.Document{Title: "Sleep"}}
	for i := range 300 {
		d.document.Blocks = append(d.document.Blocks, schemas.Block{ID: fmt.Sprint("b", i), Type: "md", Current: new(fmt.Sprintf("word%d", i))})
	}
	d.document.Blocks[0].Current = &long
	store := chats{fmt.Sprint("ada", 5, "00ff00ff"): {Type: "report_list", Data: json.RawMessage(`"` + long + `"`)}}
	for name, tc := range map[string]struct {
		list      []turn.Tool
		arguments string
		words     int
	}{
		"fetch_webpage": {builtin.FetchWebpage(builtin.FetchConfig{HTTP: page.Client()}), `"url":"` + page.URL + `"`, 4000},
		"get_payload":   {builtin.Payloads(store), `"payload_id":"00ff00ff"`, 4000},
		"read_document": {builtin.Documents(d), `"block_id":"b0"`, 4000},
		"a document":    {builtin.Documents(d), `"block_id":""`, 300},
	} {
		for _, output := range []int{600, 4000, 16_000} {
			call := tools.Call{User: schemas.User{ID: "ada"}, ConversationID: 5, Context: schemas.Object{"document_id": json.RawMessage(`"doc1"`)}, Output: output}
			var all strings.Builder
			parts := 0
			for start := "0"; start != ""; {
				got, err := toolstest.Call(t, tc.list, strings.Replace(name, "a document", "read_document", 1), `{`+tc.arguments+`,"start":`+start+`}`, call)
				if n := utf8.RuneCountInString(got.Text); err != nil || n > output {
					t.Fatalf("%s from %s: %d characters, %v, want at most %d", name, start, n, err, output)
				}
				start, parts = "", parts+1
				if m := readOn.FindStringSubmatch(got.Text); m != nil {
					start = m[1]
				}
				all.WriteString(got.Text)
			}
			seen := map[string]bool{}
			for _, word := range regexp.MustCompile(`word\d+`).FindAllString(all.String(), -1) {
				seen[word] = true
			}
			if missing := tc.words - len(seen); missing > parts { // a part may end within a word
				t.Errorf("%s with outputs of %d characters: %d of %d words are missing in %d parts", name, output, missing, tc.words, parts)
			}
		}
	}
}
