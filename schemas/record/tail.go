package record

import "github.com/chattray/chattray/schemas"

// Noted is a segment of a run's events that its replica has written, and that is not
// in its final place yet.
type Noted struct {
	RunID   string
	Segment Segment
}

// Progress is how far an unfinished run of any replica is.
type Progress struct {
	ID      string
	State   schemas.RunState
	Attempt int
	Replica string
	// Held is true if the replica's lease is valid.
	Held bool
	// Through is the number of the last event in its final place, 0 for none.
	Through int64
}
