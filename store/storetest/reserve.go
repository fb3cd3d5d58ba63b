package storetest

import (
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// answered returns a change that gives the answer an id of the client.
func answered(id string) func(*record.Begin) {
	return func(g *record.Begin) { g.Run.MessageID, g.Reserve = id, true }
}

func testReserve(f *fixture) {
	id, doc := newID(), f.doc()
	first := f.begin("one", key("k"), answered(id))
	f.mustCommit(first)
	f.mustCommit(first) // its outcome was lost
	chat := first.Begin.Run.ConversationID
	queuedUp := f.begin("two", in(chat), queued)
	f.mustCommit(queuedUp)
	equal(f, "messages", f.messages(chat, false), []string{"one", "two"})
	_, err := f.store.Block(f.ctx, f.owner, id)
	fails(f, "the block before there is an answer", err, schemas.ErrNotFound)

	again, both, duplicate := f.begin("three", key("new"), answered(id)), f.begin("four", answered("x"+id)), f.begin("five", key("duplicate"), answered("x"+id))
	other := f.anotherUser().begin("six", answered(id))
	f.commit(again, both, duplicate, other)
	fails(f, "an id under way", again.Err, schemas.ErrTaken)
	fails(f, "a free id", both.Err, nil)
	fails(f, "the same id in the same commit", duplicate.Err, schemas.ErrTaken)
	fails(f, "another user's id", other.Err, nil)
	for _, k := range []string{"new", "duplicate"} {
		_, err = f.store.ChatByKey(f.ctx, f.owner, k)
		fails(f, "the chat of a refused run", err, schemas.ErrNotFound)
	}
	_, err = f.store.AddBlock(f.ctx, f.owner, doc, record.NewBlock{ID: id, Type: "md"}, nil)
	fails(f, "a block of a document under an id under way", err, schemas.ErrTaken)

	end := f.finish(first, "answer")
	f.mustCommit(end)
	f.mustCommit(end)
	equal(f, "messages with the answer", f.messages(chat, false), []string{"one", "answer", "two"})
	b, err := f.store.Block(f.ctx, f.owner, id)
	must(f, err)
	if b.Current == nil || *b.Current != "answer" || b.ChatID != "k" {
		f.Errorf("got the block %+v, want the answer in chat k", b)
	}
	f.commit(again)
	fails(f, "the id of a message", again.Err, schemas.ErrTaken)
	_, err = f.store.AddBlock(f.ctx, f.owner, doc, record.NewBlock{ID: "d" + id, Type: "md"}, nil)
	must(f, err)
	taken := f.begin("seven", answered("d"+id))
	f.commit(taken)
	fails(f, "the id of a document's block", taken.Err, schemas.ErrTaken)
}

// testNamedMessage has the user's message under an id that the client has chosen.
func testNamedMessage(f *fixture) {
	id := newID()
	named := func(id string) func(*record.Begin) {
		return func(g *record.Begin) { g.UserMessage.ID, g.Run.UserMessageID, g.Named = id, id, true }
	}
	first := f.begin("one", key("k"), named(id))
	f.mustCommit(first)
	f.mustCommit(first) // its outcome was lost
	again, elsewhere, other := f.begin("two", key("k"), queued, named(id)), f.begin("three", named(id)), f.anotherUser().begin("four", named(id))
	free, duplicate, answer := f.begin("five", named("x"+id)), f.begin("six", named("x"+id)), f.begin("seven", answered("x"+id))
	both := f.begin("eight", named("y"+id), answered("y"+id))
	f.commit(again, elsewhere, other, free, duplicate, answer, both)
	fails(f, "an id in use in the chat", again.Err, schemas.ErrTaken)
	fails(f, "an id in use elsewhere", elsewhere.Err, schemas.ErrTaken)
	fails(f, "another user's id", other.Err, nil)
	fails(f, "a free id", free.Err, nil)
	fails(f, "the same id in the same commit", duplicate.Err, schemas.ErrTaken)
	fails(f, "the same id for an answer", answer.Err, schemas.ErrTaken)
	fails(f, "one id for question and answer", both.Err, schemas.ErrTaken)
	f.mustCommit(f.finish(first, "answer"))
	equal(f, "messages", f.messages(first.Begin.Run.ConversationID, false), []string{"one", "answer"})

	run, err := f.store.RunByMessage(f.ctx, f.owner, id)
	must(f, err)
	equal(f, "the run that began with the message", run.ID, first.RunID)
	for _, unknown := range []string{first.Begin.Run.MessageID, "", "no\x00id"} {
		_, err = f.store.RunByMessage(f.ctx, f.owner, unknown)
		fails(f, "the run of no message of the user's", err, schemas.ErrNotFound)
	}
}

// testReserveAliases begins an answer with aliases besides its message's id.
func testReserveAliases(f *fixture) {
	id, second, third := newID(), newID(), newID()
	named := func(ids ...string) func(*record.Begin) {
		return func(g *record.Begin) { g.Run.MessageID, g.Reserve, g.Aliases = ids[0], true, ids[1:] }
	}
	freed := f.begin("zero", named(id, second, third))
	f.mustCommit(freed)
	end := f.finish(freed, "")
	end.Finish.Message, end.Finish.State = nil, schemas.RunCancelled
	f.mustCommit(end)

	run := f.begin("one", key("k"), named(id, second, third))
	f.mustCommit(run)
	f.mustCommit(run) // its outcome was lost
	_, err := f.store.Block(f.ctx, f.owner, second)
	fails(f, "another name before there is an answer", err, schemas.ErrNotFound)
	for name, ids := range map[string][]string{"first": {second, newID()}, "further": {newID(), third}} {
		taken := f.begin("two", named(ids...))
		f.commit(taken)
		fails(f, "another name as "+name, taken.Err, schemas.ErrTaken)
	}
	f.mustCommit(f.finish(run, "answer"))
	chat := run.Begin.Run.ConversationID
	equal(f, "messages", f.messages(chat, false), []string{"one", "answer"})
	for _, name := range []string{id, second, third} {
		b, err := f.store.Block(f.ctx, f.owner, name)
		must(f, err)
		if b.ID != name || b.Current == nil || *b.Current != "answer" || b.ChatID != "k" {
			f.Errorf("under %s is %+v, want the answer in chat k", name, b)
		}
		settled, err := f.store.SettleBlock(f.ctx, f.owner, name, record.Accept, nil)
		must(f, err)
		if settled.Block.ID != name || settled.Gone {
			f.Errorf("accepted under %s is %+v", name, settled)
		}
	}
	_, err = f.store.Block(f.ctx, f.anotherUser().owner, second)
	fails(f, "another user's name", err, schemas.ErrNotFound)
	must(f, f.store.DeleteChat(f.ctx, f.owner, chat))
	f.mustCommit(f.begin("three", named(third, second, id)))
}

// testReserveAgain generates the answer with an id again, while later messages
// exist.
func testReserveAgain(f *fixture) {
	id := newID()
	first := f.begin("one", key("k"), answered(id))
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	whole := f.finish(first, "answer 1")
	payload := newID()
	whole.Payloads = []record.Payload{{CustomPayload: schemas.CustomPayload{PayloadID: payload, Type: "t", Data: []byte(`{}`)}, MessageID: id}}
	f.mustCommit(whole)
	between := f.begin("between", in(chat))
	f.mustCommit(between)
	f.mustCommit(f.finish(between, "answer"))

	again := f.begin("two", in(chat), answered(id))
	f.mustCommit(again)
	f.mustCommit(again) // its outcome was lost
	_, err := f.store.Block(f.ctx, f.owner, id)
	fails(f, "the block while it is generated again", err, schemas.ErrNotFound)
	duplicate := f.begin("three", in(chat), answered(id))
	f.commit(duplicate)
	fails(f, "an id that is being generated again", duplicate.Err, record.ErrBusy)
	f.mustCommit(f.finish(again, "answer 2"))
	equal(f, "messages", f.messages(chat, false), []string{"between", "answer", "two", "answer 2"})
	equal(f, "all messages", f.messages(chat, true), []string{"-one", "-answer 1", "between", "answer", "two", "answer 2"})
	old, err := f.store.Run(f.ctx, whole.RunID)
	must(f, err)
	m, err := f.store.Message(f.ctx, f.owner, chat, old.MessageID)
	must(f, err)
	if m.Content != "answer 1" || m.ID == id || len(m.Payloads) != 1 {
		f.Errorf("the first answer is %+v, want it with its payload under another id", m)
	}

	must(f, f.store.SelectVersion(f.ctx, f.owner, chat, first.Begin.Run.UserMessageID))
	equal(f, "messages with the first version", f.messages(chat, false), []string{"between", "answer", "one", "answer 1"})
	third := f.begin("three", in(chat), answered(id)) // the id belongs to a version that is not shown
	f.mustCommit(third)
	f.mustCommit(f.finish(third, "answer 3"))
	equal(f, "messages with a third one", f.messages(chat, false), []string{"between", "answer", "one", "answer 1", "three", "answer 3"})
	b, err := f.store.Block(f.ctx, f.owner, id)
	must(f, err)
	if b.Current == nil || *b.Current != "answer 3" {
		f.Errorf("the block is %+v, want the last answer", b)
	}
}

// testReserveOfSeveral generates an answer with several ids again, under its
// message's id. The earlier answer keeps the other ids, the first of which
// becomes its own, and stays in the chat. It is superseded once it has no id.
func testReserveOfSeveral(f *fixture) {
	one, two, three, four := newID(), newID(), newID(), newID()
	named := func(ids ...string) func(*record.Begin) {
		return func(g *record.Begin) { g.Run.MessageID, g.Reserve, g.Aliases = ids[0], true, ids[1:] }
	}
	shows := func(when string, want map[string]string) {
		f.Helper()
		for id, text := range want {
			b, err := f.store.Block(f.ctx, f.owner, id)
			must(f, err)
			if b.ID != id || b.Current == nil || *b.Current != text || b.ChatID != "k" {
				f.Errorf("%s: under the id is %+v, want %s", when, b, text)
			}
		}
	}
	first := f.begin("q 1", key("k"), named(one, two, three, four))
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	whole := f.finish(first, "answer 1")
	whole.Payloads = []record.Payload{{CustomPayload: schemas.CustomPayload{PayloadID: newID(), Type: "t", Data: []byte(`{}`)}, MessageID: one}}
	f.mustCommit(whole)

	second := f.begin("q 2", in(chat), named(one, three))
	f.mustCommit(second)
	f.mustCommit(second) // its outcome was lost
	shows("while it is generated again", map[string]string{two: "answer 1", four: "answer 1"})
	f.mustCommit(f.finish(second, "answer 2"))
	shows("then", map[string]string{one: "answer 2", two: "answer 1", three: "answer 2", four: "answer 1"})
	equal(f, "messages", f.messages(chat, true), []string{"q 1", "answer 1", "q 2", "answer 2"})
	run, err := f.store.Run(f.ctx, first.RunID)
	must(f, err)
	m, err := f.store.Message(f.ctx, f.owner, chat, two)
	must(f, err)
	if run.MessageID != two || m.BlockIDs != two+","+four || len(m.Payloads) != 1 {
		f.Errorf("the first answer is %+v, and %q in its run; want it under its other ids, with its payload", m, run.MessageID)
	}

	third := f.begin("q 3", in(chat), named(four, two))
	f.mustCommit(third)
	f.mustCommit(f.finish(third, "answer 3"))
	shows("in the end", map[string]string{one: "answer 2", two: "answer 3", three: "answer 2", four: "answer 3"})
	equal(f, "messages in the end", f.messages(chat, true), []string{"-q 1", "-answer 1", "q 2", "answer 2", "q 3", "answer 3"})

	again := f.begin("q 4", in(chat), named(four), func(g *record.Begin) { g.Supersede = four })
	f.mustCommit(again)
	f.mustCommit(f.finish(again, "answer 4"))
	shows("after an explicit one", map[string]string{four: "answer 4"})
	_, err = f.store.Block(f.ctx, f.owner, two)
	fails(f, "a name of an answer that the user asked for again", err, schemas.ErrNotFound)
	equal(f, "messages after an explicit one", f.messages(chat, true), []string{"-q 1", "-answer 1", "q 2", "answer 2", "q 3", "-answer 3", "q 4", "answer 4"})
}

// begins begins a queued run.
func (f *fixture) begins(w *record.Write, names ...string) record.Begun {
	f.Helper()
	begun, err := f.store.BeginQueued(f.ctx, w.RunID, "", names)
	must(f, err)
	w.Begin.Run.MessageID, w.Attempt = begun.MessageID, 1
	return begun
}

// testReserveQueued has an answer generated again by runs that wait: each replaces the
// answer that has the id when it begins.
func testReserveQueued(f *fixture) {
	id, other := newID(), newID()
	named := func(ids ...string) func(*record.Begin) {
		return func(g *record.Begin) { g.Run.MessageID, g.Reserve, g.Aliases, g.Queue = ids[0], true, ids[1:], true }
	}
	first := f.begin("q 1", key("k"), named(id))
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	second, third, fourth := f.begin("q 2", in(chat), named(id, other)), f.begin("q 3", in(chat), named(other, id)), f.begin("q 4", in(chat), named(id))
	f.mustCommit(second)
	f.commit(third, fourth)
	elsewhere, busy := f.begin("q 5", key("l"), named(id)), f.begin("q 6", in(chat), answered(other))
	alias := f.begin("q 7", key("m"), named(newID(), other))
	f.commit(elsewhere, busy, alias)
	fails(f, "an id under way in another chat", elsewhere.Err, schemas.ErrTaken)
	fails(f, "an id that another chat waits for", alias.Err, schemas.ErrTaken)
	fails(f, "an id of a run that waits", busy.Err, record.ErrBusy)
	for _, name := range []string{id, other} {
		key, err := f.store.AnswerChat(f.ctx, f.owner, name)
		must(f, err)
		equal(f, "the chat of an id under way", key, "k")
		_, err = f.store.Block(f.ctx, f.owner, name)
		fails(f, "the block before there is an answer", err, schemas.ErrNotFound)
	}
	under, err := f.store.RunOfAnswer(f.ctx, f.owner, chat, id)
	must(f, err)
	equal(f, "the run under way", under.ID, first.RunID)
	f.mustCommit(f.finish(first, "answer 1"))

	shows := func(name, want string) {
		f.Helper()
		b, err := f.store.Block(f.ctx, f.owner, name)
		must(f, err)
		if b.ID != name || b.Current == nil || *b.Current != want {
			f.Errorf("under %s is %+v, want %s", name, b, want)
		}
	}
	shows(id, "answer 1") // until the next one begins
	_, err = f.store.Block(f.ctx, f.owner, other)
	fails(f, "an id of a run that waits", err, schemas.ErrNotFound)
	equal(f, "begun", f.begins(second, id, other), record.Begun{MessageID: id, Replaces: true})
	f.mustCommit(f.finish(second, "answer 2"))
	shows(other, "answer 2")
	end := f.finish(third, "")
	end.Finish.Message, end.Finish.State, end.Attempt = nil, schemas.RunCancelled, 0 // in the queue
	f.mustCommit(end)
	shows(other, "answer 2")
	equal(f, "begun", f.begins(fourth, id), record.Begun{MessageID: id, Replaces: true})
	f.mustCommit(f.finish(fourth, "answer 4"))
	shows(id, "answer 4")
	shows(other, "answer 2")
	equal(f, "messages", f.messages(chat, true), []string{"-q 1", "-answer 1", "q 2", "answer 2", "q 3", "q 4", "answer 4"})
	v, err := f.store.Versions(f.ctx, f.owner, chat, first.Begin.Run.UserMessageID)
	must(f, err)
	equal(f, "versions of the question", len(v.Items), 2)
}

// testReserveLost has an id that belongs to something else when the run begins.
func testReserveLost(f *fixture) {
	id, kept := newID(), newID()
	first := f.begin("q 1", key("k"), answered(id))
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	ids := []string{id, kept}
	named := func(g *record.Begin) { g.Run.MessageID, g.Reserve, g.Aliases, g.Queue = ids[0], true, ids[1:], true }
	both, one := f.begin("q 2", in(chat), named), f.begin("q 3", in(chat), queued, answered(id))
	f.mustCommit(both)
	f.mustCommit(one)
	end := f.finish(first, "")
	end.Finish.Message, end.Finish.State = nil, schemas.RunCancelled
	f.mustCommit(end)
	f.mustCommit(f.begin("elsewhere", answered(id)))

	equal(f, "begun", f.begins(both, ids...), record.Begun{MessageID: kept, Lost: []string{id}})
	f.mustCommit(f.finish(both, "answer 2"))
	begun := f.begins(one)
	if begun.MessageID == id || begun.Replaces || len(begun.Lost) != 1 {
		f.Errorf("got %+v, want an id of its own", begun)
	}
	f.mustCommit(f.finish(one, "answer 3"))
	equal(f, "messages", f.messages(chat, false), []string{"q 1", "q 2", "answer 2", "q 3", "answer 3"})
}

// testRegenerateQueued has one question answered again by two runs that wait.
func testRegenerateQueued(f *fixture) {
	first := f.begin("one", key("k"))
	f.mustCommit(first)
	chat := first.Begin.Run.ConversationID
	again := func(g *record.Begin) {
		g.UserMessage, g.Run.UserMessageID, g.Queue = nil, first.Begin.Run.UserMessageID, true
	}
	second, third, later := f.begin("", in(chat), again), f.begin("", in(chat), again), f.begin("two", in(chat), queued)
	f.mustCommit(second)
	f.mustCommit(third)
	f.mustCommit(later)
	f.mustCommit(f.finish(first, "answer 1"))
	f.begins(second)
	equal(f, "messages", f.messages(chat, true), []string{"one", "-answer 1", "two"})
	f.mustCommit(f.finish(second, "answer 2"))
	f.begins(third)
	f.mustCommit(f.finish(third, "answer 3"))
	f.begins(later)
	f.mustCommit(f.finish(later, "answer 4"))
	equal(f, "messages in the end", f.messages(chat, false), []string{"one", "answer 3", "two", "answer 4"})
	fourth := f.begin("", in(chat), again)
	f.mustCommit(fourth) // at once
	f.mustCommit(f.finish(fourth, "answer 5"))
	equal(f, "messages after another one", f.messages(chat, false), []string{"one", "answer 5"})
}

func testReserveFreed(f *fixture) {
	id := newID()
	first := f.begin("one", answered(id))
	f.mustCommit(first)
	end := f.finish(first, "")
	end.Finish.Message, end.Finish.State = nil, schemas.RunCancelled
	f.mustCommit(end)
	second := f.begin("two", answered(id))
	f.mustCommit(second)
	must(f, f.store.DeleteChat(f.ctx, f.owner, second.Begin.Run.ConversationID))
	third := f.begin("three", answered(id))
	whole := f.finish(third, "answer")
	third.Finish = whole.Finish // in a single write
	f.mustCommit(third)
	equal(f, "messages", f.messages(third.Begin.Run.ConversationID, false), []string{"three", "answer"})
}
