package agui

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// answers are the answers of a request to calls of a run that wait.
type answers struct {
	run  string
	list []record.CallAnswer
	// brought are the calls whose results came as tool messages.
	brought map[int]bool
	// resolves says that an answer is more than a cancellation.
	resolves bool
	// at returns where the input has the answer to a call.
	at func(index int) string
	// named is the pointer of the id that names the run.
	named string
}

// cancelled is the outcome of a call of the page that its user has cancelled.
const cancelled = "The user cancelled this call."

// answers returns what resume and tool messages, the last one first, answer; nil if they
// answer nothing.
func (in *input) answers(c *wires.Call, messages []*asked) (*answers, error) {
	a := &answers{brought: make(map[int]bool)}
	a.at = func(index int) string { return in.answerTo(wires.CallID(a.run, index)) }
	name := func(call, pointer string) {
		if run, _, ok := wires.ParseCall(call); ok || a.run == "" {
			a.run, a.named = run, pointer
		}
	}
	for _, m := range messages {
		at := slices.IndexFunc(in.Messages, func(other asked) bool { return other.Role == "tool" && other.ToolCallID == m.ToolCallID })
		name(m.ToolCallID, "/messages/"+strconv.Itoa(at)+"/toolCallId")
	}
	for i, r := range in.Resume {
		name(r.InterruptID, "/resume/"+strconv.Itoa(i)+"/interruptId")
	}
	switch {
	case len(messages) == 0 && len(in.Resume) == 0:
		return nil, nil
	case a.run == "":
		return nil, a.located(schemas.ErrNotFound)
	}
	waits, err := c.Service.Runs.Waits(c.Context(), c.User, a.run)
	if err != nil {
		return nil, a.located(err)
	}
	for _, m := range messages {
		if run, index, _ := wires.ParseCall(m.ToolCallID); run == a.run {
			// A client may note that the user approved a call: that is not its result.
			at := slices.IndexFunc(waits, func(w schemas.Wait) bool { return w.Index == index })
			a.brought[index], a.resolves = at < 0 || waits[at].Kind == schemas.WaitClientTool, true
			a.list = wires.WithAnswer(a.list, m.answer(index))
		}
	}
	for i, r := range slices.Backward(in.Resume) { // the first of two entries for a call counts
		run, index, _ := wires.ParseCall(r.InterruptID)
		if run != a.run {
			continue
		}
		at := slices.IndexFunc(waits, func(w schemas.Wait) bool { return w.Index == index })
		if at < 0 {
			a.named = "/resume/" + strconv.Itoa(i) + "/interruptId"
			return nil, a.located(schemas.ErrNotFound)
		}
		answer, err := r.answer(&waits[at])
		if err != nil {
			return nil, schemas.Invalid("/resume/"+strconv.Itoa(i)+"/payload", err.Error())
		}
		a.resolves = a.resolves || r.Status == "resolved"
		a.list = wires.WithAnswer(a.list, answer)
	}
	return a, nil
}

// located returns an error of the run or its calls: if there is nothing under an id, the
// error says where the input has the id.
func (a *answers) located(err error) error {
	if !errors.Is(err, schemas.ErrNotFound) {
		return err
	}
	e := *schemas.ErrNotFound
	e.Fields = []schemas.FieldError{{Pointer: a.named, Detail: "is not the id of a call of this thread that waits"}}
	return &e
}

// answerTo returns the pointer of the answer to a call: an entry of resume, or a tool message.
func (in *input) answerTo(call string) string {
	if i := slices.IndexFunc(in.Resume, func(r resume) bool { return r.InterruptID == call }); i >= 0 {
		return "/resume/" + strconv.Itoa(i) + "/payload"
	}
	i := slices.IndexFunc(in.Messages, func(m asked) bool { return m.Role == "tool" && m.ToolCallID == call })
	return "/messages/" + strconv.Itoa(i) + "/content"
}

// results returns the tool messages at the end of the first n messages.
func (in *input) results(n int) (list []*asked) {
	for i := range slices.Backward(in.Messages[:n]) {
		switch m := &in.Messages[i]; m.Role {
		case "tool":
			list = append(list, m)
		case "activity", "reasoning", "system", "developer":
		default:
			return list
		}
	}
	return list
}

// answer returns the tool message as the answer to a call of the page.
func (m *asked) answer(index int) record.CallAnswer {
	a := record.CallAnswer{Index: index, Output: schemas.Encode(m.text())}
	if m.Error != "" {
		a.IsError = true
		if m.text() == "" {
			a.Output = schemas.Encode(m.Error)
		}
	}
	return a
}

// wrong is what is wrong with the payload of an answer.
type wrong string

func (w wrong) Error() string { return string(w) }

// answer returns the entry as the answer to the call that waits.
func (r *resume) answer(w *schemas.Wait) (record.CallAnswer, error) {
	a := record.CallAnswer{Index: w.Index}
	if w.Kind == schemas.WaitClientTool {
		a.Output = r.Payload
		if r.Status == "cancelled" {
			a.Output, a.IsError = schemas.Encode(cancelled), true
		}
		if len(a.Output) == 0 {
			a.Output = json.RawMessage("null")
		}
		return a, nil
	}
	a.Approved = new(bool)
	if r.Status == "cancelled" {
		return a, nil
	}
	if json.Unmarshal(r.Payload, a.Approved) == nil && !wires.Null(r.Payload) {
		return a, nil
	}
	var payload struct {
		Approved   *bool           `json:"approved"`
		EditedArgs json.RawMessage `json:"editedArgs"`
	}
	if err := json.Unmarshal(r.Payload, &payload); err != nil || payload.Approved == nil {
		return a, wrong("must have the member approved, true or false")
	}
	a.Approved = payload.Approved
	if *a.Approved && !wires.Null(payload.EditedArgs) {
		a.Input = payload.EditedArgs
	}
	return a, nil
}
