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

// The limits of a call's progress. Steps beyond them are dropped; the loop limits their rate.
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

// activeCall is a running call.
type activeCall struct {
	call   *tools.Call
	cancel context.CancelCauseFunc
	steps  int
}

// errGone is the cause of calls that end because their connection ended.
var errGone = errors.New("mcp: the server disconnected during the call")

// watch closes ended when the session or the process does; end joins it.
func (l *link) watch() {
	go func() {
		defer close(l.ended)
		if l.process == nil {
			_ = l.session.Wait() // the reason does not matter
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

// end cancels the calls and closes the connection. It returns when the process,
// if there is one, has ended too.
func (l *link) end() {
	l.mu.Lock()
	l.gone = true
	for _, c := range l.calls {
		c.cancel(errGone)
	}
	l.mu.Unlock()
	_ = l.session.Close() // a failing close loses nothing
	l.process.stop()
	<-l.ended
}

// begin registers a call and returns the token of its progress. The context
// ends with the connection; done is called when the call is over, and from then
// on nothing is reported.
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

// progress passes a notification to its call.
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

// fraction returns done/total, 0 if total is unknown.
func fraction(done, total float64) float64 {
	f := done / total
	if math.IsNaN(f) || total <= 0 {
		return 0
	}
	return min(max(f, 0), 1)
}
