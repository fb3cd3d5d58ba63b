package record

import "time"

// Replica is one of the processes that serve a database.
type Replica struct {
	// ID is of one start of the process, or of one membership after it was taken for
	// dead; Name is for logs.
	ID, Name string
	// Alone says that it is to be the only one.
	Alone bool
	// Until is when the others may take it for dead, by the database's clock.
	Until time.Time
}
