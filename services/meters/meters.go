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
	// StoreBatch records a commit.
	StoreBatch(writes int, took time.Duration)
	// RunContained counts runs that are ended because they ended the process.
	RunContained()
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
func (None) StoreBatch(int, time.Duration) {}

// RunContained counts nothing.
func (None) RunContained() {}
