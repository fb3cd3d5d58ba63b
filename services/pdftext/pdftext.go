// Package pdftext reads the text of PDF files. A file comes from outside, and
// its reader may loop, fill the memory or overflow the stack. Each file is
// therefore read by a process of its own: this program again, without its
// environment, which ends when it exceeds its limits.
package pdftext

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
)

// Limits bound what a PDF file may cost. Fields that are 0 have defaults, except Pages.
type Limits struct {
	// Pages is the most pages of a file; 0 takes no PDF files.
	Pages int
	// Time is how long the files of one message may be read, including the wait
	// for their turn.
	Time time.Duration
	// Memory is the bytes that reading a file may take.
	Memory int64
	// Processes is how many files may be read at once.
	Processes int
}

// The default limits.
const (
	defaultTime      = 10 * time.Second
	defaultMemory    = 256 << 20
	defaultProcesses = 2
)

// Unreadable is why a file has no text for the model, in words that follow the
// file's name.
type Unreadable string

func (u Unreadable) Error() string { return "the PDF file " + string(u) }

// The reasons that do not depend on limits.
const (
	encrypted Unreadable = "is encrypted; remove its password"
	broken    Unreadable = "cannot be read; it is broken, or not a PDF file"
	textless  Unreadable = "has no text; send pictures of scanned pages"
	costly    Unreadable = "takes too much time or memory to read; send a smaller one"
	refused   Unreadable = "is not taken here; send its text"
)

// childEnv is the environment of the child: not that of the service, which has keys.
var childEnv = []string{}

var errCrowded = &schemas.Error{Code: schemas.CodeTooManyRequests, Message: "too many PDF files are being read; try again in a moment", RetryAfter: 5}

// Reader reads PDF files. It is safe for concurrent use.
type Reader struct {
	limits Limits
	users  concurrent.Locks // whose files are being read
	slots  chan struct{}
}

// New returns a Reader with these limits.
func New(l Limits) *Reader {
	l.Time, l.Memory, l.Processes = cmp.Or(l.Time, defaultTime), cmp.Or(l.Memory, defaultMemory), cmp.Or(l.Processes, defaultProcesses)
	return &Reader{limits: l, slots: make(chan struct{}, l.Processes)}
}

// Texts returns the text of each file, with a line before each page. The files
// share the limit of time, and maxText, in bytes. The error is an Unreadable
// with the index of its file, or says that too many files are being read, or
// that no process can be started. Of each user one file is read at a time.
func (r *Reader) Texts(ctx context.Context, user string, files [][]byte, maxText int) ([]string, int, error) {
	if r == nil || r.limits.Pages == 0 {
		return nil, 0, refused
	}
	limited, cancel := context.WithTimeout(ctx, r.limits.Time)
	defer cancel()
	began := time.Now()
	turn, err := r.users.Lock(limited, user)
	if ctx.Err() != nil {
		return nil, 0, context.Cause(ctx)
	}
	if err != nil {
		return nil, 0, errCrowded
	}
	defer turn()
	texts, waited := make([]string, len(files)), time.Since(began)
	for i, file := range files {
		text, err := r.text(limited, file, maxText, &waited)
		if ctx.Err() != nil {
			return nil, i, context.Cause(ctx)
		}
		if err != nil {
			return nil, i, err
		}
		texts[i] = text
		maxText -= len(text)
	}
	return texts, 0, nil
}

// text reads one file when it is its turn, and adds to waited how long that took.
func (r *Reader) text(ctx context.Context, file []byte, maxText int, waited *time.Duration) (string, error) {
	began := time.Now()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return "", errCrowded
	}
	*waited += time.Since(began)
	program, err := executable()
	if err != nil {
		return "", fmt.Errorf("read a PDF file: %w", err)
	}
	out := &bounded{left: 2*maxText + 1024}    // JSON escapes line ends and quotation marks
	child := exec.CommandContext(ctx, program) //nolint:gosec // G204: this program itself
	child.Args = []string{childName, strconv.Itoa(r.limits.Pages), strconv.Itoa(maxText), strconv.FormatInt(r.limits.Memory, 10), r.limits.Time.String()}
	child.Env = childEnv
	child.Stdin, child.Stdout, child.WaitDelay = bytes.NewReader(file), out, time.Second
	err = child.Run()
	switch {
	case ctx.Err() != nil && *waited > r.limits.Time/2:
		return "", errCrowded
	case ctx.Err() != nil:
		return "", costly
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if exit.ExitCode() == exitMemory {
			return "", costly
		}
		return "", broken
	}
	if err != nil {
		return "", fmt.Errorf("read a PDF file: %w", err)
	}
	var read result
	if err := json.Unmarshal(out.kept.Bytes(), &read); err != nil {
		return "", broken
	}
	if read.Unreadable != "" {
		return "", read.Unreadable
	}
	return read.Text, nil
}

// executable returns a path of this program. On Linux that is the program that runs, even if
// an upgrade has replaced its file.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// bounded is a buffer with a limit of bytes. It is written to and never reads by itself, as
// a bytes.Buffer does.
type bounded struct {
	kept bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("too much output")
	}
	return b.kept.Write(p)
}
