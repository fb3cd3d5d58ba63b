package agents

import (
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/time/rate"

	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// The limits of a call's progress. A burst of steps is shown completely, and
// after it only the newest step of each interval. The last step is always
// shown.
const (
	progressBurst    = 20
	progressInterval = 100 * time.Millisecond
	// maxProgressText is the longest stage or message, maxProgressData the
	// largest data, in bytes; larger data is left out.
	maxProgressText = 2 << 10
	maxProgressData = 64 << 10
)

// progress holds a call's steps until the loop takes them: at most a burst and
// the newest one. Reporting never blocks a tool.
type progress struct {
	bell chan struct{}

	mu      sync.Mutex
	limit   *rate.Limiter
	due     []turn.Progress
	held    *turn.Progress // the newest step beyond the rate
	reached float64        // the highest fraction
	closed  bool
}

func (p *progress) init(bell chan struct{}) {
	p.bell = bell
	p.limit = rate.NewLimiter(rate.Every(progressInterval), progressBurst)
}

// report takes a step from the tool.
func (p *progress) report(step turn.Progress) {
	step.Stage, step.Message = text.Bytes(step.Stage, maxProgressText), text.Bytes(step.Message, maxProgressText)
	if len(step.Data) > maxProgressData || !json.Valid(step.Data) {
		step.Data = nil
	} else if !utf8.Valid(step.Data) {
		step.Data = validUTF8(step.Data)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if step.Fraction > p.reached { // false for NaN
		p.reached = min(step.Fraction, 1)
	}
	step.Fraction = p.reached
	if p.held == nil && len(p.due) < progressBurst && p.limit.Allow() {
		p.due = append(p.due, step)
	} else {
		p.held = &step
	}
	select {
	case p.bell <- struct{}{}:
	default:
	}
}

// take returns the steps that are due, and whether one is held back. With last
// it returns that step too and closes the call's progress.
func (p *progress) take(last bool) (due []turn.Progress, held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	due, p.due = p.due, nil
	if p.held != nil && (last || p.limit.Allow()) {
		due = append(due, *p.held)
		p.held = nil
	}
	p.closed = p.closed || last
	return due, p.held != nil
}
