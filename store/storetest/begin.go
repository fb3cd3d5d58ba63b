package storetest

import (
	"encoding/json"
	"fmt"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

func testBeginMakesChat(f *fixture) {
	w := f.begin("trains")
	f.mustCommit(w)
	g := w.Begin
	if g.Run.ConversationID == 0 || len(g.Run.ChatKey) != 36 || !g.NewChat || g.State != schemas.RunRunning || g.Run.Attempt != 1 {
		f.Errorf("got chat %d, key %q, new %v, state %s, attempt %d; want ids of a new chat, running, 1",
			g.Run.ConversationID, g.Run.ChatKey, g.NewChat, g.State, g.Run.Attempt)
	}
	chat, err := f.store.Chat(f.ctx, f.owner, g.Run.ConversationID)
	must(f, err)
	equal(f, "chat", chat, schemas.Chat{
		ConversationID: g.Run.ConversationID, ChatID: g.Run.ChatKey, Title: "About trains", CreatedAt: g.Run.CreatedAt, UpdatedAt: g.Run.CreatedAt,
		ActiveRunID: g.Run.ID,
	})
	run, err := f.store.Run(f.ctx, g.Run.ID)
	must(f, err)
	equal(f, "run", run, record.Run{
		ID: g.Run.ID, ConversationID: g.Run.ConversationID, ChatKey: g.Run.ChatKey, Owner: schemas.User{ID: f.owner, Name: "Ann", Roles: []string{"user"}},
		State: schemas.RunRunning, Attempt: 1, Request: json.RawMessage(`{"message":"hi"}`), UserMessageID: g.Run.UserMessageID,
		MessageID: g.Run.MessageID, CreatedAt: g.Run.CreatedAt,
	})
	m, err := f.store.Message(f.ctx, f.owner, chat.ConversationID, g.Run.UserMessageID)
	must(f, err)
	equal(f, "user message", m, schemas.Message{
		ID: g.Run.UserMessageID, ConversationID: chat.ConversationID, Role: "user", Type: "md", Content: "trains", Status: schemas.MessageComplete,
		CreatedAt: g.Run.CreatedAt, RunID: g.Run.ID,
	})
}

func testBeginFindsChat(f *fixture) {
	first := f.turn("one", "two", key("mine"))
	second := f.turn("three", "four", key("mine"))
	third := f.turn("five", "six", in(first.Run.ConversationID))
	equal(f, "chats", []int64{second.Run.ConversationID, third.Run.ConversationID}, []int64{first.Run.ConversationID, first.Run.ConversationID})
	equal(f, "keys", []string{first.Run.ChatKey, second.Run.ChatKey, third.Run.ChatKey}, []string{"mine", "mine", "mine"})
	equal(f, "new", []bool{first.NewChat, second.NewChat, third.NewChat}, []bool{true, false, false})
	equal(f, "messages", f.messages(first.Run.ConversationID, false), []string{"one", "two", "three", "four", "five", "six"})
	chat, err := f.store.ChatByKey(f.ctx, f.owner, "mine")
	must(f, err)
	equal(f, "title", chat.Title, "About one")
	equal(f, "updated", chat.UpdatedAt, f.clock)
}

func testBeginForeign(f *fixture) {
	mine := f.turn("one", "two", key("same key"))
	other := f.anotherUser()
	w := other.begin("three", in(mine.Run.ConversationID))
	unknown := other.begin("four", in(1<<40))
	own := other.begin("five", key("same key"))
	other.commit(w, unknown, own)
	fails(f, "begin in a foreign chat", w.Err, schemas.ErrNotFound)
	fails(f, "begin in an unknown chat", unknown.Err, schemas.ErrNotFound)
	fails(f, "begin in an own chat", own.Err, nil)
	if own.Begin.Run.ConversationID == mine.Run.ConversationID {
		f.Error("two owners got the same chat")
	}
	_, err := f.store.Run(f.ctx, w.RunID)
	fails(f, "the refused run", err, schemas.ErrNotFound)
	equal(f, "messages", f.messages(mine.Run.ConversationID, false), []string{"one", "two"})
}

func testBeginHistory(f *fixture) {
	history := []schemas.Message{{Role: "user", Content: "a"}, {ID: newID(), Role: "assistant", Content: "b"}}
	with := func(g *record.Begin) { g.History = history }
	first := f.turn("c", "d", with)
	second := f.turn("e", "f", with, in(first.Run.ConversationID))
	equal(f, "messages", f.messages(second.Run.ConversationID, false), []string{"a", "b", "c", "d", "e", "f"})
	m, err := f.store.Message(f.ctx, f.owner, first.Run.ConversationID, history[1].ID)
	must(f, err)
	equal(f, "message", m, schemas.Message{
		ID: history[1].ID, ConversationID: first.Run.ConversationID, Role: "assistant", Type: "md", Content: "b", Status: schemas.MessageComplete,
		CreatedAt: first.Run.CreatedAt,
	})
}

func testBeginTwiceNewKey(f *fixture) {
	one, two, three := f.begin("one", key("k")), f.begin("two", key("k")), f.begin("three", key("k"), queued)
	f.commit(one, two, three)
	fails(f, "first", one.Err, nil)
	fails(f, "second", two.Err, record.ErrBusy)
	fails(f, "third", three.Err, nil)
	equal(f, "the run under way", two.Begin.BusyRun, one.RunID)
	equal(f, "states", []schemas.RunState{one.Begin.State, three.Begin.State}, []schemas.RunState{schemas.RunRunning, schemas.RunQueued})
	equal(f, "chat", three.Begin.Run.ConversationID, one.Begin.Run.ConversationID)
	equal(f, "new", []bool{one.Begin.NewChat, two.Begin.NewChat, three.Begin.NewChat}, []bool{true, false, false})
	equal(f, "messages", f.messages(one.Begin.Run.ConversationID, false), []string{"one", "three"})
}

func testBeginBusy(f *fixture) {
	first := f.begin("one")
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	refused, waiting, after := f.begin("two", in(chat)), f.begin("three", in(chat), queued), f.begin("four", in(chat))
	f.commit(refused)
	fails(f, "a second run", refused.Err, record.ErrBusy)
	equal(f, "the run under way", refused.Begin.BusyRun, first.RunID)
	f.mustCommit(waiting)
	equal(f, "queued", []any{waiting.Begin.State, waiting.Begin.Run.Attempt}, []any{schemas.RunQueued, 0})

	end := f.finish(first, "answer")
	f.commit(end, after)
	fails(f, "finish", end.Err, nil)
	fails(f, "a run after a queued one", after.Err, record.ErrBusy)
	equal(f, "the run under way", after.Begin.BusyRun, waiting.RunID)
}

// testBeginBusyReplaced edits a message again that another request has
// replaced. Its caller must not cancel the run of that request.
func testBeginBusyReplaced(f *fixture) {
	first := f.turn("q", "a")
	chat := first.Run.ConversationID
	edit := f.begin("edited", in(chat), supersede(first.Run.UserMessageID))
	f.mustCommit(edit)
	again := f.begin("edited", in(chat), supersede(first.Run.UserMessageID))
	f.commit(again)
	fails(f, "an edit of a message that is replaced", again.Err, schemas.ErrNotFound)
	over := f.begin("edited again", in(chat), supersede(edit.Begin.Run.UserMessageID))
	f.commit(over)
	fails(f, "an edit of the current message", over.Err, record.ErrBusy)
}

func testBeginDuplicate(f *fixture) {
	with := func(k string) func(*record.Begin) { return func(g *record.Begin) { g.Run.IdempotencyKey = k } }
	first := f.begin("one", with("k"))
	f.mustCommit(first)
	again, duplicate, duplicate2, foreign := f.begin("two", with("k")), f.begin("three", with("l")), f.begin("four", with("l")), f.anotherUser().begin("five", with("k"))
	f.commit(again, duplicate, duplicate2, foreign)
	fails(f, "a used key", again.Err, record.ErrDuplicate)
	fails(f, "a new key", duplicate.Err, nil)
	fails(f, "the same key in the same commit", duplicate2.Err, record.ErrDuplicate)
	fails(f, "another user's key", foreign.Err, nil)
	list, err := f.store.Chats(f.ctx, f.owner, record.ChatQuery{})
	must(f, err)
	equal(f, "number of chats", len(list.Items), 2)
}

// testBeginRepeated loses a result: the same Begin is committed again, alone
// and with its end.
func testBeginRepeated(f *fixture) {
	w := f.begin("one", key("k"), func(g *record.Begin) { g.Run.IdempotencyKey = "i" })
	f.mustCommit(w)
	first := *w.Begin
	w.Begin.Run.ConversationID, w.Begin.Run.ChatKey, w.Begin.State = 0, "", ""
	f.mustCommit(w)
	equal(f, "ids", []any{w.Begin.Run.ConversationID, w.Begin.Run.ChatKey, w.Begin.State}, []any{first.Run.ConversationID, "k", schemas.RunRunning})
	equal(f, "messages", f.messages(first.Run.ConversationID, false), []string{"one"})

	thief := f.anotherUser()
	stolen := thief.begin("two", func(g *record.Begin) { g.Run.ID = w.RunID })
	f.commit(stolen)
	failsWith(f, "another user's run id", stolen.Err, schemas.CodeConflict)
	equal(f, "what the thief learns", stolen.Begin.Run.ConversationID, 0)
}

func testBeginAttachments(f *fixture) {
	files := []schemas.Attachment{
		{Name: "notes.md", MIME: "text/markdown", Content: "# Notes\x00 \xff" + long("abc ", 5000)},
		{Name: "dot.png", MIME: "image/png", Content: "aGVsbG8="},
		{Name: "report.pdf", MIME: schemas.MediaPDF, Content: "[page 1 of 1]\nGold"},
	}
	infos := []schemas.AttachmentInfo{
		{Name: "notes.md", MIME: "text/markdown", Size: len(files[0].Content)},
		{Name: "dot.png", MIME: "image/png", Size: 5},
		{Name: "report.pdf", MIME: schemas.MediaPDF, Size: 22_734},
	}
	g := f.turn("see", "seen", func(g *record.Begin) { g.UserMessage.Files, g.UserMessage.Attachments = files, infos })
	chat := g.Run.ConversationID
	got, err := f.store.Files(f.ctx, f.owner, chat, g.Run.UserMessageID)
	must(f, err)
	equal(f, "files", got, files)
	for n, file := range files {
		content, err := f.store.File(f.ctx, f.owner, chat, g.Run.UserMessageID, n)
		must(f, err)
		equal(f, file.Name, content, file.Content)
	}
	_, err = f.store.File(f.ctx, f.owner, chat, g.Run.UserMessageID, len(files))
	fails(f, "a file that the message does not have", err, schemas.ErrNotFound)
	m, err := f.store.Message(f.ctx, f.owner, chat, g.Run.UserMessageID)
	must(f, err)
	equal(f, "attachments", m.Attachments, infos)
	none, err := f.store.Files(f.ctx, f.owner, chat, g.Run.MessageID)
	must(f, err)
	equal(f, "files of the answer", len(none), 0)
}

func testBeginIdentifiers(f *fixture) {
	tests := map[string]func(g *record.Begin){
		"chat key":        func(g *record.Begin) { g.ChatKey = "a\x00b" },
		"owner":           func(g *record.Begin) { g.Run.Owner.ID += "\x00" },
		"idempotency key": func(g *record.Begin) { g.Run.IdempotencyKey = "\xff" },
		"run":             func(g *record.Begin) { g.Run.ID = "\x00" },
		"message":         func(g *record.Begin) { g.UserMessage.ID = "\x00" },
	}
	for name, change := range tests {
		bad, good := f.begin(name, change), f.begin(name)
		f.commit(bad, good)
		failsWith(f, name, bad.Err, schemas.CodeInvalid)
		fails(f, "beside "+name, good.Err, nil)
	}
	_, err := f.store.ChatByKey(f.ctx, f.owner, "a\x00b")
	fails(f, "chat by such a key", err, schemas.ErrNotFound)
	_, err = f.store.Message(f.ctx, f.owner, 1, "\xff\x00")
	fails(f, "message under such an id", err, schemas.ErrNotFound)
}

func testSupersede(f *fixture) {
	first := f.turn("q1", "a1")
	chat := first.Run.ConversationID
	second := f.turn("q2", "a2", in(chat))
	must(f, f.store.SetSummary(f.ctx, f.owner, chat, record.Summary{Text: "early", Through: first.Run.MessageID, UpdatedAt: start}))

	edited := f.turn("q2 edited", "a2 edited", in(chat), func(g *record.Begin) { g.Supersede = second.Run.UserMessageID })
	equal(f, "after an edit", f.messages(chat, false), []string{"q1", "a1", "q2 edited", "a2 edited"})
	f.turn("", "a2 again", in(chat), func(g *record.Begin) {
		g.Supersede, g.UserMessage, g.Run.UserMessageID = edited.Run.MessageID, nil, edited.Run.UserMessageID
	})
	equal(f, "after another answer", f.messages(chat, false), []string{"q1", "a1", "q2 edited", "a2 again"})
	equal(f, "all", f.messages(chat, true), []string{"q1", "a1", "-q2", "-a2", "q2 edited", "-a2 edited", "a2 again"})
	sum, err := f.store.Summary(f.ctx, f.owner, chat)
	must(f, err)
	equal(f, "the summary of current messages", sum.Text, "early")

	f.turn("q1 edited", "a1 edited", in(chat), func(g *record.Begin) { g.Supersede = first.Run.UserMessageID })
	equal(f, "after an edit of the first", f.messages(chat, false), []string{"q1 edited", "a1 edited"})
	sum, err = f.store.Summary(f.ctx, f.owner, chat)
	must(f, err)
	equal(f, "the summary of replaced messages", sum, record.Summary{})
}

// Of several requests that replace one message at once, one does.
func testSupersedeAtOnce(f *fixture) {
	for _, together := range []bool{true, false} {
		g := f.turn("q", "a")
		chat := g.Run.ConversationID
		commit := f.commit
		if !together {
			commit = func(writes ...*record.Write) {
				for _, w := range writes {
					f.commit(w)
				}
			}
		}
		edit := supersede(g.Run.UserMessageID)
		regenerate := func(r *record.Begin) {
			r.Supersede, r.UserMessage, r.Run.UserMessageID = g.Run.MessageID, nil, g.Run.UserMessageID
		}
		first, second, third := f.begin("e1", in(chat), queued, edit), f.begin("e2", in(chat), queued, edit), f.begin("", in(chat), queued, regenerate)
		commit(first, second, third)
		must(f, first.Err)
		fails(f, "the second edit", second.Err, record.ErrNotCurrent)
		fails(f, "an answer to the replaced question", third.Err, record.ErrNotCurrent)
		equal(f, "messages", f.messages(chat, true), []string{"-q", "-a", "e1"})
	}
}

// A commit orders its messages as one commit for each of them does.
func testSupersedeInOneCommit(f *fixture) {
	all := make(map[bool][]string)
	for _, together := range []bool{true, false} {
		g := f.turn("q", "a")
		chat := g.Run.ConversationID
		writes := []*record.Write{f.begin("q2", in(chat), queued), f.begin("", in(chat), queued, func(r *record.Begin) {
			r.Supersede, r.UserMessage, r.Run.UserMessageID = g.Run.MessageID, nil, g.Run.UserMessageID
		}), f.begin("q3", in(chat), queued)}
		if together {
			f.mustCommit(writes...)
		} else {
			for _, w := range writes {
				f.mustCommit(w)
			}
		}
		all[together] = f.messages(chat, true)
	}
	equal(f, "messages", all[true], all[false])
}

func testSupersedeUnknown(f *fixture) {
	mine, foreign := f.turn("q", "a"), f.anotherUser().turn("q", "a")
	for i, id := range []string{newID(), foreign.Run.UserMessageID} {
		w := f.begin("x", in(mine.Run.ConversationID), func(g *record.Begin) { g.Supersede = id })
		fresh := f.begin("y", key(fmt.Sprint("new", i)), func(g *record.Begin) { g.Supersede = id })
		f.commit(w, fresh)
		fails(f, "in a chat", w.Err, schemas.ErrNotFound)
		fails(f, "in a new chat", fresh.Err, schemas.ErrNotFound)
		_, err := f.store.ChatByKey(f.ctx, f.owner, fresh.Begin.ChatKey)
		fails(f, "the new chat", err, schemas.ErrNotFound)
	}
	equal(f, "messages", f.messages(mine.Run.ConversationID, true), []string{"q", "a"})
}
