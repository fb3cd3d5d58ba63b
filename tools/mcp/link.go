package mcp

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/tools"
)

// The bounds of what a call says while it runs. Steps beyond are dropped; the
// loop bounds their rate.
const (
	maxSteps    = 1_000
	maxStepText = 300 // characters
)

// link is one connection with the calls that run over it.
type link struct {
	session *sdk.ClientSession
	process *process // nil for a remote server
	// ended is closed when the connection has ended.
	ended chan struct{}

	mu     sync.Mutex
	gone   bool
	number int
	calls  map[string]*activeCall // by progress token
}

// activeCall is a call under way.
type activeCall struct {
	call   *tools.Call
	cancel context.CancelCauseFunc
	steps  int
}

// errGone is the cause by which calls end with their connection.
var errGone = errors.New("mcp: the server went away during the call")

// watch closes ended when the session or the process does; end joins it.
func (l *link) watch() {
	go func() {
		defer close(l.ended)
		if l.process == nil {
			_ = l.session.Wait() // why it ended does not matter
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = l.session.Wait()
		}()
		select {
		case <-done:
		case <-l.process.exited:
			_ = l.session.Close()
			<-done
		}
	}()
}

// end cancels the calls and closes the connection; it returns when the process,
// if there is one, has ended too.
func (l *link) end() {
	l.mu.Lock()
	l.gone = true
	for _, c := range l.calls {
		c.cancel(errGone)
	}
	l.mu.Unlock()
	_ = l.session.Close() // there is nothing left to lose
	l.process.stop()
	<-l.ended
}

// begin notes a call and returns the token of its progress. The context ends
// with the connection; done is called when the call is over, and from then on
// nothing is reported.
func (l *link) begin(ctx context.Context, call *tools.Call) (_ context.Context, token string, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		cancel(errGone)
	}
	l.number++
	token = strconv.Itoa(l.number)
	l.calls[token] = &activeCall{call: call, cancel: cancel}
	return ctx, token, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.calls, token)
		cancel(nil)
	}
}

// progress hands a notification to its call.
func (l *link) progress(p *sdk.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[token]
	if c == nil || c.steps >= maxSteps {
		return
	}
	c.steps++
	c.call.Progress("running", plainText(p.Message, maxStepText), fraction(p.Progress, p.Total), nil)
}

// fraction is 0 where the whole is not known.
func fraction(done, total float64) float64 {
	f := done / total
	if math.IsNaN(f) || total <= 0 {
		return 0
	}
	return min(max(f, 0), 1)
}
