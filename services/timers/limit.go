// Package timers has the two clocks of a run: the limit of its time, which pauses
// while it waits for its user, and the grace in which a reader may come back.
package timers

import "time"

// Limit bounds the time of a run, not counting the time in which the run waits
// for its user. Only the run's goroutine uses it.
type Limit struct {
	timer *time.Timer
	left  time.Duration
	since time.Time // when the timer was started
	waits int
}

// Start calls expired once when the time is up.
func (l *Limit) Start(left time.Duration, expired func()) {
	l.left, l.since, l.timer = left, time.Now(), time.AfterFunc(left, expired)
}

// Stop ends a limit that was started.
func (l *Limit) Stop() { l.timer.Stop() }

// Pause stops the time until Resume has been called as often as Pause. An expired
// limit stays expired.
func (l *Limit) Pause() {
	if l.waits++; l.waits == 1 && l.timer.Stop() {
		l.left -= time.Since(l.since)
		return
	}
	if l.waits == 1 {
		l.left = -1
	}
}

// Resume continues the time.
func (l *Limit) Resume() {
	if l.waits--; l.waits == 0 && l.left >= 0 {
		l.since = time.Now()
		l.timer.Reset(l.left)
	}
}
