package runs

import "time"

// limit bounds the time of a run, without the time in which the run waits for its
// user. Only the run's goroutine uses it.
type limit struct {
	timer *time.Timer
	left  time.Duration
	since time.Time // when the timer was started
	waits int
}

// start calls expired once when the time is up.
func (l *limit) start(left time.Duration, expired func()) {
	l.left, l.since, l.timer = left, time.Now(), time.AfterFunc(left, expired)
}

// Pause stops the time until Resume has been called as often as Pause. An expired
// limit stays expired.
func (l *limit) Pause() {
	if l.waits++; l.waits == 1 && l.timer.Stop() {
		l.left -= time.Since(l.since)
		return
	}
	if l.waits == 1 {
		l.left = -1
	}
}

func (l *limit) Resume() {
	if l.waits--; l.waits == 0 && l.left >= 0 {
		l.since = time.Now()
		l.timer.Reset(l.left)
	}
}
