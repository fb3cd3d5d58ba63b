package storetest

import (
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// testRatedAnswers reads the rated answers of all users, a few at a time. The database has
// those of other tests too.
func testRatedAnswers(f *fixture) {
	other := f.anotherUser()
	rate := func(f *fixture, g *record.Begin, rating string) string {
		_, err := f.store.SetFeedback(f.ctx, f.owner, g.Run.ConversationID, g.Run.MessageID, schemas.Feedback{Rating: rating})
		must(f, err)
		return g.Run.MessageID
	}
	first := f.turn("one", "a")
	in := in(first.Run.ConversationID)
	f.turn("unrated", "b", in)
	third := f.turn("three", "c", in)
	foreign := other.turn("foreign", "d")
	taken := f.turn("taken back", "e")
	want := []string{rate(f, first, "up"), rate(f, third, "down"), rate(other, foreign, "up")}
	rate(f, taken, "up")
	rate(f, taken, "")

	found := func(since time.Time) (ids []string, all []record.RatedAnswer) {
		for q := (record.RatedQuery{Limit: 2, Since: since}); ; {
			list, err := f.store.RatedAnswers(f.ctx, q)
			must(f, err)
			if len(list) == 0 {
				return ids, all
			}
			for _, r := range list {
				if r.Place <= q.After {
					f.Fatalf("got the place %d after %d", r.Place, q.After)
				}
				if q.After = r.Place; r.Owner == f.owner || r.Owner == other.owner {
					ids, all = append(ids, r.MessageID), append(all, r)
				}
			}
		}
	}
	ids, all := found(time.Time{})
	equal(f, "rated answers", ids, want)
	before, _, err := f.store.Messages(f.ctx, f.owner, all[1].ConversationID, record.MessageQuery{Cursor: all[1].Before})
	must(f, err)
	var texts []string
	for _, m := range before {
		texts = append(texts, m.Content)
	}
	equal(f, "messages before an answer", texts, []string{"one", "a", "unrated", "b", "three"})
	m, err := f.store.Message(f.ctx, f.owner, all[1].ConversationID, all[1].MessageID)
	must(f, err)
	ids, _ = found(m.CreatedAt)
	if slices.Contains(ids, first.Run.MessageID) || !slices.Contains(ids, third.Run.MessageID) {
		f.Errorf("got %v since the second answer, want it without the first", ids)
	}
}
