package storetest

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func testChatPages(f *fixture) {
	var want []int64
	for i := range 7 {
		want = append(want, f.turn(fmt.Sprint("q", i), "a").Run.ConversationID)
	}
	slices.Reverse(want)
	for _, limit := range []int{1, 2, 3, 7, 8, 0, 100_000} {
		var got []int64
		q := record.ChatQuery{Limit: limit}
		for pages := 0; ; pages++ {
			list, err := f.store.Chats(f.ctx, f.owner, q)
			must(f, err)
			for _, c := range list.Items {
				got = append(got, c.ConversationID)
			}
			if limit > 0 && len(list.Items) > limit || pages > len(want) {
				f.Fatalf("limit %d: a page of %d, %d pages", limit, len(list.Items), pages)
			}
			if q.Cursor = list.NextCursor; q.Cursor == "" {
				break
			}
		}
		equal(f, fmt.Sprint("chats at limit ", limit), got, want)
	}
	f.turn("again", "a", in(want[6]))
	list, err := f.store.Chats(f.ctx, f.owner, record.ChatQuery{Limit: 1})
	must(f, err)
	equal(f, "the newest", list.Items[0].ConversationID, want[6])
}

func testChatOwners(f *fixture) {
	f.turn("q", "a")
	list, err := f.store.Chats(f.ctx, f.anotherUser().owner, record.ChatQuery{})
	must(f, err)
	if list.Items == nil || len(list.Items) != 0 || list.NextCursor != "" {
		f.Errorf("got %#v, want an empty page", list)
	}
}

func testActiveRun(f *fixture) {
	first := f.begin("q")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	second := f.begin("q2", in(chat), queued)
	f.mustCommit(second)
	active := func() string {
		c, err := f.store.Chat(f.ctx, f.owner, chat)
		must(f, err)
		list, err := f.store.Chats(f.ctx, f.owner, record.ChatQuery{})
		must(f, err)
		equal(f, "in the list", list.Items[0].ActiveRunID, c.ActiveRunID)
		return c.ActiveRunID
	}
	equal(f, "running", active(), first.RunID)
	f.mustCommit(f.finish(first, "a"))
	equal(f, "queued", active(), second.RunID)
	must(f, f.store.BeginAttempt(f.ctx, second.RunID, 1, ""))
	f.mustCommit(f.finish(second, "a"))
	equal(f, "idle", active(), "")
}

func testRenameDelete(f *fixture) {
	g := f.turn("q", "a")
	chat, err := f.store.PatchChat(f.ctx, f.owner, g.Run.ConversationID, title("New\x00 name ✓\xff"))
	must(f, err)
	equal(f, "title", chat.Title, "New name ✓\ufffd")
	equal(f, "updated", chat.UpdatedAt, f.clock)
	must(f, f.store.DeleteChat(f.ctx, f.owner, g.Run.ConversationID))
	fails(f, "delete again", f.store.DeleteChat(f.ctx, f.owner, g.Run.ConversationID), schemas.ErrNotFound)
	again := f.turn("q", "a")
	if again.Run.ConversationID == g.Run.ConversationID {
		f.Error("the id of a deleted chat was given to another one")
	}
}

// testDeleteAll deletes a chat with a running run: everything is deleted, and
// later writes of the run are fenced.
func testDeleteAll(f *fixture) {
	done := f.turn("q", "a", func(g *record.Begin) {
		g.UserMessage.Files = []schemas.Attachment{{Name: "n", MIME: "text/plain", Content: "c"}}
	})
	chat := done.Run.ConversationID
	w := f.begin("q2", in(chat))
	f.mustCommit(w)
	f.mustCommit(&record.Write{
		RunID: w.RunID, Attempt: 1, Segment: &record.Segment{First: 1, Last: 1, Data: []byte("s")}, Checkpoint: &record.Checkpoint{N: 1},
		ToolCall: &record.ToolCall{Name: "t"}, Payloads: []record.Payload{{CustomPayload: payload("0000000b", "p", `1`)}},
	})
	must(f, f.store.DeleteChat(f.ctx, f.owner, chat))
	for _, id := range []string{done.Run.ID, w.RunID} {
		_, err := f.store.Run(f.ctx, id)
		fails(f, "run", err, schemas.ErrNotFound)
		_, err = f.store.Segments(f.ctx, id, 0)
		fails(f, "segments", err, schemas.ErrNotFound)
		_, err = f.store.Trace(f.ctx, id)
		fails(f, "trace", err, schemas.ErrNotFound)
	}
	_, err := f.store.Files(f.ctx, f.owner, chat, done.Run.UserMessageID)
	fails(f, "files", err, schemas.ErrNotFound)
	end := f.finish(w, "late")
	f.commit(end)
	fails(f, "finish after the delete", end.Err, record.ErrFenced)
	f.turn("q", "a", func(g *record.Begin) { g.UserMessage.ID = done.Run.UserMessageID }) // the message's id is free again
}

