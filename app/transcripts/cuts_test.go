package transcripts

import (
	"bytes"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/chattray/chattray/api/wires"
	"github.com/chattray/chattray/api/wires/wirestest"
	"github.com/chattray/chattray/schemas/runlog"
)

const (
	// cutBudget bounds the cuts of one stream, times the events that are read for each. Shorter
	// logs are cut after every frame. It is no time: that does not pass in a bubble.
	cutBudget = 30_000
	// cutAgain is how many of the cuts are followed by a second one.
	cutAgain = 5
)

// checkCuts cuts the connection of a client and resumes it, anywhere in a run that has ended and
// in each response of one that pauses: it has the uninterrupted stream.
func (s *fixture) checkCuts(name string, v wires.Version, run wirestest.Run, stretches []wirestest.Stretch) {
	s.t.Helper()
	c := cuts{fixture: s, v: v, run: run, random: rand.New(rand.NewPCG(uint64(len(run.Events)), uint64(len(run.Waits))))}
	c.check(name, true, func(cursor int64) ([]byte, error) { return run.Replay(v.Table, cursor, frameNumber) })
	if len(stretches) == 1 {
		return // the same log without a pause
	}
	for i, stretch := range stretches {
		c.check(name+", response "+strconv.Itoa(i+1), false, func(cursor int64) ([]byte, error) { return stretch.Frames(v.Table, cursor, frameNumber) })
	}
}

// cuts are the cuts of the streams of one run.
type cuts struct {
	*fixture
	v      wires.Version
	run    wirestest.Run
	random *rand.Rand
}

// numbered are the frames of a stream that have numbers. The others are those with which a
// response opens and breaks off.
type numbered struct {
	frames  []string
	numbers []int64
}

func (c *cuts) parse(name string, stream []byte, err error) (n numbered, ok bool) {
	c.t.Helper()
	if err != nil {
		c.t.Errorf("%s: %v", name, err)
		return n, false
	}
	last := int64(0)
	for frame := range bytes.SplitAfterSeq(stream, []byte("\n\n")) {
		line, _, _ := strings.Cut(string(frame), "\n")
		id, ok := strings.CutPrefix(line, "id: ")
		if !ok {
			continue
		}
		number, err := strconv.ParseInt(id, 10, 64)
		if err != nil || number <= last {
			c.t.Errorf("%s: the frame after %d is %q, want a greater number", name, last, line)
			return n, false
		}
		last = number
		n.frames, n.numbers = append(n.frames, string(frame)), append(n.numbers, number)
	}
	return n, true
}

// check cuts a stream. With ended it is also cut while the run goes on, and again when that has
// ended.
func (c *cuts) check(name string, ended bool, stream func(cursor int64) ([]byte, error)) {
	c.t.Helper()
	all, err := stream(0)
	whole, ok := c.parse(name, all, err)
	if !ok {
		return
	}
	resumed := func(at string, cursor int64, want []string) bool {
		rest, err := stream(cursor)
		got, ok := c.parse(name, rest, err)
		if ok && strings.Join(got.frames, "") != strings.Join(want, "") {
			c.t.Errorf("%s %s frame %d differs from the uninterrupted stream", name, at, cursor)
		}
		return ok
	}
	for _, i := range c.places(whole.numbers) {
		if !resumed("after", whole.numbers[i], whole.frames[i+1:]) {
			return
		}
		if len(whole.frames)-i < 3 || c.random.IntN(cutAgain) > 0 {
			continue
		}
		again := i + 1 + c.random.IntN(len(whole.frames)-i-2)
		if ended && !c.later() {
			through := whole.numbers[again] / wires.EventSpan
			so, err := c.run.SoFar(c.v.Table, through, whole.numbers[i], frameNumber)
			got, ok := c.parse(name, so, err)
			for again+1 < len(whole.frames) && whole.numbers[again+1]/wires.EventSpan == through {
				again++
			}
			if !ok || strings.Join(got.frames, "") != strings.Join(whole.frames[i+1:again+1], "") {
				c.t.Errorf("%s after frame %d, while the run goes on, up to %d differs from the uninterrupted stream", name, whole.numbers[i], whole.numbers[again])
				return
			}
		}
		if !resumed("cut again after", whole.numbers[again], whole.frames[again+1:]) {
			return
		}
	}
}

// later reports whether the run has a later attempt: what its clients have seen before that is
// not in the uninterrupted stream.
func (c *cuts) later() bool {
	for i := range c.run.Events {
		if _, ok := c.run.Events[i].Body.(*runlog.Attempt); ok {
			return true
		}
	}
	return false
}

// places are the frames after which a stream with these numbers is cut: all of them or, of a
// long one, those around events that are no pieces of a text, and some of the others.
func (c *cuts) places(numbers []int64) (list []int) {
	piece := map[int64]bool{}
	for i := range c.run.Events {
		switch c.run.Events[i].Body.(type) {
		case *runlog.Text, *runlog.Thinking, *runlog.Arguments, *runlog.ThreadText, *runlog.BlockContent:
			piece[c.run.Events[i].Seq] = true
		default:
		}
	}
	inside := func(i int) bool {
		return i > 0 && i < len(numbers)-3 && piece[numbers[i]/wires.EventSpan] && piece[numbers[i+1]/wires.EventSpan]
	}
	most, between := cutBudget/max(len(c.run.Events), 1), 0
	for i := range numbers {
		if inside(i) {
			between++
		}
	}
	rest := max(most-(len(numbers)-between), 0) // how many of those inside are cut
	for i := range numbers {
		if !inside(i) || len(numbers) <= most || c.random.IntN(between) < rest {
			list = append(list, i)
		}
	}
	return list
}
