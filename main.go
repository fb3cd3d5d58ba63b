// Command chattray is the service behind a chat tray: a page sends a message,
// the service runs a bounded agent loop and streams typed events.
package main

import (
	"os"

	"github.com/chattray/chattray/app"
)

func main() {
	os.Exit(app.Main(app.Program{
		Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Contract: contract,
	}))
}
