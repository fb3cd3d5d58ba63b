package agents

import (
	"sync"
	"time"
)

// clock counts down a call's time, except while the call waits in a queue.
type clock struct {
	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	since   time.Time // when the timer was started
	waiting int
	stopped bool
}

// startClock starts a clock that calls expired once when the time is up.
func startClock(left time.Duration, expired func()) *clock {
	return &clock{left: left, since: time.Now(), timer: time.AfterFunc(left, expired)}
}

// pause stops the clock until the returned function is called; pauses nest.
func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting++; c.waiting == 1 && !c.stopped {
		c.stopped = !c.timer.Stop() // too late: it has expired
		c.left -= time.Since(c.since)
	}
	return sync.OnceFunc(c.resume)
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting == 0 && !c.stopped {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// stop ends the clock for good.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.timer.Stop()
}
