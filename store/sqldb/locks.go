package sqldb

import "gorm.io/gorm/clause"

func (*sqliteDB) RowLock() []clause.Expression { return nil }

func (*postgresDB) RowLock() []clause.Expression {
	return []clause.Expression{clause.Locking{Strength: clause.LockingStrengthUpdate}}
}

func (*sqliteDB) sharedLock() string { return "" }

func (*postgresDB) sharedLock() string { return " FOR SHARE" }
