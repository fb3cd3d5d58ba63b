package services

// NoStore is a store that must not be asked.
type NoStore struct{ runsStore }

// Work does f as work of a run.
func (r *Runs) Work(f func()) { r.work.Go(f) }
