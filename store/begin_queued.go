package store

import (
	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/values"
)

// beginQueued makes a queued run the one that answers: an answer that it generates
// again is superseded, and the ids of its own answer are taken from the answers that
// have them now.
func (b *batch) beginQueued(run *runState, names []string) (record.Begun, error) {
	g := &record.Begin{Run: record.Run{ID: run.id}}
	var at int64
	err := b.tx.Query(b.ctx, selectQueued, [][]any{{run.id}}, func(row sqldb.Scanner) error {
		return row.Scan(&g.Run.MessageID, &g.Run.UserMessageID, &at)
	})
	if err != nil {
		return record.Begun{}, err
	}
	g.Run.Owner.ID, g.Run.CreatedAt = run.owner, values.Moment(at)
	o := &writeResult{chat: &chatState{id: run.chat, owner: run.owner}}
	if err := b.takeOver(o, g); err != nil {
		return record.Begun{}, err
	}
	if err := b.supersedeAnswer(o, g); err != nil {
		return record.Begun{}, err
	}
	begun, err := b.takeNames(o, g, names)
	if err != nil {
		return begun, err
	}
	replaced, err := replacedIDs(o)
	if err != nil || replaced == "" {
		return begun, err
	}
	return begun, b.tx.Each(b.ctx, setReplaced, [][]any{{replaced, run.id}})
}

// takeOver notes with a run that begins the answer that it, or another run that waits, has
// superseded to answer the question again: whichever of them ends with nothing in its place
// brings it back. Queued runs have taken no ids yet.
func (b *batch) takeOver(o *writeResult, g *record.Begin) error {
	stored := ""
	err := b.tx.Query(b.ctx, lastNoted, [][]any{{o.chat.id, g.Run.UserMessageID}}, func(row sqldb.Scanner) error { return row.Scan(&stored) })
	if err != nil {
		return err
	}
	ids, err := replacedOf(stored)
	for _, r := range ids {
		o.again = r.First
	}
	return err
}

// supersedeAnswer supersedes the current answer to the question of a run that answers it
// again, and what follows it. Without one, later messages stay, and the answer comes before
// them: a summary that has them would not have the answer.
func (b *batch) supersedeAnswer(o *writeResult, g *record.Begin) error {
	earlier := ""
	question := g.Run.UserMessageID
	err := b.tx.Query(b.ctx, currentAnswer, [][]any{{o.chat.id, g.Run.Owner.ID, question, question, g.Run.ID}}, func(row sqldb.Scanner) error { return row.Scan(&earlier) })
	if err != nil {
		return err
	}
	if earlier != "" {
		return b.supersede(o, g, earlier, supersedeAnswered, o.chat.id)
	}
	place, _, err := b.current(o, question)
	if err != nil || place == 0 {
		return err
	}
	return b.tx.Each(b.ctx, dropSummary, [][]any{{o.chat.id, o.chat.id, place}})
}

// takeNames gives the answer of a queued run its ids. Its message has the first one that
// it gets, or an id of its own.
func (b *batch) takeNames(o *writeResult, g *record.Begin, names []string) (record.Begun, error) {
	own := len(names) == 0
	if own {
		names = []string{g.Run.MessageID}
	}
	taken, err := b.taken(g.Run.Owner.ID, names)
	if err != nil {
		return record.Begun{}, err
	}
	begun := record.Begun{MessageID: g.Run.MessageID}
	if _, used := taken[names[0]]; own && !used {
		return begun, nil
	}
	var got []string
	for _, id := range names {
		a, used := taken[id]
		switch {
		case !used:
		case a.held == o.chat.id: // by this run, or by one that waits
			if err := b.tx.Each(b.ctx, dropName, [][]any{{g.Run.Owner.ID, id}}); err != nil {
				return begun, err
			}
		case a.held == 0 && a.chat == o.chat.id:
			o.replaces = append(o.replaces, a)
		default:
			begun.Lost = append(begun.Lost, id)
			continue
		}
		got = append(got, id)
	}
	if len(got) == 0 {
		made, err := uuid.NewV7()
		if err != nil {
			return begun, err
		}
		begun.MessageID = made.String()
	} else {
		g.Reserve, g.Run.MessageID, g.Aliases = true, got[0], got[1:]
		begun.MessageID = got[0]
	}
	begun.Replaces = len(o.replaces) > 0
	return begun, b.name(o, g, begun.MessageID)
}

// name stores the ids of the answer of a queued run.
func (b *batch) name(o *writeResult, g *record.Begin, message string) error {
	if _, err := b.free(o, g); err != nil {
		return err
	}
	if err := b.replace(o); err != nil {
		return err
	}
	if err := b.reserve(g, reserves(g)); err != nil {
		return err
	}
	if o.branch != "" {
		if err := b.tx.Each(b.ctx, nameBranch, [][]any{{o.branch, g.Run.Owner.ID, g.Run.UserMessageID}}); err != nil {
			return err
		}
	}
	return b.tx.Each(b.ctx, renameAnswer, [][]any{{message, g.Run.ID}})
}

// taken returns what has these ids of an owner.
func (b *batch) taken(owner string, ids []string) (map[string]earlierAnswer, error) {
	rows := make([][]any, len(ids))
	for i, id := range ids {
		rows[i] = []any{owner, id}
	}
	taken := make(map[string]earlierAnswer)
	err := b.tx.Query(b.ctx, selectTaken, rows, func(row sqldb.Scanner) error {
		_, a, err := scanTaken(row)
		taken[a.id] = a
		return err
	})
	return taken, err
}

func scanTaken(row sqldb.Scanner) (k ownedKey, a earlierAnswer, err error) {
	err = row.Scan(&k.owner, &k.key, &a.chat, &a.message, &a.question, &a.run, &a.held)
	a.id = k.key
	return k, a, err
}
