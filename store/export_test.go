package store

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/chattray/chattray/store/sqldb"
)

// OnRead calls f with each statement that reads through gorm, with its arguments in it.
func (s *Store) OnRead(f func(statement string)) error {
	ran := func(tx *gorm.DB) { f(tx.Explain(tx.Statement.SQL.String(), tx.Statement.Vars...)) }
	on := s.db.Read(context.Background()).Callback()
	return errors.Join(on.Query().After("gorm:query").Register("test:statement", ran), on.Row().After("gorm:row").Register("test:statement", ran))
}

// Plan returns how the database runs a statement that reads.
func (s *Store) Plan(explain, statement string) ([]map[string]any, error) {
	var rows []map[string]any
	err := s.db.Read(context.Background()).Raw(explain + statement).Scan(&rows).Error
	return rows, err
}

// Fill runs statements that write.
func (s *Store) Fill(statements ...string) error {
	ctx := context.Background()
	return s.db.Transact(ctx, func(tx sqldb.Session) error {
		if all, _ := s.db.Shared(); all != nil {
			statements = append([]string{"SET LOCAL statement_timeout = 0"}, statements...)
		}
		for _, statement := range statements {
			if err := tx.Each(ctx, statement, [][]any{nil}); err != nil {
				return err
			}
		}
		return nil
	})
}

// OnWrite calls f with each statement that writes through gorm, with its arguments in it.
func (s *Store) OnWrite(f func(statement string)) error {
	return s.db.Write(context.Background(), func(tx *gorm.DB) error {
		return tx.Callback().Raw().After("gorm:raw").Register("test:statement", func(tx *gorm.DB) { f(tx.Explain(tx.Statement.SQL.String(), tx.Statement.Vars...)) })
	})
}

// OnReadToWrite calls f with each statement that reads through gorm in a transaction that writes.
func (s *Store) OnReadToWrite(f func(statement string)) error {
	return s.db.Write(context.Background(), func(tx *gorm.DB) error {
		return tx.Callback().Row().After("gorm:row").Register("test:statement", func(tx *gorm.DB) { f(tx.Statement.SQL.String()) })
	})
}

const (
	// CurrentAnswer finds the answer that a queued run replaces.
	CurrentAnswer = currentAnswer
	// SupersedeAnswered replaces an answer and what follows it.
	SupersedeAnswered = supersedeAnswered
	// ReplacedWith finds the messages of a tail, CurrentVersion one of a branch.
	ReplacedWith, CurrentVersion = replacedWith, currentVersion
	// TakeRuns and TakeAllRuns take runs of some replicas and of all others.
	TakeRuns, TakeAllRuns = takeRuns, takeAllRuns
)

// RestoreSummary drops a summary that has a message of a tail.
func RestoreSummary() string { return statements[restoreSummary] }

// RestoreAnswer makes the messages of a tail current.
func RestoreAnswer() string { return statements[restoreAnswer] }
