package payloads

import (
	"encoding/json"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Filter removes payloads and suggestions from a model's text while the text
// streams. The text that Feed returns may be shown at once: it is always the
// beginning of the final visible text, which does not depend on how the text
// was split into deltas. [[tool: becomes [\[tool: in the visible text.
//
// An occurrence of a marker is
//
//	indentation, wrapper, NAME, colon, white space or code fence, value, fence's end, wrapper
//
// where the wrapper (* _ `, mirrored) may close before the colon, after it or
// after the value. A marker without the bracket of a value is ordinary text.
// White space around an occurrence is removed if it would leave more than one
// blank line; only ASCII white space counts. The value is strict JSON: an
// invalid one, such as one with a trailing comma, is hidden and gives a
// warning.
//
// A Filter handles the replies of one run, one after the other. It is not safe
// for concurrent use.
type Filter struct {
	grammar *grammar
	// depth counts the enclosing filters; see salvage.
	depth int

	mode  mode
	line  line
	held  string // text that is not decided yet
	shown output

	at     occurrence // the current occurrence, in all modes but inText
	value  value
	breaks int // line breaks seen in the gap

	found turn.Found
}

// mode is where in the text the filter is.
type mode int

const (
	inText  mode = iota
	inValue      // between a value's first and last bracket
	inTail       // after a value: the end of fence and wrapper
	inGap        // after an occurrence: white space
)

// maxIndent is the most bytes of white space at a line's start that are held
// back, because they are removed if a marker follows.
const maxIndent = 256

// NewFilter returns a filter for the markers of types, and for suggestions. The
// actions are those that the page offers; fits returns why a click on one of them
// would be refused with these data, which may be absent.
func NewFilter(types []turn.PayloadType, actions []schemas.Action, fits func(action string, data json.RawMessage) error) *Filter {
	return newFilter(newGrammar(types, actions, fits), 0)
}

func newFilter(g *grammar, depth int) *Filter {
	return &Filter{grammar: g, depth: depth, line: newLine()}
}

// Feed takes the next piece of the reply and returns what may be shown now.
func (f *Filter) Feed(delta string) string {
	if f.held != "" {
		delta = f.held + delta
	}
	return f.run(delta, false)
}

// End ends the reply: it returns the rest of the visible text and what was
// found, and prepares the filter for the next reply. Truncated is true if the
// reply stopped at a limit; warnings then mention it.
func (f *Filter) End(truncated bool) (visible string, found turn.Found) {
	visible = f.run(f.held, true)
	if f.mode == inValue {
		f.cutOff(truncated)
	}
	found = f.found
	*f = *newFilter(f.grammar, f.depth)
	return visible, found
}

// Parse is Feed and End for a whole reply.
func (f *Filter) Parse(text string) (visible string, found turn.Found) {
	visible = f.Feed(text)
	rest, found := f.End(false)
	return visible + rest, found
}

// Recover parses the model's answer when it was asked again for a value that
// the end of a reply had cut off: the value, with or without its marker.
func (f *Filter) Recover(cut turn.CutValue, reply string) turn.Found {
	if !strings.Contains(reply, cut.Marker) {
		reply = cut.Marker + "\n" + strings.TrimSpace(reply)
	}
	_, found := f.Parse(reply)
	return found
}

// run processes s, keeps the part that is not decided yet, and returns what may
// be shown. If the text is final, everything is decided.
func (f *Filter) run(s string, final bool) string {
	for waiting := false; s != "" && !waiting; {
		var n int
		switch f.mode {
		case inText:
			n, waiting = f.text(s, final)
		case inValue:
			n = f.inside(s)
		case inTail:
			n, waiting = f.tail(s, final)
		case inGap:
			n, waiting = f.gap(s, final)
		}
		s = s[n:]
	}
	f.held = s
	return f.shown.take()
}

// text shows s up to where an occurrence begins or may begin. It returns how
// much of s was processed, and whether the rest must wait for more text.
func (f *Filter) text(s string, final bool) (n int, waiting bool) {
	from, indent := 0, 0 // start of the text that is not shown yet; start of the line
	for i := 0; i < len(s); {
		if f.line.phase == rest {
			if i += f.grammar.plain(s[i:], &f.line.white); i == len(s) {
				break
			}
		}
		b, hold, verdict := s[i], i, no
		switch {
		case b == '[':
			verdict = prefix(s[i:], text.ToolMarker)
			if verdict == yes {
				f.shown.add(s[from:i])
				f.shown.add(text.EscapedMarker)
				i += len(text.ToolMarker)
				from = i
				f.line.step('[')
				continue
			}
		case f.line.mayStart() && f.grammar.class[b] == start:
			if f.line.phase == blank {
				hold = indent
			}
			f.at, verdict = f.grammar.match(s[i:])
			if verdict == yes {
				f.shown.add(s[from:hold])
				f.mode = inValue
				return i + f.at.value, false
			}
		}
		if verdict == maybe && !final {
			f.shown.add(s[from:hold])
			return hold, true
		}
		f.line.step(b)
		i++
		if b == '\n' {
			indent = i
		} else if f.line.phase == blank && i-indent > maxIndent {
			f.line.phase = lead
		}
	}
	if f.line.phase == blank && f.line.mayStart() && !final {
		f.shown.add(s[from:indent])
		return indent, true
	}
	f.shown.add(s[from:])
	return len(s), false
}

// inside adds the part of s that belongs to the value.
func (f *Filter) inside(s string) (n int) {
	n, ended := f.value.add(s)
	if ended {
		f.take()
		f.value = value{}
		f.mode = inTail
	}
	return n
}

// tail hides the end of the fence and the wrapper after a value. A code fence
// that continues after the value is opened again in the visible text, for the
// rest of its content.
func (f *Filter) tail(s string, final bool) (n int, waiting bool) {
	n, verdict := f.at.closing(s)
	switch {
	case verdict == maybe && final:
		return len(s), false
	case verdict == maybe:
		return 0, true
	case verdict == no && f.at.fenced():
		if f.line.phase != blank {
			f.newline()
		}
		f.shown.add(f.at.quote + f.at.info + "\n")
		f.line.openFence(f.at.quote)
	}
	f.mode, f.breaks = inGap, 0
	return n, false
}

// gap skips the white space after an occurrence. It keeps the larger number of
// the line breaks before and after it, at most two. The mode inText handles the
// indentation of the next line.
func (f *Filter) gap(s string, final bool) (n int, waiting bool) {
	for i := range len(s) {
		switch {
		case s[i] == '\n':
			n = i + 1
			f.breaks++
			if f.breaks <= maxBreaks && f.breaks > f.line.breaksBefore() {
				f.newline()
			}
		case !isSpace(s[i]) && f.breaks == 0:
			f.mode = inText
			return i, false
		case !isSpace(s[i]), f.breaks > 0 && i-n >= maxIndent:
			f.mode = inText
			return n, false
		}
	}
	if f.breaks == 0 || final {
		return len(s), false
	}
	return n, true
}

func (f *Filter) newline() {
	f.shown.add("\n")
	f.line.step('\n')
}

// output joins what may be shown. A single piece is not copied.
type output struct {
	one  string
	many []byte
}

func (o *output) add(s string) {
	switch {
	case s == "":
	case o.many != nil:
		o.many = append(o.many, s...)
	case o.one == "":
		o.one = s
	default:
		o.many = append(append(make([]byte, 0, 2*(len(o.one)+len(s))), o.one...), s...)
	}
}

func (o *output) take() string {
	s := o.one
	if o.many != nil {
		s = string(o.many)
		o.many = nil
	}
	o.one = ""
	return s
}
