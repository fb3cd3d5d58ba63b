package builtin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/tools/builtin"
)

// What the service may do with a call follows from what its tool declares: text from outside
// makes later calls with effects ask the user, and a call that is not idempotent is not
// repeated after a crash.
func TestWhatToolsDeclare(t *testing.T) {
	list, err := builtin.Tools(builtin.Config{
		SearXNG: "http://127.0.0.1:1", Research: sample(), Payloads: chats{}, Documents: &desk{}, Models: []string{"a", "b"}, Sample: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string)
	for _, tool := range list {
		var words []string
		for word, declared := range map[string]bool{
			"untrusted": tool.Untrusted, "retold": tool.Retold, "read-only": tool.ReadOnly, "idempotent": tool.Idempotent, "effects": tool.Effects,
			"confirm": tool.Confirm, "serial": tool.Serial, "in-chat": tool.InChat, "global": tool.Global, "document": tool.Document,
		} {
			if declared {
				words = append(words, word)
			}
		}
		slices.Sort(words)
		got[tool.Name] = strings.Join(words, " ")
	}
	const outside, own, writes = "global idempotent read-only untrusted", "idempotent read-only", "document idempotent retold serial"
	want := map[string]string{
		"search_pubmed": outside, "get_pubmed_article": outside, "web_search": outside, "fetch_webpage": outside,
		"search_articles": "global " + own, "list_reports": own, "get_report": own, "list_streams": own + " untrusted", "get_stream": own + " untrusted",
		"read_document": "idempotent retold untrusted", "plan_document": writes, "write_block": writes, "edit_block": writes,
		"delete_block": writes, "move_block": writes,
		"research": "idempotent in-chat retold untrusted", "compare_models": "idempotent in-chat retold untrusted",
		"get_payload": "global idempotent in-chat retold", "order_print": "confirm global in-chat",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the tools declare (-want +got):\n%s", d)
	}
}
