package record

import "time"

// Replica is one of the processes that serve a database.
type Replica struct {
	// ID identifies one start of the process, or one membership after it was
	// marked as gone; Name is for logs.
	ID, Name string
	// Alone is true if it must be the only one.
	Alone bool
	// Until is when the others may mark it as gone, by the database's clock.
	Until time.Time
}
