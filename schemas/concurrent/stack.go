package concurrent

import "fmt"

// OnFreshStack calls do on a new goroutine and waits for it, so that the caller
// does not keep do's deep stack for as long as it streams: 2 KiB instead of 8
// after a request was decoded (BenchmarkOnFreshStack). A panic is returned as
// an error.
func OnFreshStack(do func() error) (err error) {
	done := make(chan struct{})
	go func() {
		GrowStack()
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic at %s: %.*s", PanicPlace(), MaxPanicText, fmt.Sprint(p))
			}
		}()
		err = do()
	}()
	<-done
	return err
}

// GrowStack gives a goroutine that has just begun a stack of 8 KiB, which it would get in
// steps. Each step copies what is on the stack and adjusts every frame of it: of a request
// that is decoded on a new goroutine that is a third of the time (BenchmarkGrowStack).
func GrowStack() { takeStack(0) }

// GrowDeepStack does the same with 16 KiB: for goroutines that check something against a
// schema, which takes 4 KiB for each level of it (BenchmarkCheck).
func GrowDeepStack() { takeDeepStack(0) }

//go:noinline
func takeStack(at int) byte {
	var room [4500]byte // as one frame it makes the stack grow to what has room for it
	return room[at]
}

//go:noinline
func takeDeepStack(at int) byte {
	var room [9000]byte
	return room[at]
}
