package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// manyChats is more than are looked through before the index is.
const manyChats = 120

// testChatSearch searches twice: when all chats are looked through, and when an index
// finds those that are older than many others.
func testChatSearch(f *fixture) {
	titled := f.turn("x", "y", func(g *record.Begin) { g.Title = "Sickle Cell 100%_done" }).Run.ConversationID
	chat := f.turn("what of CRISPR and Ünïcode?", `back\slash 'quote' "double"`).Run.ConversationID
	replaced := f.turn("forgotten word", "y", func(g *record.Begin) { g.Title = "z" })
	f.turn("other", "y", in(replaced.Run.ConversationID), func(g *record.Begin) { g.Supersede = replaced.Run.UserMessageID })
	wide := f.turn("x", long("many words ", 40_000)+" and the last, 東京都 and Straße").Run.ConversationID
	renamed := f.turn("x", "y", func(g *record.Begin) { g.Title = "Before" }).Run.ConversationID
	_, err := f.store.PatchChat(f.ctx, f.owner, renamed, title("Afterwards"))
	must(f, err)
	restored := f.turn("a first version", "y", func(g *record.Begin) { g.Title = "z" })
	f.turn("a second version", "y", in(restored.Run.ConversationID), func(g *record.Begin) { g.Supersede = restored.Run.UserMessageID })
	must(f, f.store.SelectVersion(f.ctx, f.owner, restored.Run.ConversationID, restored.Run.UserMessageID))
	must(f, f.store.DeleteChat(f.ctx, f.owner, f.turn("a deleted question", "y").Run.ConversationID))
	f.anotherUser().turn("another user's question", "y")
	tests := []struct {
		text string
		want []int64
	}{
		{"sickle cell", []int64{titled}},
		{"crispr", []int64{chat}},
		{"  Ünïcode ", []int64{chat}},
		{"üNÏCODE", []int64{chat}},
		{"%", []int64{titled}},
		{"0%_d", []int64{titled}},
		{"_", []int64{titled}},
		{`\`, []int64{chat}},
		{`k\slash '`, []int64{chat}},
		{"'quote'", []int64{chat}},
		{`"double"`, []int64{chat}},
		{"CRI\x00SPR", []int64{chat}},
		{"cri", []int64{chat}},
		{"nowhere", nil},
		{"forgotten", nil},
		{"' OR 1=1 --", nil},
		{`" OR "cri`, nil},
		{" and the LAST", []int64{wide}},
		{"東京", []int64{wide}},
		{"東京都", []int64{wide}},
		{"before", nil},
		{"fterward", []int64{renamed}},
		{"a first version", []int64{restored.Run.ConversationID}},
		{"a second version", nil},
		{"deleted question", nil},
		{"another user", nil},
	}
	for _, chats := range []string{"few", "many"} {
		if chats == "many" {
			f.fill(manyChats)
		}
		for _, tt := range tests {
			got, _ := f.search(record.ChatQuery{Text: tt.text})
			equal(f, fmt.Sprintf("%s chats, those with %q", chats, tt.text), got, tt.want)
		}
	}
	list, err := f.store.Chats(f.ctx, f.anotherUser().owner, record.ChatQuery{Text: "crispr"})
	must(f, err)
	equal(f, "found by another user", len(list.Items), 0)
}

// testChatSearchPages reads the pages of what a text finds that few, some or all chats have.
func testChatSearchPages(f *fixture) {
	few := f.turn("Einstein of old", "y").Run.ConversationID
	pinned := f.turn("Einstein is pinned", "y").Run.ConversationID
	yes := true
	_, err := f.store.PatchChat(f.ctx, f.owner, pinned, schemas.ChatPatch{Pinned: &yes})
	must(f, err)
	archived := f.turn("Einstein is archived", "y").Run.ConversationID
	_, err = f.store.PatchChat(f.ctx, f.owner, archived, schemas.ChatPatch{Archived: &yes})
	must(f, err)
	some := f.fill(manyChats)
	for _, limit := range []int{1, 2, 50} {
		for text, want := range map[string]int{"einstein": 2, "number 7": 11, "question": manyChats} {
			var got []int64
			q := record.ChatQuery{Text: text, Limit: limit}
			for pages := 0; ; pages++ {
				ids, next := f.search(q)
				got = append(got, ids...)
				if q.Cursor = next; next == "" || pages > want {
					break
				}
			}
			what := fmt.Sprintf("%q at limit %d", text, limit)
			equal(f, what+": chats", len(got), want)
			if text == "einstein" {
				equal(f, what, got, []int64{pinned, few})
			} else {
				equal(f, what+": the newest", got[0], newestWith(some, text))
			}
		}
	}
	ids, _ := f.search(record.ChatQuery{Text: "einstein", Archived: true})
	equal(f, "archived", ids, []int64{archived})
}

// newestWith returns the newest of the chats of fill whose question has the text.
func newestWith(chats []int64, text string) int64 {
	for i, chat := range slices.Backward(chats) {
		if strings.Contains(questionOf(i), text) {
			return chat
		}
	}
	return 0
}

func questionOf(i int) string { return fmt.Sprintf("question number %d", i) }

// fill begins n chats.
func (f *fixture) fill(n int) (chats []int64) {
	f.Helper()
	writes := make([]*record.Write, n)
	for i := range writes {
		writes[i] = f.begin(questionOf(i), func(g *record.Begin) { g.Title = "t" })
	}
	f.mustCommit(writes...)
	for _, w := range writes {
		chats = append(chats, w.Begin.Run.ConversationID)
	}
	return chats
}

// search returns the ids of the chats of a page, and its cursor.
func (f *fixture) search(q record.ChatQuery) (ids []int64, next string) {
	f.Helper()
	list, err := f.store.Chats(f.ctx, f.owner, q)
	must(f, err)
	for _, c := range list.Items {
		ids = append(ids, c.ConversationID)
	}
	return ids, list.NextCursor
}
