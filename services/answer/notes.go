package answer

import (
	"sync"

	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
)

// note is what the goroutine of a tool has to know about its call.
type note struct {
	start     *eventlog.Commit // the write with its start, nil for a call that may run again
	edited    bool             // the user has changed its input
	draft     *documents.Draft // what it has written while the model wrote it, nil for nothing
	elsewhere bool             // it may not write, because another run does
}

// notes are the notes of calls, by index. The run's goroutine writes them, those of tools
// read them. The zero value is ready.
type notes struct {
	mu   sync.Mutex
	each map[int]note
}

// change changes the note of a call.
func (n *notes) change(index int, change func(*note)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.each == nil {
		n.each = make(map[int]note)
	}
	changed := n.each[index]
	change(&changed)
	n.each[index] = changed
}

// of returns the note of a call.
func (n *notes) of(index int) note {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.each[index]
}
