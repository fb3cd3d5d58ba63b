package concurrent

import (
	"fmt"
	"runtime"
	"strings"
)

// panicFrames bounds how far PanicPlace looks.
const panicFrames = 16

// PanicError is a panic in a branch. Place is for logs alone.
type PanicError struct {
	Value any
	Place string
}

// Error says what the panic said.
func (e *PanicError) Error() string { return fmt.Sprintf("concurrent: a branch panicked: %v", e.Value) }

// PanicPlace returns file and line of the code that panicked. Logs say it in
// place of a stack, which they never hold. It
// is called by the deferred function that recovers.
func PanicPlace() string {
	var pcs [panicFrames]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
