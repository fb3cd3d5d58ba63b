package pdftext

import (
	"encoding/json"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"time"
)

// childName is the first argument of a process that reads a file.
const childName = "chattray-pdf-text"

// The limits of a child that do not depend on the file.
const (
	maxFile     = 64 << 20
	maxStack    = 64 << 20
	memoryCheck = 5 * time.Millisecond
)

// The statuses with which a child ends early.
const (
	exitMemory = 40 + iota
	exitTime
	exitUsage
)

// result is what a child writes to its standard output.
type result struct {
	Text       string     `json:"text,omitempty"`
	Unreadable Unreadable `json:"unreadable,omitempty"`
}

// The children are this program, whatever it is: the service, or a test. This
// runs before main and before the program's flags are read.
func init() {
	if len(os.Args) == 5 && os.Args[0] == childName {
		os.Exit(child(os.Args[1:], os.Stdin, os.Stdout))
	}
}

// child reads the file from in and writes the result to out. It returns the status to
// exit with.
func child(args []string, in io.Reader, out io.Writer) int {
	pages, err1 := strconv.Atoi(args[0])
	maxText, err2 := strconv.Atoi(args[1])
	memory, err3 := strconv.ParseInt(args[2], 10, 64)
	limit, err4 := time.ParseDuration(args[3])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return exitUsage
	}
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(memory / 2)
	debug.SetTraceback("none")
	time.AfterFunc(limit, func() { os.Exit(exitTime) }) // in case the parent has ended
	go endAbove(uint64(max(memory, 0)))
	file, err := io.ReadAll(io.LimitReader(in, maxFile))
	if err != nil {
		return exitUsage
	}
	var read result
	read.Text, read.Unreadable = textOf(file, pages, maxText)
	to := json.NewEncoder(out)
	to.SetEscapeHTML(false) // the parent takes twice the text
	if to.Encode(read) != nil {
		return exitUsage
	}
	return 0
}

// endAbove ends the process when it uses more memory than the limit.
func endAbove(limit uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(memoryCheck) {
		metrics.Read(sample)
		if sample[0].Value.Uint64()-sample[1].Value.Uint64() > limit {
			os.Exit(exitMemory)
		}
	}
}
