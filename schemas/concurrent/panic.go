package concurrent

import (
	"fmt"
	"runtime"
	"strings"
)

// MaxPanicText bounds a panic's value in an error, in bytes.
const MaxPanicText = 200

// panicFrames bounds how far PanicPlace looks.
const panicFrames = 16

// PanicError is a panic in a branch. Place is only for logs.
type PanicError struct {
	Value any
	Place string
}

// Error returns the panic's value as text.
func (e *PanicError) Error() string { return fmt.Sprintf("concurrent: a branch panicked: %v", e.Value) }

// PanicPlace returns file and line of the code that panicked. Logs have it
// instead of a stack, which could contain secrets. Only the deferred function
// that recovers may call it.
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
