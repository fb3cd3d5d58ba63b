package waits

import "sync"

// Wakeups wake the waiting calls of a run, by index. The zero value is ready; it is
// safe for concurrent use.
type Wakeups struct {
	mu      sync.Mutex
	each    map[int]chan struct{}
	waiting int // calls that wait
}

// of returns the bell of the call: a channel with one slot and no data.
func (w *Wakeups) of(index int) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.each == nil {
		w.each = make(map[int]chan struct{})
	}
	if w.each[index] == nil {
		w.each[index] = make(chan struct{}, 1)
	}
	return w.each[index]
}

// Awaited reports whether a call waits.
func (w *Wakeups) Awaited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting > 0
}

// wait counts a call that waits, until done is called.
func (w *Wakeups) wait() (done func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.waiting--
	}
}

// Ring wakes the call: its answer is stored.
func (w *Wakeups) Ring(index int) {
	select {
	case w.of(index) <- struct{}{}:
	default:
	}
}
