package payloads

import (
	"encoding/json"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of an occurrence, in bytes: its wrapper, and the space between colon
// and value or between value and the end of its fence.
const (
	maxWrapper = 4
	maxBetween = 256
)

// minFence is the length of the shortest run of ` or ~ that is a code fence.
const minFence = 3

// verdict says whether the beginning of a text matches.
type verdict int

const (
	no verdict = iota
	maybe
	yes
)

// prefix reports whether s begins with word, or may do so with more text.
func prefix(s, word string) verdict {
	switch {
	case strings.HasPrefix(s, word):
		return yes
	case strings.HasPrefix(word, s):
		return maybe
	default:
		return no
	}
}

// marker is a name that comes before a value.
type marker struct {
	name string // with its colon
	open byte   // the bracket that its value begins with
	// payload is the type of its value; nil for suggestions.
	payload *turn.PayloadType
}

// kind is the name of the payload type, or of the list.
func (m *marker) kind() string {
	if m.payload != nil {
		return m.payload.Name
	}
	return strings.TrimSuffix(m.name, ":")
}

// label is what a warning calls the marker's value.
func (m *marker) label() string {
	switch {
	case m.payload != nil:
		return strings.ReplaceAll(m.payload.Name, "_", " ")
	case m.name == markerValues:
		return "list of suggested values"
	default:
		return "list of suggested actions"
	}
}

// class says what a byte in the middle of a line may begin.
type class byte

const (
	plain class = iota
	space
	start // an occurrence, after white space
	stop  // anything; it always has to be examined
)

// grammar has the markers that a run's filter looks for.
type grammar struct {
	markers []marker
	class   [256]class
	actions []schemas.Action // the declared ones
	// fits returns why a click on a declared action with these data would be refused.
	fits func(action string, data json.RawMessage) error
}

func newGrammar(types []turn.PayloadType, actions []schemas.Action, fits func(action string, data json.RawMessage) error) *grammar {
	g := &grammar{
		fits:    fits,
		markers: make([]marker, 0, len(types)+2),
		actions: actions,
	}
	g.markers = append(g.markers, marker{name: markerValues, open: '['}, marker{name: markerActions, open: '['})
	for i := range types {
		t := &types[i]
		switch {
		case t.Marker == "":
		case t.Array:
			g.markers = append(g.markers, marker{t.Marker, '[', t})
		default:
			g.markers = append(g.markers, marker{t.Marker, '{', t})
		}
	}
	for _, b := range []byte(" \t\r\v\f") {
		g.class[b] = space
	}
	for _, b := range []byte("*_`") {
		g.class[b] = start
	}
	for i := range g.markers {
		g.class[g.markers[i].name[0]] = start
	}
	g.class['\n'], g.class['['] = stop, stop
	return g
}

// plain returns the length of the beginning of s in which no occurrence can
// start. It updates whether the previous byte is white space.
func (g *grammar) plain(s string, white *bool) int {
	w, i := *white, 0
	for ; i < len(s); i++ {
		c := g.class[s[i]]
		if c == stop || c == start && w {
			break
		}
		w = c == space
	}
	*white = w
	return i
}

// occurrence is a marker in the text with the fence and wrapper around its value.
type occurrence struct {
	marker *marker
	value  int    // where the value begins
	quote  string // the run of ` or ~ before the value, and its info string
	info   string
	close  string // the end of the wrapper, when it is not closed before the value
}

// fenced reports whether the value is in a code fence.
func (o *occurrence) fenced() bool { return len(o.quote) >= minFence }

// match reports whether s begins with an occurrence.
func (g *grammar) match(s string) (occurrence, verdict) {
	n := run(s, "*_`")
	switch {
	case n > maxWrapper || strings.Contains(s[:n], "```"):
		return occurrence{}, no
	case n == len(s):
		return occurrence{}, maybe
	}
	best := no
	for i := range g.markers {
		m := &g.markers[i]
		if s[n] != m.name[0] {
			continue
		}
		o, v := m.match(s[n:], mirror(s[:n]))
		if v == yes {
			o.value += n
			return o, yes
		}
		best = max(best, v)
	}
	return occurrence{}, best
}

// match is grammar.match for one marker, after the beginning of the wrapper.
// The wrapper may end before the colon, after it, or after the value.
func (m *marker) match(s, wrapper string) (occurrence, verdict) {
	o := occurrence{marker: m, close: wrapper}
	name, colon := m.name[:len(m.name)-1], m.name[len(m.name)-1:]
	c := cursor{rest: s}
	if !c.take(name) {
		return o, c.verdict()
	}
	if wrapper != "" && c.take(wrapper) {
		o.close = ""
	}
	if !c.take(colon) {
		return o, c.verdict()
	}
	if o.close != "" && c.take(wrapper) {
		o.close = ""
	}
	between := len(c.rest)
	c.skip(run(c.rest, whiteSpace))
	if c.rest != "" && (c.rest[0] == '`' || c.rest[0] == '~') {
		o.quote = c.skip(run(c.rest, c.rest[:1]))
		if o.fenced() {
			o.info = c.skip(run(c.rest, infoString))
			c.skip(run(c.rest, whiteSpace))
		}
	}
	switch {
	case between-len(c.rest) > maxBetween:
		return o, no
	case c.rest == "":
		return o, maybe
	case c.rest[0] != m.open, !o.fenced() && strings.HasPrefix(o.quote, "~"):
		return o, c.verdict()
	}
	o.value = len(s) - len(c.rest)
	return o, yes
}

// closing returns how much of s, the text after the value, closes fence and
// wrapper. The verdict is no if the fence continues.
func (o *occurrence) closing(s string) (int, verdict) {
	n := 0
	if o.quote != "" {
		n = run(s, whiteSpace)
		if n > maxBetween {
			return 0, no
		}
		ticks := min(run(s[n:], o.quote[:1]), maxBetween)
		switch {
		case n+ticks == len(s) && ticks < maxBetween:
			return 0, maybe
		case ticks < len(o.quote):
			return 0, no
		}
		n += ticks
	}
	if o.close != "" {
		switch prefix(s[n:], o.close) {
		case maybe:
			return 0, maybe
		case yes:
			n += len(o.close)
		case no: // the wrapper does not close here
		}
	}
	return n, yes
}

const (
	whiteSpace = " \t\n\r\v\f"
	infoString = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-."
)

// run returns the length of the longest prefix of s with only bytes of set.
func run(s, set string) int {
	n := 0
	for n < len(s) && strings.IndexByte(set, s[n]) >= 0 {
		n++
	}
	return n
}

func isSpace(b byte) bool { return b == ' ' || b-'\t' < 5 }

// mirror returns s backwards.
func mirror(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] = s[len(s)-1-i]
	}
	return string(b)
}

// cursor reads the beginning of a text. short is true if the text ended where a
// word may follow.
type cursor struct {
	rest  string
	short bool
}

func (c *cursor) take(word string) bool {
	v := prefix(c.rest, word)
	if v == yes {
		c.rest = c.rest[len(word):]
	}
	c.short = c.short || v == maybe
	return v == yes
}

func (c *cursor) skip(n int) string {
	s := c.rest[:n]
	c.rest = c.rest[n:]
	return s
}

// verdict returns the verdict for a text in which a word is missing.
func (c *cursor) verdict() verdict {
	if c.short {
		return maybe
	}
	return no
}
