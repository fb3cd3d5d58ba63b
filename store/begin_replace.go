package store

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/store/sqldb"
)

// earlierAnswer is an answer that loses one of its ids to the next answer.
// Message is its own id; question and run are empty if it has none. Gone is true
// if it loses its last id, and alias if the id is not its own one. First names the messages
// that are superseded with it. Held is the chat whose unfinished run reserves the id for its
// answer, and 0 for an id that is not reserved so.
type earlierAnswer struct {
	id, message, question, run, first string
	chat, held                        int64
	gone, alias                       bool
}

// free frees the ids that the run reserves. An earlier answer that loses its own
// id takes its next alias, or a new id if it has none left. free returns
// g.Supersede, or its new id.
func (b *batch) free(o *writeResult, g *record.Begin) (supersede string, err error) {
	supersede = g.Supersede
	for i := range o.replaces {
		a := &o.replaces[i]
		if a.alias = a.message != a.id; a.alias {
			if err := b.tx.Each(b.ctx, dropName, [][]any{{o.chat.owner, a.id}}); err != nil {
				return "", err
			}
			continue
		}
		if a.message, err = b.nextAlias(o, g, a); err != nil {
			return "", err
		}
		if a.gone = a.message == ""; a.gone {
			made, err := uuid.NewV7()
			if err != nil {
				return "", err
			}
			a.message = made.String()
		}
		if supersede == a.id {
			supersede = a.message
		}
		if err := b.tx.Each(b.ctx, renameMessage, [][]any{{a.message, o.chat.owner, a.id}}); err != nil {
			return "", err
		}
		for _, statement := range []string{renamePayloads, renameOfRun, renameTail} {
			if err := b.tx.Each(b.ctx, statement, [][]any{{a.message, o.chat.id, a.id}}); err != nil {
				return "", err
			}
		}
	}
	return supersede, nil
}

// nextAlias frees the first alias of the answer that the run does not reserve,
// and returns it; "" if there is none.
func (b *batch) nextAlias(o *writeResult, g *record.Begin, a *earlierAnswer) (alias string, err error) {
	err = b.tx.Query(b.ctx, selectAliases, [][]any{{o.chat.owner, a.run}}, func(row sqldb.Scanner) error {
		var id string
		err := row.Scan(&id)
		if alias == "" && !slices.Contains(reserves(g), id) {
			alias = id
		}
		return err
	})
	if err == nil && alias != "" {
		err = b.tx.Each(b.ctx, dropName, [][]any{{o.chat.owner, alias}})
	}
	return alias, err
}

// replace marks the answers that have lost their last id as superseded, each
// with its question, of which the new question is another version. Later
// messages are kept.
func (b *batch) replace(o *writeResult) error {
	for i := range o.replaces {
		a := &o.replaces[i]
		answer, _, err := b.current(o, a.message)
		if err != nil {
			return err
		}
		if answer == 0 || !a.gone { // the question is already a version, or the answer keeps an id
			continue
		}
		first, place := a.message, answer
		question, branch, err := b.current(o, a.question)
		if err != nil {
			return err
		}
		if question > 0 {
			first, place = a.question, question
			branch = cmp.Or(branch, a.question)
			if err := b.tx.Each(b.ctx, nameBranch, [][]any{{branch, o.chat.owner, a.question}}); err != nil {
				return err
			}
			o.branch = cmp.Or(o.branch, branch)
		}
		a.first = first
		if err := b.tx.Each(b.ctx, dropSummary, [][]any{{o.chat.id, o.chat.id, place}}); err != nil {
			return err
		}
		if err := b.tx.Each(b.ctx, supersedeOne, [][]any{{first, o.chat.id, a.question}, {first, o.chat.id, a.message}}); err != nil {
			return err
		}
	}
	return nil
}

// current returns the place and the branch of a message of the chat, 0 if it
// does not exist or is superseded.
func (b *batch) current(o *writeResult, id string) (place int64, branch string, err error) {
	err = b.tx.Query(b.ctx, selectCurrent, [][]any{{o.chat.id, o.chat.owner, id}}, func(row sqldb.Scanner) error {
		return row.Scan(&place, new(string), &branch)
	})
	return place, branch, err
}
