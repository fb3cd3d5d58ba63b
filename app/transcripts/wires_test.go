package transcripts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/all"
	"github.com/chattray/chattray/api/wires/wirestest"
	"github.com/chattray/chattray/app/apptest"
	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/services/eventlog"
)

// wiresDir is where each wire has its golden files.
const wiresDir = "../../api/wires/"

// checkWires runs the log of an ended run through every table of every wire. The clients
// accept the frames, show the same text as the dialect chat, pause at each wait and nowhere
// else, and get the same frames wherever they resume.
func (s *fixture) checkWires(r seenRun, events []runlog.Event, waits []schemas.Wait) {
	s.t.Helper()
	if len(events) == 0 {
		return
	}
	stored := wirestest.Run{ID: r.id, Events: events, Waits: waits}
	for _, w := range all.Wires() {
		for _, v := range w.Tables {
			name := w.Name + "/" + v.Name
			stretches, responses, beginnings, paused, err := stored.Stretches(v.Table)
			if err != nil {
				s.t.Fatalf("%s of the run %s: %v", name, s.aliases.of[r.id], err)
			}
			shown, err := wirestest.Check(w.Name, v.Name, responses)
			if err != nil {
				s.t.Errorf("%s refuses the run %s: %v", name, s.aliases.of[r.id], err)
			}
			s.checkWireText(name, shown, events)
			s.checkPauses(name, resting(events, pausing(v, waits)), paused, beginnings)
			for _, begin := range beginnings {
				if rests, err := stored.Rests(begin); !rests || w.Name != "responses" && err != nil {
					s.t.Errorf("%s of the run %s: no response is found after the event %d (%v), after which one began", name, s.aliases.of[r.id], begin, err)
				}
			}
			s.checkCuts(name, v, stored, stretches)
			if _, err := wirestest.Check(w.Name, v.Name, [][]byte{s.replay(v, stored, 0, nil)}); err != nil {
				s.t.Errorf("%s refuses the replay of the run %s: %v", name, s.aliases.of[r.id], err)
			}
			s.noteFrames(w.Name, v.Name, r.id, responses)
		}
	}
}

// logOf reads the log and the waits of a run from the store.
func (s *fixture) logOf(run string) (events []runlog.Event, waits []schemas.Wait) {
	s.t.Helper()
	ctx := context.Background()
	for after := int64(0); ; {
		segment, err := s.stores.Logs.NextSegment(ctx, run, after)
		if err != nil {
			s.t.Fatal(err)
		}
		if segment.Last == 0 {
			break
		}
		list, err := eventlog.Decode(segment.Data)
		if err != nil {
			s.t.Fatal(err)
		}
		events, after = append(events, list...), segment.Last
	}
	stored, err := s.stores.Waits.Waits(ctx, run)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, w := range stored {
		v := schemas.Wait{Index: w.Index, Kind: w.Kind, ApprovalID: w.ID, ToolUseID: w.ToolUseID, Tool: w.Tool, Input: w.Input, Answer: w.Answer}
		if w.Answer != "" {
			v.AnsweredAt = &w.AnsweredAt
		}
		waits = append(waits, v)
	}
	return events, waits
}

// checkWireText compares what a client shows with the answer.
func (s *fixture) checkWireText(name, shown string, events []runlog.Event) {
	s.t.Helper()
	end, ok := events[len(events)-1].Body.(*runlog.Completed)
	if !ok {
		return
	}
	want := apptest.WithoutMarkers(end.Payload.Message)
	if got := apptest.WithoutMarkers(shown); got != want {
		s.t.Errorf("%s shows %q, want %q", name, got, want)
	}
}

// checkPauses checks that a client continues at the same place after each pause, and that
// there is a pause for each of the waits and for no other call.
func (s *fixture) checkPauses(name string, waits, paused map[int]bool, beginnings []int64) {
	s.t.Helper()
	for i := 1; i < len(beginnings); i++ {
		if beginnings[i] <= beginnings[i-1] {
			s.t.Errorf("%s: the pauses are after the events %v, want them to rise", name, beginnings)
		}
	}
	if d := cmp.Diff(waits, paused); d != "" {
		s.t.Errorf("%s pauses for other calls than those that waited (-want +got):\n%s", name, d)
	}
}

