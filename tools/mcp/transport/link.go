package transport

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chattray/chattray/schemas/text"
)

// The limits of a call's progress. Steps beyond them are dropped; the loop limits their rate.
const (
	maxSteps    = 1_000
	maxStepText = 300 // characters
)

// Link is one connection with the requests that run over it. It is safe for concurrent use.
type Link struct {
	session *sdk.ClientSession
	process *process // nil for a remote server
	// ended is closed when the connection has ended.
	ended chan struct{}
	// tooLong is true if it ended because of a message over MaxMessage.
	tooLong atomic.Bool

	mu     sync.Mutex
	gone   bool
	number int
	calls  map[string]*activeCall // by progress token
}

// activeCall is a running call. A nil one is no call.
type activeCall struct {
	report func(message string, fraction float64) // nil for a request for the list of tools
	token  string                                 // of its progress
	cancel context.CancelCauseFunc
	steps  int
	id     jsonrpc.ID // of its request, once that is sent
	// isAnswered is true once the server has answered the request. The result of the answer
	// is set before, nil for an error.
	isAnswered atomic.Bool
	result     json.RawMessage
	// resumed is the event after which the stream of the answer was opened again, as often as
	// attempts says. Only the goroutine that reads the stream uses them.
	resumed  string
	attempts int
}

type callKey struct{}

// callOf returns the call that a request to the server belongs to, or nil.
func callOf(ctx context.Context) *activeCall {
	c, _ := ctx.Value(callKey{}).(*activeCall)
	return c
}

// fail ends the call with err, and returns err.
func (c *activeCall) fail(err error) error {
	if c != nil {
		c.cancel(err)
	}
	return err
}

// resumes notes that the stream of the answer is opened again after an event, and returns
// how often that was so for this event. It is 0 for other requests, which have no event.
func (c *activeCall) resumes(event string) int {
	if event == "" {
		return 0
	}
	if event != c.resumed {
		c.resumed, c.attempts = event, 0
	}
	c.attempts++
	return c.attempts
}

// errGone is the cause of calls that end because their connection ended.
var errGone = errors.New("mcp: the server disconnected during the call")

// errEnded is the error of a connection that the server closed.
var errEnded = errors.New("the server has ended the connection")

// Ended returns a channel that is closed when the connection has ended.
func (l *Link) Ended() <-chan struct{} { return l.ended }

// Err returns why the server has ended the connection.
func (l *Link) Err() error { return l.why(errEnded) }

// why returns the cause of the connection's end, or otherwise if that is not known.
func (l *Link) why(otherwise error) error {
	if l.tooLong.Load() {
		return ErrLongMessage
	}
	return otherwise
}

// watch closes ended when the session or the process does; Close joins it.
func (l *Link) watch() {
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

// Close cancels the calls and closes the connection. It returns when the process,
// if there is one, has ended too.
func (l *Link) Close() {
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

// begin registers a call. The context, of which callOf returns the call, ends with the
// connection or when the call fails; done is called when the call is over, and from then on
// nothing is reported. Without report it is a request for the list of tools; there is one at
// a time.
func (l *Link) begin(ctx context.Context, report func(message string, fraction float64)) (_ context.Context, c *activeCall, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		cancel(errGone)
	}
	c = &activeCall{report: report, cancel: cancel}
	if report != nil {
		l.number++
		c.token = strconv.Itoa(l.number)
	}
	l.calls[c.token] = c
	return context.WithValue(ctx, callKey{}, c), c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.calls, c.token)
		cancel(nil)
	}
}

// sends notes that a message with this id is sent for a call, if it belongs to one and has
// an id.
func (l *Link) sends(c *activeCall, id jsonrpc.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c != nil && id.IsValid() {
		c.id = id
	}
}

// answered notes the server's answer to a request.
func (l *Link) answered(a *jsonrpc.Response) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if c.id == a.ID && !c.isAnswered.Load() {
			c.result = a.Result
			c.isAnswered.Store(true)
		}
	}
}

// progress passes a notification to its call.
func (l *Link) progress(p *sdk.ProgressNotificationParams) {
	token, ok := p.ProgressToken.(string)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.calls[token]
	if c == nil || c.report == nil || c.steps >= maxSteps {
		return
	}
	c.steps++
	c.report(text.Printable(p.Message, maxStepText), fraction(p.Progress, p.Total))
}

// fraction returns done/total from 0 to 1, 0 if total is unknown.
func fraction(done, total float64) float64 {
	f := done / total
	if math.IsNaN(f) || total <= 0 {
		return 0
	}
	return min(max(f, 0), 1)
}
