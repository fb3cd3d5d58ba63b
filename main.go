// Command chattray is the service behind a chat tray: a page sends a message,
// the service runs a bounded agent loop and streams typed events.
//
// This package owns the wiring: it reads the settings, builds every part and
// gives each what it needs. It is the only one that reads the environment and
// that imports more than one of the folders beside it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(untilSignal(), os.Args[1:], os.Environ, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chattray:", err)
		os.Exit(1)
	}
}

// untilSignal returns a context that ends with the first signal to stop. By then
// signals have their usual effect again: a second one ends the process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	return ctx
}

// run is the whole program, for main and for tests: it runs the command that
// args name until it is done or ctx ends. Getenv returns the environment as
// os.Environ does. Everything the program says goes to stdout; what went wrong
// is the error.
func run(ctx context.Context, args []string, getenv func() []string, stdout io.Writer) error {
	root := newRoot(&program{environ: getenv(), stdout: stdout})
	root.SetArgs(args)
	return root.ExecuteContext(ctx)
}