// resting returns the calls of the waits at which the run rested: the call waited, without an
// answer, when every call of its reply waited or had ended. A later attempt continues with
// what it keeps of the reply.
func resting(events []runlog.Event, waits []schemas.Wait) map[int]bool {
	rests, waiting, asks := map[int]bool{}, map[int]bool{}, map[string]int{}
	var reply []askedCall
	for _, e := range events {
		switch b := e.Body.(type) {
		case *runlog.Attempt:
			clear(waiting)
			reply = slices.DeleteFunc(reply, func(c askedCall) bool { return c.asked > b.KeptThrough })
			for i := range reply {
				if reply[i].ended > b.KeptThrough {
					reply[i].ended = 0
				}
			}
		case *runlog.Call:
			if e.At.Thread == 0 {
				reply = slices.DeleteFunc(reply, func(c askedCall) bool { return c.group != e.At.Group })
				reply = append(reply, askedCall{index: b.Index, group: e.At.Group, asked: e.Seq})
			}
		case *runlog.ApprovalRequest:
			asks[b.ApprovalID], waiting[b.Index] = b.Index, true
		case *runlog.ClientToolCall:
			waiting[b.Index] = true
		case *runlog.ApprovalResolved:
			delete(waiting, asks[b.ApprovalID])
		case *runlog.ToolStart:
			delete(waiting, b.Index)
		case *runlog.ToolRefused:
			delete(waiting, b.Index)
		case *runlog.ToolComplete:
			delete(waiting, b.Index)
			for i := range reply {
				if reply[i].index == b.Index {
					reply[i].ended = e.Seq
				}
			}
		default:
		}
		if !rested(reply, waiting) {
			continue
		}
		for _, w := range waits {
			if waiting[w.Index] && (w.AnsweredAt == nil || w.AnsweredAt.UnixMilli() >= e.Time) {
				rests[w.Index] = true
			}
		}
	}
	return rests
}

// askedCall is a call of a reply, with the numbers of the events in which the model asked for
// it and in which it ended.
type askedCall struct {
	index        int
	group        uint32
	asked, ended int64
}

// rested reports whether all calls of the reply wait or have ended.
func rested(reply []askedCall, waiting map[int]bool) bool {
	open := slices.ContainsFunc(reply, func(c askedCall) bool { return c.ended == 0 && !waiting[c.index] })
	return !open && len(waiting) > 0
}

// pausing returns the waits at which a response ends.
func pausing(v wires.Version, waits []schemas.Wait) []schemas.Wait {
	stayer, ok := v.Table(wires.Params{}).(wires.Stayer)
	return slices.DeleteFunc(slices.Clone(waits), func(w schemas.Wait) bool { return ok && stayer.Stays(w) })
}

// ofWire reports whether a path is a wire's, whose frames are not those of the contract.
func ofWire(path string) bool {
	return strings.HasPrefix(path, "/api/ui") || strings.HasPrefix(path, "/v1/") || strings.HasPrefix(path, "/api/agui") || strings.HasPrefix(path, "/api/copilotkit")
}

func frameNumber(dst []byte, number int64) []byte {
	return append(strconv.AppendInt(append(dst, "id: "...), number, 10), '\n')
}

// replay returns the frames after the cursor.
func (s *fixture) replay(v wires.Version, run wirestest.Run, cursor int64, number func([]byte, int64) []byte) []byte {
	s.t.Helper()
	frames, err := run.Replay(v.Table, cursor, number)
	if err != nil {
		s.t.Fatal(err)
	}
	return frames
}

// finishReason is the member that version 5 of the wire ui does not get.
var finishReason = regexp.MustCompile(`,"finishReason":"[a-z-]+"`)

// noteFrames records the frames of a run for the golden file; those of older versions only
// if they differ in more than finishReason.
func (s *fixture) noteFrames(wire, version, run string, responses [][]byte) {
	var b strings.Builder
	for i, r := range responses {
		fmt.Fprintf(&b, "-- %s, response %d --\n%s", s.aliases.of[run], i+1, r)
	}
	noted := s.aliases.plain(b.String())
	if s.wireFrames == nil {
		s.wireFrames = map[string]string{}
	}
	if first := s.newest[wire+run]; first == "" {
		if s.newest == nil {
			s.newest = map[string]string{}
		}
		s.newest[wire+run] = noted
	} else if first == noted || finishReason.ReplaceAllLiteralString(first, "") == noted {
		return
	} else {
		noted = "== version " + version + " ==\n" + noted
	}
	s.wireFrames[wire] += noted
}

// holdFrames compares the frames of a transcript's runs with each wire's golden file, or
// writes the file again.
func (s *fixture) holdFrames(transcript string, write bool) {
	s.t.Helper()
	for _, w := range all.Wires() {
		path := filepath.Join(wiresDir, w.Name, "testdata", transcript+".golden")
		want, err := os.ReadFile(path)
		got := s.wireFrames[w.Name]
		switch {
		case got == "" && err != nil, string(want) == got:
		case write && got != "":
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				s.t.Fatal(err)
			}
		default:
			s.t.Errorf("the frames of the wire %s differ (-want +got; -update writes them):\n%s", w.Name, cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")))
		}
	}
}
