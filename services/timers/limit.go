// Package timers has the two clocks of a run: the limit of its time, which pauses
// while it waits for its user, and the grace in which a reader may come back.
package timers

import "time"

// Limit bounds the time of a run in all its attempts, not counting the time in which the
// run waits for its user. Only the run's goroutine uses it.
type Limit struct {
	timer *time.Timer
	used  time.Duration // by earlier attempts and by this one, up to since
	since time.Time     // when the timer was started
	total time.Duration
	waits int
	over  bool // it has expired
}

// Restore sets the time that earlier attempts have used, before Start.
func (l *Limit) Restore(used time.Duration) { l.used = used }

// Start calls expired once when the time is up.
func (l *Limit) Start(total time.Duration, expired func()) {
	l.total, l.since = total, time.Now()
	l.timer = time.AfterFunc(max(total-l.used, 0), expired)
}

// Stop ends a limit that was started.
func (l *Limit) Stop() { l.timer.Stop() }

// Used returns the time that all attempts have used.
func (l *Limit) Used() time.Duration {
	if l.timer == nil || l.waits > 0 {
		return l.used
	}
	return l.used + time.Since(l.since)
}

// Pause stops the time until Resume has been called as often as Pause. An expired
// limit stays expired.
func (l *Limit) Pause() {
	if l.waits == 0 {
		l.used = l.Used()
		l.over = l.over || !l.timer.Stop()
	}
	l.waits++
}

// Resume continues the time.
func (l *Limit) Resume() {
	if l.waits--; l.waits > 0 {
		return
	}
	l.since = time.Now()
	if !l.over {
		l.timer.Reset(max(l.total-l.used, 0))
	}
}
