package store

import "gorm.io/gorm"

// MostStatements is the limit of Statements.
const MostStatements = mostStatements

// Statements returns how many statements for reading SQLite has prepared.
func (s *Store) Statements() int {
	db, _ := s.db.(*sqliteDB)
	pool, _ := db.reads.Statement.ConnPool.(*readPool)
	prepared, _ := pool.ConnPool.(*gorm.PreparedStmtDB)
	return len(prepared.Stmts.Keys())
}
