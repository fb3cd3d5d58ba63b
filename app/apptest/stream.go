package apptest

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

// ChatFrame is one server-sent event of the dialect chat.
type ChatFrame struct {
	ID    int64
	Data  string
	Event ChatEvent
}

// ChatEvent has the fields of every event of the dialect chat.
type ChatEvent struct {
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

// Terminal reports whether the event is the last of a run.
func (e ChatEvent) Terminal() bool {
	return e.Type == schemas.TypeComplete || e.Type == schemas.TypeError || e.Type == schemas.TypeCancelled
}

// StreamReader reads the frames of one answer.
type StreamReader struct {
	body  io.ReadCloser
	lines *bufio.Reader
	Retry string // the last retry hint
	Last  int64  // the id that a browser would send as Last-Event-ID
	// Interrupted is whether the service has asked to come back.
	Interrupted bool
}

// NewStreamReader reads the body of an answer.
func NewStreamReader(body io.ReadCloser) *StreamReader {
	return &StreamReader{body: body, lines: bufio.NewReader(body)}
}

var errFrame = errors.New("a frame is malformed")

// Next returns the next frame; io.EOF means that the body ended properly.
func (r *StreamReader) Next() (ChatFrame, error) {
	var f ChatFrame
	var data []string
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return ChatFrame{}, err // lines without a blank line after them are not an event
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n" && data == nil:
			f = ChatFrame{}
		case line == "\n":
			f.Data = strings.Join(data, "\n")
			if err := json.Unmarshal([]byte(f.Data), &f.Event); err != nil || f.ID == 0 || len(data) != 1 {
				return f, errors.Join(errFrame, err)
			}
			return f, nil
		case name == "id":
			f.ID, err = strconv.ParseInt(value, 10, 64)
			if err != nil {
				return f, errors.Join(errFrame, err)
			}
			r.Last = f.ID
		case name == "data":
			data = append(data, value)
		case name == "retry":
			r.Retry = value
		case line == ": interrupted\n":
			r.Interrupted = true
		case name != "":
			return f, errFrame
		}
	}
}

// Rest reads to the end of the body.
func (r *StreamReader) Rest() ([]ChatFrame, error) {
	defer r.body.Close()
	var list []ChatFrame
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, f)
	}
}

// NewRequest makes a request with a JSON body (nil for none) and header fields
// (name, value, name, value …).
func NewRequest(ctx context.Context, method, url string, body any, header ...string) (*http.Request, error) {
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

// WithoutVoided returns the log without the events that recoveries have made
// void.
func WithoutVoided(log []ChatFrame) []ChatFrame {
	var list []ChatFrame
	for _, f := range log {
		if kept := f.Event.KeptThrough; kept != nil {
			for len(list) > 0 && list[len(list)-1].ID > *kept {
				list = list[:len(list)-1]
			}
		}
		list = append(list, f)
	}
	return list
}

// TextOf returns the text that a client shows after these events.
func TextOf(log []ChatFrame) string {
	var b strings.Builder
	for _, f := range log {
		switch {
		case f.Event.Type == schemas.TypeTextDelta && f.Event.Text != nil:
			b.WriteString(*f.Event.Text)
		case f.Event.KeptThrough != nil && f.Event.Text != nil:
			b.Reset()
			b.WriteString(*f.Event.Text)
		}
	}
	return b.String()
}

// JSON returns a value as JSON.
func JSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
