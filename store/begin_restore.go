package store

import (
	"context"
	"encoding/json"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/store/sqldb"
	"github.com/chattray/chattray/store/tables"
	"github.com/chattray/chattray/store/values"
)

// replacedIDs returns what is stored of the answers that a run replaces, empty for none.
func replacedIDs(o *writeResult) (string, error) {
	ids, again := make([]tables.Replaced, len(o.replaces)), o.again
	for i, a := range o.replaces {
		ids[i] = tables.Replaced{ID: a.id, Message: a.message, Run: a.run, Next: !a.gone, First: a.first}
		if a.alias {
			ids[i].Message, ids[i].Next = "", false
		}
		if a.message == again || a.id == again {
			ids[i].First, again = a.message, ""
		}
	}
	if again != "" {
		ids = append(ids, tables.Replaced{First: again})
	}
	if len(ids) == 0 {
		return "", nil
	}
	data, err := json.Marshal(ids)
	return string(data), err
}

// takenBy returns what is stored of the answers that a run replaces.
func (b *batch) takenBy(run *runState) (ids []tables.Replaced, err error) {
	stored := run.replaced
	if stored == "" {
		err = b.tx.Query(b.ctx, selectReplaced, [][]any{{run.id}}, func(row sqldb.Scanner) error { return row.Scan(&stored) })
	}
	if err != nil {
		return nil, err
	}
	return replacedOf(stored)
}

// replacedOf decodes what replacedIDs has returned.
func replacedOf(stored string) (ids []tables.Replaced, err error) {
	if stored != "" {
		err = json.Unmarshal([]byte(stored), &ids)
	}
	return ids, err
}

// restore gives earlier answers the ids back that the run has taken. They and an answer
// that it was to generate again are current, in place of the run's own messages. If the
// question was replaced meanwhile, the answer comes back with it; if another run answers the
// question instead, that run decides.
func (b *batch) restore(run *runState, f *record.Finish) error {
	ids, err := b.takenBy(run)
	if err != nil {
		return err
	}
	asked := false
	for _, r := range ids {
		lost := r.ID // an alias
		if r.Message != "" {
			b.add(returnName, r.ID, run.owner, r.Message)
			b.add(returnPayloads, r.ID, run.chat, r.Message)
			b.add(returnOfRun, r.ID, run.chat, r.Message)
			b.add(returnTail, r.ID, run.chat, r.Message)
			if lost = ""; r.Next {
				lost = r.Message
			}
		}
		if lost != "" && r.Run != "" {
			b.add(returnAlias, run.owner, lost, r.Run, values.Micros(f.EndedAt))
		}
		first := r.First
		if first == "" {
			continue
		}
		if first == r.Message {
			first = r.ID
		}
		asked = true
		b.add(restoreSummary, run.chat, run.chat, run.chat, first)
		b.add(restoreAnswer, run.chat, first, run.id)
	}
	if asked {
		b.add(supersedeAsked, run.id, run.chat, run.id)
	}
	return nil
}

// Replaced returns the ids that a run has taken from earlier answers, with the text that
// each had, without tool markers. An unknown run has none.
func (s *Store) Replaced(ctx context.Context, runID string) ([]record.Replaced, error) {
	if !values.PlainText(runID) {
		return nil, nil
	}
	var stored []string
	if err := s.db.Read(ctx).Raw(selectReplaced, runID).Scan(&stored).Error; err != nil || len(stored) == 0 {
		return nil, s.db.Fault("replaced answers", err)
	}
	ids, err := replacedOf(stored[0])
	if err != nil {
		return nil, s.db.Fault("replaced answers", err)
	}
	var list []record.Replaced
	for _, r := range ids {
		if r.ID == "" {
			continue
		}
		var current []string
		err := s.db.Read(ctx).Raw(replacedText, runID, r.Message, r.Message, r.Run).Scan(&current).Error
		if err != nil {
			return nil, s.db.Fault("replaced answers", err)
		}
		if len(current) > 0 {
			list = append(list, record.Replaced{ID: r.ID, Text: text.WithoutMarkers(current[0])})
		}
	}
	return list, nil
}
