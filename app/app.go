// Package app is the wiring: it reads the settings, builds every part and gives
// each part what it needs. Only app imports several of the top folders.
package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Program has what the process passes to the program.
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
// gets a signal to stop, and returns the exit code. The reason for a failure
// goes to Stderr.
func Main(p Program) int {
	if err := run(untilSignal(), &program{Program: p, alone: true}); err != nil {
		fmt.Fprintln(p.Stderr, "chattray:", err)
		return 1
	}
	return 0
}

// untilSignal returns a context that ends with the first signal to stop. After
// that, signals have their default effect: a second one ends the process at
// once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		signal.Notify(signals, syscall.SIGHUP) // the terminal is closed
	}
	go func() {
		<-signals
		signal.Stop(signals)
		cancel()
	}()
	return ctx
}

// Run runs the command that the arguments name until it is done or ctx ends.
// All output goes to Stdout; a failure is returned as the error. A process may
// run several programs at once.
func Run(ctx context.Context, p Program) error { return run(ctx, &program{Program: p}) }

func run(ctx context.Context, p *program) error {
	root := newRoot(p)
	refuseGroups(root)
	sayHelp(root)
	root.SetArgs(append([]string{}, p.Args...)) // never nil, for which those of the process would be taken
	return root.ExecuteContext(ctx)
}