func testBadCursors(f *fixture) {
	var g *record.Begin
	for i := range 3 {
		g = f.turn("q", "a", in(map[bool]int64{true: 0}[i == 0]), key("k"))
	}
	f.turn("q", "a")
	list, err := f.store.Chats(f.ctx, f.owner, record.ChatQuery{Limit: 1})
	must(f, err)
	_, cursor, err := f.store.Messages(f.ctx, f.owner, g.Run.ConversationID, record.MessageQuery{Limit: 1})
	must(f, err)
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	bad := []string{
		"x", "\x00", "%00", "c.1.2", encode("c"), encode("c.1"), encode("c.1.2"), encode("c..2"), encode("c.1.!"), encode("m.!"), encode("m.1.2"),
		encode("c.zzzzzzzzzzzzzzzzzzzzzz.1"), encode("'; DROP TABLE chats"), long("A", 1000),
	}
	for _, c := range append(bad, cursor) {
		_, err := f.store.Chats(f.ctx, f.owner, record.ChatQuery{Cursor: c})
		failsWith(f, fmt.Sprintf("chats at %q", c), err, schemas.CodeBadRequest)
	}
	for _, c := range append(bad, list.NextCursor) {
		_, _, err := f.store.Messages(f.ctx, f.owner, g.Run.ConversationID, record.MessageQuery{Cursor: c})
		failsWith(f, fmt.Sprintf("messages at %q", c), err, schemas.CodeBadRequest)
	}
}

func testSummary(f *fixture) {
	g := f.turn("q", "a")
	sum, err := f.store.Summary(f.ctx, f.owner, g.Run.ConversationID)
	must(f, err)
	equal(f, "no summary", sum, record.Summary{})
	want := record.Summary{Text: "They spoke of x.", Through: g.Run.MessageID, UpdatedAt: start}
	must(f, f.store.SetSummary(f.ctx, f.owner, g.Run.ConversationID, want))
	sum, err = f.store.Summary(f.ctx, f.owner, g.Run.ConversationID)
	must(f, err)
	equal(f, "summary", sum, want)
}

// testOwnership reads a chat and everything in it as another user, and unknown
// ids as its owner.
func testOwnership(f *fixture) {
	g := f.turn("q", "a")
	id := g.Run.ConversationID
	w := f.begin("q2", in(id))
	f.mustCommit(w, &record.Write{RunID: w.RunID, Attempt: 1, Payloads: []record.Payload{{CustomPayload: payload("0000000c", "p", `1`)}}})
	other := f.anotherUser()
	g2 := other.turn("q", "a")
	type ask struct {
		owner   string
		chat    int64
		message string
		payload string
	}
	calls := map[string]func(a ask) error{
		"rename":      func(a ask) error { _, err := f.store.PatchChat(f.ctx, a.owner, a.chat, title("mine")); return err },
		"delete":      func(a ask) error { return f.store.DeleteChat(f.ctx, a.owner, a.chat) },
		"chat":        func(a ask) error { _, err := f.store.Chat(f.ctx, a.owner, a.chat); return err },
		"payloads":    func(a ask) error { _, err := f.store.Payloads(f.ctx, a.owner, a.chat, ""); return err },
		"summary":     func(a ask) error { _, err := f.store.Summary(f.ctx, a.owner, a.chat); return err },
		"set summary": func(a ask) error { return f.store.SetSummary(f.ctx, a.owner, a.chat, record.Summary{Text: "x"}) },
		"messages": func(a ask) error {
			_, _, err := f.store.Messages(f.ctx, a.owner, a.chat, record.MessageQuery{})
			return err
		},
	}
	inside := map[string]func(a ask) error{
		"message": func(a ask) error { _, err := f.store.Message(f.ctx, a.owner, a.chat, a.message); return err },
		"files":   func(a ask) error { _, err := f.store.Files(f.ctx, a.owner, a.chat, a.message); return err },
		"file":    func(a ask) error { _, err := f.store.File(f.ctx, a.owner, a.chat, a.message, 0); return err },
		"payload": func(a ask) error { _, err := f.store.Payload(f.ctx, a.owner, a.chat, a.payload); return err },
		"feedback": func(a ask) error {
			_, err := f.store.SetFeedback(f.ctx, a.owner, a.chat, a.message, schemas.Feedback{Rating: "up"})
			return err
		},
		"resolve": func(a ask) error {
			_, err := f.store.ResolvePayload(f.ctx, a.owner, a.chat, a.payload, "accepted")
			return err
		},
	}
	foreign := ask{other.owner, id, g.Run.MessageID, "0000000c"}
	unknown := ask{f.owner, 1 << 40, g.Run.MessageID, "0000000c"}
	for name, call := range calls {
		fails(f, name+" of another user", call(foreign), schemas.ErrNotFound)
		fails(f, name+" of no chat", call(unknown), schemas.ErrNotFound)
	}
	for name, call := range inside {
		fails(f, name+" of another user", call(foreign), schemas.ErrNotFound)
		fails(f, name+" of no chat", call(unknown), schemas.ErrNotFound)
		fails(f, name+" in another chat", call(ask{other.owner, g2.Run.ConversationID, g.Run.MessageID, "0000000c"}), schemas.ErrNotFound)
		fails(f, name+" that is not there", call(ask{f.owner, id, newID(), "00000000"}), schemas.ErrNotFound)
	}
	_, err := f.store.ChatByKey(f.ctx, other.owner, g.Run.ChatKey)
	fails(f, "chat by key of another user", err, schemas.ErrNotFound)
	chat, err := f.store.Chat(f.ctx, f.owner, id)
	must(f, err)
	equal(f, "title", chat.Title, "About q")
}

