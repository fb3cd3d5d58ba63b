package mcp

import "sync"

// maxAbandoned bounds the abandoned calls of one tool.
const maxAbandoned = 16

// abandoned counts the calls that still run although their callers have an answer, by
// tool. It is safe for concurrent use.
type abandoned struct {
	mu    sync.Mutex
	calls map[string]int
}

// full reports whether the tool has as many abandoned calls as it may have.
func (a *abandoned) full(tool string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.calls[tool] >= maxAbandoned
}

// servedCall is a call that may be abandoned.
type servedCall struct {
	all           *abandoned
	tool          string
	running, left bool
}

// begins, ends and leaves are called when the tool begins and ends, and when nobody waits
// for it any longer. leaves reports whether it still runs then.
func (c *servedCall) begins()      { c.change(func() { c.running = true }) }
func (c *servedCall) ends()        { c.change(func() { c.running = false }) }
func (c *servedCall) leaves() bool { return c.change(func() { c.left = true }) }

// change changes the call's state and reports whether it is now abandoned.
func (c *servedCall) change(do func()) (now bool) {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	was := c.running && c.left
	do()
	now = c.running && c.left
	switch {
	case now && !was:
		c.all.calls[c.tool]++
	case was && !now:
		c.all.calls[c.tool]--
	}
	return now
}
