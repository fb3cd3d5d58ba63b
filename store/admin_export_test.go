package store

import (
	"context"

	"gorm.io/gorm"
)

// OnRead calls f with each statement that reads through gorm, with its arguments in it.
func (s *Store) OnRead(f func(statement string)) error {
	return s.db.read().Callback().Query().After("gorm:query").Register("test:statement", func(tx *gorm.DB) {
		f(tx.Explain(tx.Statement.SQL.String(), tx.Statement.Vars...))
	})
}

// Plan returns how the database runs a statement that reads.
func (s *Store) Plan(explain, statement string) ([]map[string]any, error) {
	var rows []map[string]any
	err := s.db.read().Raw(explain + statement).Scan(&rows).Error
	return rows, err
}

// Fill runs statements that write.
func (s *Store) Fill(statements ...string) error {
	return s.db.load(context.Background(), func(tx *gorm.DB) error {
		for _, statement := range statements {
			if err := tx.Exec(statement).Error; err != nil {
				return err
			}
		}
		return nil
	})
}
