package dialects

import "github.com/chattray/chattray/schemas/runlog"

// AppendMessagesFrame appends the frame of an event in the dialect messages.
func AppendMessagesFrame(dst []byte, e *runlog.Event) []byte {
	return appendMessages(dst, e, new(Reader))
}
