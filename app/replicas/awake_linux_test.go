package replicas

import (
	"runtime"
	"syscall"
	"time"
)

// stayAwake keeps the tests' process awake until stop is called. An idle process is woken
// by timers only once in a millisecond, so that tokens which are written at times of their
// own would come several at a time.
func stayAwake() (stop func()) {
	over := make(chan struct{})
	go func() {
		moment := syscall.NsecToTimespec(int64(100 * time.Microsecond))
		for {
			select {
			case <-over:
				return
			default:
				_ = syscall.Nanosleep(&moment, nil)
				runtime.Gosched()
			}
		}
	}()
	return func() { close(over) }
}
