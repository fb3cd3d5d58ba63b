package runs

// Work does f as work of a run.
func (r *Runs) Work(f func()) { r.work.Go(f) }
