package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
)

// sseFrame is one server-sent event of the dialect chat.
type sseFrame struct {
	id    int64
	data  string
	event wireEvent
}

// wireEvent has the fields of every event of the dialect chat.
type wireEvent struct {
	Type           string
	Message        string
	RunID          string `json:"run_id"`
	ConversationID int64  `json:"conversation_id"`
	UserMessageID  string `json:"user_message_id"`
	Attempt        int
	KeptThrough    *int64 `json:"kept_through"`
	Text           *string
	Tool           string
	ToolUseID      string `json:"tool_use_id"`
	Index          int
	IsError        bool `json:"is_error"`
	Code           schemas.Code
	MessageID      string `json:"message_id"`
	Payload        *schemas.ChatResponsePayload
}

func (e wireEvent) terminal() bool {
	return e.Type == schemas.TypeComplete || e.Type == schemas.TypeError || e.Type == schemas.TypeCancelled
}

// streamReader reads the frames of one answer.
type streamReader struct {
	body  io.ReadCloser
	lines *bufio.Reader
	retry string // the last hint
	last  int64  // what a browser would send as Last-Event-ID
}

func newStreamReader(body io.ReadCloser) *streamReader {
	return &streamReader{body: body, lines: bufio.NewReader(body)}
}

var errFrame = errors.New("a frame is not as it should be")

// next returns the next frame; io.EOF is the body's proper end.
func (r *streamReader) next() (sseFrame, error) {
	var f sseFrame
	var data []string
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return sseFrame{}, err // what has no blank line after it is no event
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n" && data == nil:
			f = sseFrame{}
		case line == "\n":
			f.data = strings.Join(data, "\n")
			if err := json.Unmarshal([]byte(f.data), &f.event); err != nil || f.id == 0 || len(data) != 1 {
				return f, errors.Join(errFrame, err)
			}
			return f, nil
		case name == "id":
			f.id, err = strconv.ParseInt(value, 10, 64)
			if err != nil {
				return f, errors.Join(errFrame, err)
			}
			r.last = f.id
		case name == "data":
			data = append(data, value)
		case name == "retry":
			r.retry = value
		case name != "":
			return f, errFrame
		}
	}
}

// rest reads to the end of the body.
func (r *streamReader) rest() ([]sseFrame, error) {
	defer r.body.Close()
	var list []sseFrame
	for {
		f, err := r.next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, f)
	}
}

// request makes a request with a JSON body (nil for none) and header fields
// (name, value, name, value …).
func request(ctx context.Context, method, url string, body any, header ...string) (*http.Request, error) {
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, r)
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return req, nil
}

// unvoided is what counts of a log: without the events that a recovery made
// void.
func unvoided(log []sseFrame) []sseFrame {
	var list []sseFrame
	for _, f := range log {
		if kept := f.event.KeptThrough; kept != nil {
			for len(list) > 0 && list[len(list)-1].id > *kept {
				list = list[:len(list)-1]
			}
		}
		list = append(list, f)
	}
	return list
}

// textOf is the text that a client shows after these events.
func textOf(log []sseFrame) string {
	var b strings.Builder
	for _, f := range log {
		switch {
		case f.event.Type == schemas.TypeTextDelta && f.event.Text != nil:
			b.WriteString(*f.event.Text)
		case f.event.KeptThrough != nil && f.event.Text != nil:
			b.Reset()
			b.WriteString(*f.event.Text)
		}
	}
	return b.String()
}
