package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
)

// answerScripts is the number of scripts of testAnswerModel.
const answerScripts = 100

// testAnswerModel asks, answers again, edits and cancels in one chat in any order. Each script
// is made of its number.
func testAnswerModel(f *fixture) {
	for seed := range uint64(answerScripts) {
		m := &answerModel{fixture: f, rnd: rand.New(rand.NewPCG(seed, 0)), last: make(map[string]string), ids: make(map[string]string)}
		m.script()
		if f.Failed() {
			f.Fatalf("script %d:\n%s\nall messages: %s", seed, strings.Join(m.said, "\n"), strings.Join(m.messages(m.chat, true), ", "))
		}
	}
}

// answerModel is a chat with what is known of its answers. A question and its answers have
// texts that begin alike: q3, q3 a7.
type answerModel struct {
	*fixture
	rnd  *rand.Rand
	chat int64
	said []string
	n    int
	open []*modelRun
	last map[string]string // by question: its last answer, which no run that left nothing hides
	ids  map[string]string // the ids of messages by their texts
}

// modelRun is a run that has not ended.
type modelRun struct {
	*record.Write
	question string
}

func (m *answerModel) say(format string, args ...any) {
	m.said = append(m.said, fmt.Sprintf(format, args...))
}

func (m *answerModel) text(kind string) string {
	m.n++
	return fmt.Sprintf("%s%d", kind, m.n)
}

func (m *answerModel) script() {
	first := m.text("q")
	g := m.turn(first, first+" a0")
	m.chat, m.last[first], m.ids[first], m.ids[first+" a0"] = g.Run.ConversationID, first+" a0", g.Run.UserMessageID, g.Run.MessageID
	for range 4 + m.rnd.IntN(24) {
		m.act()
		if m.check(); m.Failed() {
			return
		}
	}
	for len(m.open) > 0 {
		m.ends(m.open[m.rnd.IntN(len(m.open))], "")
		if m.check(); m.Failed() {
			return
		}
	}
}

// running returns the run that answers now, nil if there is none.
func (m *answerModel) running() *modelRun {
	if at := slices.IndexFunc(m.open, func(r *modelRun) bool { return r.Attempt > 0 }); at >= 0 {
		return m.open[at]
	}
	return nil
}

func (m *answerModel) act() {
	current := m.messages(m.chat, false)
	text := current[m.rnd.IntN(len(current))]
	question, _, isAnswer := strings.Cut(text, " ")
	switch m.rnd.IntN(12) {
	case 0, 1:
		q := m.text("q")
		m.starts(q, m.begin(q, in(m.chat), queued))
	case 2, 3, 4, 5: // another answer to a question
		with := []func(*record.Begin){in(m.chat), queued, func(g *record.Begin) { g.UserMessage, g.Run.UserMessageID = nil, m.ids[question] }}
		if isAnswer {
			with = append(with, supersede(m.ids[text]))
		}
		m.starts(question, m.begin("", with...))
	case 6:
		if m.rnd.IntN(3) == 0 {
			q := m.text("q")
			m.starts(q, m.begin(q, in(m.chat), queued, supersede(m.ids[question])))
		}
	case 7:
		if waiting := m.waiting(); len(waiting) > 0 {
			m.ends(waiting[m.rnd.IntN(len(waiting))], "")
		}
	case 8:
		if r := m.running(); r != nil { // its process was killed
			r.Attempt++
			must(m, m.store.BeginAttempt(m.ctx, r.RunID, r.Attempt, ""))
			m.say("attempt %d of %s", r.Attempt, r.question)
		} else if len(m.open) == 0 {
			m.selects()
		}
	default:
		if r := m.running(); r != nil {
			m.ends(r, []schemas.MessageStatus{schemas.MessageComplete, schemas.MessageCancelled, schemas.MessageError, ""}[m.rnd.IntN(4)])
		} else if waiting := m.waiting(); len(waiting) > 0 {
			m.takesTurn(waiting)
		}
	}
}

// waiting returns the runs in the queue.
func (m *answerModel) waiting() (waiting []*modelRun) {
	for _, r := range m.open {
		if r.Attempt == 0 {
			waiting = append(waiting, r)
		}
	}
	return waiting
}

// starts begins a run, which waits if there are others.
func (m *answerModel) starts(question string, w *record.Write) {
	m.mustCommit(w)
	if w.Begin.State == schemas.RunQueued {
		w.Attempt = 0
	}
	m.ids[question] = w.Begin.Run.UserMessageID
	m.open = append(m.open, &modelRun{w, question})
	m.say("%s is asked, replaces %q, %s", question, w.Begin.Supersede, w.Begin.State)
}

// takesTurn begins the first run of the queue, or the second one if it answers another
// question. A run whose question was replaced ends.
func (m *answerModel) takesTurn(waiting []*modelRun) {
	r := waiting[0]
	if second := waiting[m.rnd.IntN(min(2, len(waiting)))]; second.question != r.question {
		r = second
	}
	_, err := m.store.BeginQueued(m.ctx, r.RunID, "", nil)
	if errors.Is(err, record.ErrReplaced) {
		m.ends(r, "")
		return
	}
	must(m, err)
	r.Attempt = 1
	m.say("the turn of %s", r.question)
}

// ends ends a run with an answer of the status, or with nothing.
func (m *answerModel) ends(r *modelRun, status schemas.MessageStatus) {
	text := r.question + m.text(" a")
	end := m.finish(r.Write, text)
	end.Attempt = r.Attempt
	switch status {
	case schemas.MessageComplete:
	case schemas.MessageError:
		end.Finish.State, end.Finish.Message.Status = schemas.RunFailed, status
	case schemas.MessageCancelled:
		end.Finish.State, end.Finish.Message.Status = schemas.RunCancelled, status
	default:
		end.Finish.State, end.Finish.Message = schemas.RunCancelled, nil
	}
	m.mustCommit(end)
	if end.Finish.Message != nil {
		m.ids[text], m.last[r.question] = end.Finish.Message.ID, text
	}
	m.open = slices.DeleteFunc(m.open, func(other *modelRun) bool { return other == r })
	m.say("%s ends with %q", r.question, status)
}

// selects goes back to another version of a message.
func (m *answerModel) selects() {
	current := m.messages(m.chat, false)
	list, err := m.store.Versions(m.ctx, m.owner, m.chat, m.ids[current[m.rnd.IntN(len(current))]])
	must(m, err)
	v := list.Items[m.rnd.IntN(len(list.Items))]
	m.choose(m.chat, v.MessageID)
	if question, _, isAnswer := strings.Cut(v.Preview, " "); isAnswer {
		m.last[question] = v.Preview
	}
	m.say("%s is selected", v.Preview)
}

// check checks the current messages: each question has at most one answer, the last one,
// which is hidden only while another one is on its way.
func (m *answerModel) check() {
	current := m.messages(m.chat, false)
	m.said = append(m.said, "\t"+strings.Join(current, ", "))
	for i, text := range current {
		question, _, isAnswer := strings.Cut(text, " ")
		if isAnswer {
			if i == 0 || current[i-1] != question || text != m.last[question] {
				m.Errorf("%q is current, the last answer is %q", text, m.last[question])
			}
			continue
		}
		answered := i+1 < len(current) && current[i+1] == m.last[question]
		onItsWay := slices.ContainsFunc(m.open, func(r *modelRun) bool { return r.question == question })
		if !answered && !onItsWay && m.last[question] != "" {
			m.Errorf("%q, the last answer to %q, is hidden", m.last[question], question)
		}
	}
}
