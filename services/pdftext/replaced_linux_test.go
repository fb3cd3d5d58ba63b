package pdftext_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chattray/chattray/services/pdftext"
)

// replaced is the environment of a program whose file is another one's by now.
const replaced = "CHATTRAY_TEST_REPLACED"

// A service whose file was replaced, as an upgrade does before the restart, reads PDF files
// with the program that runs.
func TestReplacedProgram(t *testing.T) {
	if path := os.Getenv(replaced); path != "" {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		text, err := read(t, pdftext.Limits{}, pages("BT /F 12 Tf (after an upgrade) Tj ET"))
		if err != nil || !strings.Contains(text, "after an upgrade") {
			t.Errorf("the text is %q, %v", text, err)
		}
		return
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), path, "-test.run=^TestReplacedProgram$")
	run.Env = append(os.Environ(), replaced+"="+path)
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
