package concurrent

import "sync"

// MaxAbandoned bounds the abandoned calls of one function.
const MaxAbandoned = 16

// Abandoned counts the calls that still run although their callers have gone on, by the
// name of the function. The zero value is ready; it is safe for concurrent use.
type Abandoned struct {
	mu    sync.Mutex
	calls map[string]int
}

// Full reports whether the function has as many abandoned calls as it may have.
func (a *Abandoned) Full(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[name] >= MaxAbandoned
}

// Call returns a call of the function that may be abandoned. It has not begun.
func (a *Abandoned) Call(name string) *AbandonedCall { return &AbandonedCall{all: a, name: name} }

// AbandonedCall is a call that may be abandoned.
type AbandonedCall struct {
	all           *Abandoned
	name          string
	running, left bool
}

// Begins is for when the function begins.
func (c *AbandonedCall) Begins() { c.change(func() { c.running = true }) }

// Ends is for when the function ends.
func (c *AbandonedCall) Ends() { c.change(func() { c.running = false }) }

// Leaves is for when the caller goes on. It reports whether the function still runs.
func (c *AbandonedCall) Leaves() bool { return c.change(func() { c.left = true }) }

// change changes the call's state and reports whether it is now abandoned.
func (c *AbandonedCall) change(do func()) (now bool) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	was := c.running && c.left
	do()
	now = c.running && c.left
	switch {
	case now && !was:
		if c.all.calls == nil {
			c.all.calls = make(map[string]int)
		}
		c.all.calls[c.name]++
	case was && !now:
		if c.all.calls[c.name]--; c.all.calls[c.name] == 0 {
			delete(c.all.calls, c.name)
		}
	}
	return now
}
