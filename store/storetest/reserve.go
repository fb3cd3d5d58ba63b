package storetest

import (
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// answered makes the client's id that of the answer.
func answered(id string) func(*record.Begin) {
	return func(g *record.Begin) { g.Run.MessageID, g.Reserve = id, true }
}

func testReserve(f *fixture) {
	id, doc := newID(), f.doc()
	first := f.begin("one", key("k"), answered(id))
	f.mustCommit(first)
	f.mustCommit(first) // its outcome got lost
	chat := first.Begin.Run.ConversationID
	queuedUp := f.begin("two", in(chat), queued)
	f.mustCommit(queuedUp)
	equal(f, "messages", f.messages(chat, false), []string{"one", "two"})
	_, err := f.store.Block(f.ctx, f.owner, id)
	fails(f, "the block before there is an answer", err, schemas.ErrNotFound)

	again, both, twin := f.begin("three", key("new"), answered(id)), f.begin("four", answered("x"+id)), f.begin("five", key("twin"), answered("x"+id))
	other := f.somebody().begin("six", answered(id))
	f.commit(again, both, twin, other)
	fails(f, "an id under way", again.Err, schemas.ErrTaken)
	fails(f, "a free id", both.Err, nil)
	fails(f, "the same id in the same commit", twin.Err, schemas.ErrTaken)
	fails(f, "somebody else's id", other.Err, nil)
	for _, k := range []string{"new", "twin"} {
		_, err = f.store.ChatByKey(f.ctx, f.owner, k)
		fails(f, "the chat of a refused run", err, schemas.ErrNotFound)
	}
	_, err = f.store.AddBlock(f.ctx, f.owner, doc, record.NewBlock{ID: id, Type: "md"}, nil)
	fails(f, "a block of a document under an id under way", err, schemas.ErrTaken)

	end := f.finish(first, "answer")
	f.mustCommit(end)
	f.mustCommit(end)
	equal(f, "messages with the answer", f.messages(chat, false), []string{"one", "two", "answer"})
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
	third.Finish = whole.Finish // in one write
	f.mustCommit(third)
	equal(f, "messages", f.messages(third.Begin.Run.ConversationID, false), []string{"three", "answer"})
}
