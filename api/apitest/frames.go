package apitest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

// Frame is one event of a stream. Type is the event's type, or in the dialect
// messages the frame's type (for an event its name). Data is its JSON.
type Frame struct {
	ID   int64
	Type string
	Data json.RawMessage
}

// CheckFrames parses a body of text/event-stream in either dialect and checks
// the rules for each part of a run: LF only, whole frames of one id line and
// one data line, ids that increase, data that fits the contract, and nothing
// after a terminal event. It returns the frames.
func (c Contract) CheckFrames(t testing.TB, body []byte) []Frame {
	t.Helper()
	if bytes.ContainsRune(body, '\r') {
		t.Error("the stream has a carriage return")
	}
	if len(body) > 0 && !bytes.HasSuffix(body, []byte("\n\n")) {
		t.Errorf("the stream does not end with a whole frame: ...%q", body[max(0, len(body)-40):])
	}
	var frames []Frame
	for block := range strings.SplitSeq(strings.TrimRight(string(body), "\n"), "\n\n") {
		if f, ok := c.frame(t, block); ok {
			frames = append(frames, f)
		}
	}
	for i, f := range frames {
		if i > 0 && f.ID <= frames[i-1].ID {
			t.Errorf("id %d comes after id %d", f.ID, frames[i-1].ID)
		}
		if terminal(f) && i < len(frames)-1 {
			t.Errorf("%s (id %d) is not the last event", f.Type, f.ID)
		}
	}
	return frames
}

// frame parses the lines between two blank lines; comments and retry hints
// alone are not a frame.
func (c Contract) frame(t testing.TB, block string) (Frame, bool) {
	t.Helper()
	var f Frame
	ids, datas := 0, 0
	for line := range strings.SplitSeq(block, "\n") {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "", "retry":
		case "id":
			ids++
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				t.Errorf("id %q is not a number", value)
			}
			f.ID = n
		case "data":
			datas++
			f.Data = json.RawMessage(value)
		default:
			t.Errorf("the stream has the line %q", line)
		}
	}
	if datas == 0 {
		return f, false
	}
	if ids != 1 || datas != 1 {
		t.Errorf("a frame has %d ids and %d data lines, want one of each:\n%s", ids, datas, block)
	}
	f.Type = c.event(t, f.ID, f.Data)
	return f, true
}

// event checks one event and returns its type.
func (c Contract) event(t testing.TB, id int64, data []byte) string {
	t.Helper()
	var head struct {
		Type    string `json:"type"`
		ChunkID string `json:"chunk_id"`
		Props   struct {
			Event string          `json:"event"`
			Data  json.RawMessage `json:"data"`
		} `json:"props"`
		Metadata struct {
			Sequence int64 `json:"sequence"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		t.Errorf("data is not a JSON object: %v in %s", err, data)
		return ""
	}
	if head.ChunkID != "" {
		c.CheckJSON(t, "MessageFrame", data)
		if head.Metadata.Sequence != id || head.ChunkID != "C"+strconv.FormatInt(id, 10) {
			t.Errorf("the data of frame %d has other ids: %s", id, data)
		}
		if head.Type != "event" {
			return head.Type
		}
		if head.Props.Event == streamEnd {
			c.CheckJSON(t, "StreamEnd", head.Props.Data)
		}
		return head.Props.Event
	}
	ref, ok := c.Components.Schemas["ChatEvent"].Value.Discriminator.Mapping[head.Type]
	if !ok {
		t.Errorf("the contract has no event type %q", head.Type)
		return head.Type
	}
	c.CheckJSON(t, strings.TrimPrefix(ref.Ref, "#/components/schemas/"), data)
	return head.Type
}

// streamEnd is the terminal event of the dialect messages.
const streamEnd = "stream_end"

func terminal(f Frame) bool {
	return f.Type == streamEnd || f.Type == "complete" || f.Type == "error" || f.Type == "cancelled"
}

// CheckRun checks the frames of a whole run with one attempt in the dialect
// chat: the first is a status with the ids, only the last is terminal, and all
// text joined gives the answer.
func CheckRun(t testing.TB, frames []Frame) {
	t.Helper()
	if len(frames) == 0 {
		t.Error("the run has no events")
		return
	}
	var first struct {
		RunID string `json:"run_id"`
	}
	_ = json.Unmarshal(frames[0].Data, &first)
	if frames[0].ID != 1 || frames[0].Type != "status" || first.RunID == "" {
		t.Errorf("the first event is %d %s, want 1 and a status with run_id", frames[0].ID, frames[0].Data)
	}
	last := frames[len(frames)-1]
	if !terminal(last) {
		t.Errorf("the last event is %s, want a terminal one", last.Type)
	}
	if last.Type != "complete" {
		return
	}
	var text strings.Builder
	for _, f := range frames {
		var delta struct {
			Text string `json:"text"`
		}
		if f.Type == "text_delta" && json.Unmarshal(f.Data, &delta) == nil {
			text.WriteString(delta.Text)
		}
	}
	var answer struct {
		Payload struct {
			Message string `json:"message"`
		} `json:"payload"`
	}
	_ = json.Unmarshal(last.Data, &answer)
	if got, want := strings.TrimSpace(text.String()), strings.TrimSpace(answer.Payload.Message); got != want {
		t.Errorf("all text_delta joined give %q, want payload.message %q", got, want)
	}
}
