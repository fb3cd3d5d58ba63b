package apptest

import (
	"os"
	"testing"

	"github.com/chattray/chattray/app"
)

// asProgram in the environment makes a test binary the program itself.
const asProgram = "TEST_AS_PROGRAM"

// mayStart is true after Main has been called.
var mayStart bool

// Main is the TestMain of a package whose tests start the program with
// StartProcess: the process is the test's own binary.
func Main(m *testing.M) {
	mayStart = true
	if os.Getenv(asProgram) != "" {
		os.Exit(app.Main(app.Program{Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr}))
	}
	os.Exit(m.Run())
}
