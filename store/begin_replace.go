package store

import (
	"cmp"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas/record"
)

// earlierAnswer is an answer that loses one of its ids to the next answer.
// Message is its own id; question is empty if it has none. Renamed is true if
// it loses its own id.
type earlierAnswer struct {
	id, message, question string
	chat                  int64
	renamed               bool
}

// free frees the ids that the run reserves: an earlier answer gets a new own id
// or loses an alias. It returns g.Supersede, or its new id.
func (b *batch) free(o *writeResult, g *record.Begin) (supersede string, err error) {
	supersede = g.Supersede
	for i := range o.replaces {
		a := &o.replaces[i]
		if a.message != a.id {
			if err := b.tx.each(b.ctx, dropName, [][]any{{o.chat.owner, a.id}}); err != nil {
				return "", err
			}
			continue
		}
		made, err := uuid.NewV7()
		if err != nil {
			return "", err
		}
		a.message, a.renamed = made.String(), true
		if supersede == a.id {
			supersede = a.message
		}
		if err := b.tx.each(b.ctx, renameMessage, [][]any{{a.message, o.chat.owner, a.id}}); err != nil {
			return "", err
		}
		for _, statement := range []string{renamePayloads, renameOfRun, renameTail} {
			if err := b.tx.each(b.ctx, statement, [][]any{{a.message, o.chat.id, a.id}}); err != nil {
				return "", err
			}
		}
	}
	return supersede, nil
}

// replace marks the answers whose own ids have been freed as superseded, each
// with its question, of which the new question is another version. Later
// messages are kept.
func (b *batch) replace(o *writeResult) error {
	for _, a := range o.replaces {
		answer, _, err := b.current(o, a.message)
		if err != nil {
			return err
		}
		if answer == 0 || !a.renamed { // the question is already a version, or the answer keeps its own id
			continue
		}
		first, seq := a.message, answer
		question, branch, err := b.current(o, a.question)
		if err != nil {
			return err
		}
		if question > 0 {
			first, seq = a.question, question
			branch = cmp.Or(branch, a.question)
			if err := b.tx.each(b.ctx, nameBranch, [][]any{{branch, o.chat.owner, a.question}}); err != nil {
				return err
			}
			o.branch = cmp.Or(o.branch, branch)
		}
		if err := b.tx.each(b.ctx, dropSummary, [][]any{{o.chat.id, o.chat.id, seq}}); err != nil {
			return err
		}
		if err := b.tx.each(b.ctx, supersedeOne, [][]any{{first, o.chat.id, a.question}, {first, o.chat.id, a.message}}); err != nil {
			return err
		}
	}
	return nil
}

// current returns the place and the branch of a message of the chat, 0 if it
// does not exist or is superseded.
func (b *batch) current(o *writeResult, id string) (seq int64, branch string, err error) {
	err = b.tx.query(b.ctx, selectCurrent, [][]any{{o.chat.id, o.chat.owner, id}}, func(row scanner) error {
		return row.Scan(&seq, new(string), &branch)
	})
	return seq, branch, err
}
