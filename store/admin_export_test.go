package store

import (
	"context"
	"errors"

	"gorm.io/gorm"
)

// OnRead calls f with each statement that reads through gorm, with its arguments in it.
func (s *Store) OnRead(f func(statement string)) error {
	ran := func(tx *gorm.DB) { f(tx.Explain(tx.Statement.SQL.String(), tx.Statement.Vars...)) }
	on := s.db.read().Callback()
	return errors.Join(on.Query().After("gorm:query").Register("test:statement", ran), on.Row().After("gorm:row").Register("test:statement", ran))
}

// Plan returns how the database runs a statement that reads.
func (s *Store) Plan(explain, statement string) ([]map[string]any, error) {
	var rows []map[string]any
	err := s.db.read().Raw(explain + statement).Scan(&rows).Error
	return rows, err
}

// Fill runs statements that write.
func (s *Store) Fill(statements ...string) error {
	return s.db.write(context.Background(), func(tx *gorm.DB) error {
		if _, ok := s.db.(*postgresDB); ok {
			statements = append([]string{unbounded}, statements...)
		}
		for _, statement := range statements {
			if err := tx.Exec(statement).Error; err != nil {
				return err
			}
		}
		return nil
	})
}
