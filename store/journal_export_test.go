package store

// Noted is what one commit writes to the journal, in bytes by run, and which runs it ends.
type Noted struct {
	Runs  map[string]int
	Ended []string
}

// Grown reports after which of these commits the journal is tidied.
func Grown(commits []Noted) []bool {
	var j journalSize
	tidied := make([]bool, len(commits))
	for i, c := range commits {
		size := 0
		for _, bytes := range c.Runs {
			size += bytes
		}
		j.grow(noted{map[string]int{"": size}, c.Runs}, c.Ended)
		tidied[i] = j.grown() != nil
	}
	return tidied
}

// ToTidy returns the replicas whose rows the next commit tidies.
func (s *Store) ToTidy() []string { return s.journal.grown() }

// CancelsWait reports whether cancels join others that are about to be stored.
func (s *Store) CancelsWait() bool {
	s.cancels.mu.Lock()
	defer s.cancels.mu.Unlock()
	return s.cancels.next != nil
}
