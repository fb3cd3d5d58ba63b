package documents

import "time"

// At sets the clock of documents.
func (d *Documents) At(now func() time.Time) *Documents {
	d.now = now
	return d
}

// ErrWithdrawn is the error of a draft that the user has withdrawn.
var ErrWithdrawn = errWithdrawn
