// Package app is the wiring: it reads the settings, builds every part and gives
// each part what it needs. It is the one package that imports more than one of
// the folders beside it.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Program is what the process gives the program.
type Program struct {
	// Args are the arguments after the program's name.
	Args []string
	// Environ is the environment, as os.Environ returns it.
	Environ        []string
	Stdout, Stderr io.Writer
	// Contract is openapi.yaml, as the command openapi prints it.
	Contract []byte
}

// Main runs the command that the arguments name until it is done or the process
// gets a signal to stop, and returns the exit code. The reason of a failure goes
// to Stderr.
func Main(p Program) int {
	if err := Run(untilSignal(), p); err != nil {
		fmt.Fprintln(p.Stderr, "chattray:", err)
		return 1
	}
	return 0
}

// untilSignal returns a context that ends with the first signal to stop. From then
// on signals have their usual effect again: a second one ends the process at once.
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

// Run runs the command that the arguments name until it is done or ctx ends.
// Everything the program says goes to Stdout; what went wrong is the error.
func Run(ctx context.Context, p Program) error {
	root := newRoot(&program{Program: p})
	root.SetArgs(p.Args)
	return root.ExecuteContext(ctx)
}
