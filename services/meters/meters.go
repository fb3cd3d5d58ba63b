// Package meters declares what is counted about runs.
package meters

import "time"

// Runs is told what happens to runs.
type Runs interface {
	RunStarted()
	RunEnded(outcome string, took time.Duration)
	// FirstToken records the time from the run's start to its first text.
	FirstToken(took time.Duration)
	// Event counts events of logs.
	Event(n int)
	// StoreBatch records a commit, and its error.
	StoreBatch(writes int, took time.Duration, err error)
	// RunContained counts runs that are ended because they ended the process.
	RunContained()
}

// Readers is told what the readers of other processes' runs cost.
type Readers interface {
	// Mirrors adds change to the number of mirrors that are fed in that way.
	Mirrors(via string, change int)
	// MirrorGap counts gaps in what a mirror was fed.
	MirrorGap()
	// MirrorLag records the time from an event to its arrival in a mirror.
	MirrorLag(took time.Duration)
	// Tail records a look at what other processes have stored.
	Tail(took time.Duration)
}

// Bus is told about the messages between processes.
type Bus interface {
	// BusUp records whether messages can be sent.
	BusUp(up bool)
	// BusMessage counts a message of a kind, which was sent or has come.
	BusMessage(kind string, sent bool, bytes int)
}

// None counts nothing.
type None struct{}

// RunStarted counts nothing.
func (None) RunStarted() {}

// RunEnded counts nothing.
func (None) RunEnded(string, time.Duration) {}

// FirstToken counts nothing.
func (None) FirstToken(time.Duration) {}

// Event counts nothing.
func (None) Event(int) {}

// StoreBatch counts nothing.
func (None) StoreBatch(int, time.Duration, error) {}

// RunContained counts nothing.
func (None) RunContained() {}

// Mirrors counts nothing.
func (None) Mirrors(string, int) {}

// MirrorGap counts nothing.
func (None) MirrorGap() {}

// MirrorLag counts nothing.
func (None) MirrorLag(time.Duration) {}

// Tail counts nothing.
func (None) Tail(time.Duration) {}

// BusUp counts nothing.
func (None) BusUp(bool) {}

// BusMessage counts nothing.
func (None) BusMessage(string, bool, int) {}
