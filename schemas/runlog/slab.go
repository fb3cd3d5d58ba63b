package runlog

// Slab makes values of one type from memory that is allocated for many at a
// time, because there is a body for each token that a model writes. The zero
// value is ready; it is not safe for concurrent use.
type Slab[T any] struct {
	free []T
	next int
}

// The number of values that are allocated at a time.
const (
	firstSlab = 4
	lastSlab  = 64
)

// New returns a pointer to a copy of v.
func (s *Slab[T]) New(v T) *T {
	if len(s.free) == 0 {
		s.next = min(max(firstSlab, 2*s.next), lastSlab)
		s.free = make([]T, s.next)
	}
	p := &s.free[0]
	s.free = s.free[1:]
	*p = v
	return p
}
