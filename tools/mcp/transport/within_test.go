package transport_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chattray/chattray/tools/mcp/transport"
)

// The list of a server that does one thing at a time waits for the call before it. Only then
// does its time count.
func TestListAfterALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, done := transport.Begun(t.Context())
		ctx, cancel := l.Within(t.Context(), time.Minute)
		defer cancel()
		<-time.After(10*time.Minute - time.Second)
		done()
		<-time.After(time.Minute)
		if err := ctx.Err(); err != nil {
			t.Errorf("a minute after the call: %v, want time for the list", err)
		}
		<-time.After(time.Minute)
		if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("two minutes after the call: %v, want the end of the list", err)
		}
	})
}

// A list has its limit if no call is under way, whatever calls come later.
func TestListBeforeALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, done := transport.Begun(t.Context())
		done()
		ctx, cancel := l.Within(t.Context(), time.Minute)
		defer cancel()
		<-time.After(time.Minute)
		synctest.Wait()
		if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after a minute: %v, want the end of the list", err)
		}
	})
}