func title(text string) schemas.ChatPatch { return schemas.ChatPatch{Title: &text} }

func testUnlisted(f *fixture) {
	hidden := f.turn("one", "two", key("hidden"), func(g *record.Begin) { g.Unlisted = true })
	f.turn("three", "four", key("shown"))
	f.turn("five", "six", key("hidden")) // it stays so
	f.turn("seven", "eight", key("shown"), func(g *record.Begin) { g.Unlisted = true })
	for unlisted, want := range map[bool]string{true: "hidden", false: "shown"} {
		list, err := f.store.Chats(f.ctx, f.owner, record.ChatQuery{Unlisted: unlisted})
		must(f, err)
		if len(list.Items) != 1 || list.Items[0].ChatID != want || list.Items[0].Unlisted != unlisted {
			f.Errorf("the chats with unlisted %v are %+v, want %s alone", unlisted, list.Items, want)
		}
	}
	chat, err := f.store.Chat(f.ctx, f.owner, hidden.Run.ConversationID)
	must(f, err)
	equal(f, "unlisted", chat.Unlisted, true)
}

func testPinArchive(f *fixture) {
	var ids []int64
	for range 5 {
		ids = append(ids, f.turn("q", "a").Run.ConversationID)
	}
	yes, no := true, false
	patch := func(id int64, p schemas.ChatPatch) schemas.Chat {
		c, err := f.store.PatchChat(f.ctx, f.owner, id, p)
		must(f, err)
		return c
	}
	listed := func(archived bool, limit int) []int64 {
		var got []int64
		q := record.ChatQuery{Limit: limit, Archived: archived}
		for {
			list, err := f.store.Chats(f.ctx, f.owner, q)
			must(f, err)
			for _, c := range list.Items {
				got = append(got, c.ConversationID)
			}
			if q.Cursor = list.NextCursor; q.Cursor == "" {
				return got
			}
		}
	}
	c := patch(ids[0], schemas.ChatPatch{Pinned: &yes})
	equal(f, "pinned", []bool{c.Pinned, c.Archived}, []bool{true, false})
	patch(ids[2], schemas.ChatPatch{Pinned: &yes})
	c = patch(ids[3], schemas.ChatPatch{Archived: &yes, Title: new("Old")})
	equal(f, "archived", c.Title+fmt.Sprint(c.Archived), "Oldtrue")
	for _, limit := range []int{0, 1, 2} {
		equal(f, "pinned first", listed(false, limit), []int64{ids[2], ids[0], ids[4], ids[1]})
		equal(f, "archived", listed(true, limit), []int64{ids[3]})
	}
	patch(ids[3], schemas.ChatPatch{Archived: &no})
	c = patch(ids[2], schemas.ChatPatch{Pinned: &no})
	equal(f, "title stays", c.Title, "About q")
	equal(f, "as before", listed(false, 2), []int64{ids[0], ids[4], ids[3], ids[2], ids[1]})
	_, err := f.store.PatchChat(f.ctx, f.anotherUser().owner, ids[0], schemas.ChatPatch{Pinned: &yes})
	fails(f, "another user's", err, schemas.ErrNotFound)

	done, err := f.store.RetitleChat(f.ctx, f.owner, ids[3], "Old", "New")
	must(f, err)
	equal(f, "a title in the place of the first", done, true)
	done, err = f.store.RetitleChat(f.ctx, f.owner, ids[3], "Old", "Newer")
	must(f, err)
	equal(f, "not in the place of the user's", done, false)
}

func testChatUsage(f *fixture) {
	chat := f.turn("q", "a").Run.ConversationID
	f.turn("q", "a", in(chat))
	f.turn("q", "another chat")
	u, err := f.store.ChatUsage(f.ctx, f.owner, chat)
	must(f, err)
	equal(f, "usage", u, schemas.Usage{InputTokens: 6, OutputTokens: 8, TotalTokens: 14})
	u, err = f.store.ChatUsage(f.ctx, f.anotherUser().owner, chat)
	must(f, err)
	equal(f, "usage of another user", u, schemas.Usage{})
}
