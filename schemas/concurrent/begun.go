package concurrent

import "sync"

// Begun are things by name that have begun and are not yet there. The zero value is ready
// to use.
type Begun struct {
	mu   sync.Mutex
	over map[string]chan struct{}
}

// Add says that a thing has begun.
func (b *Begun) Add(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over == nil {
		b.over = make(map[string]chan struct{})
	}
	if b.over[name] == nil {
		b.over[name] = make(chan struct{})
	}
}

// Done says that a thing is there, or will not be.
func (b *Begun) Done(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if over := b.over[name]; over != nil {
		delete(b.over, name)
		close(over)
	}
}

// Has reports whether a thing has begun and is not yet there.
func (b *Begun) Has(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over[name] != nil
}

// Wait waits for Done if the thing has begun.
func (b *Begun) Wait(name string) {
	b.mu.Lock()
	over := b.over[name]
	b.mu.Unlock()
	if over != nil {
		<-over
	}
}
