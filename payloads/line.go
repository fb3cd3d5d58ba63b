package payloads

// maxBreaks is the number of line breaks that make a blank line.
const maxBreaks = 2

// phase is the position within a line of visible text.
type phase byte

const (
	blank phase = iota // only white space so far
	lead               // the mark of a list item or a quote
	ticks              // a run of ` or ~ that may become a code fence
	info               // after a run that is long enough for a fence
	rest               // in text where no fence can begin
)

// line tracks, line by line, where code fences begin and end in the visible
// text. It follows CommonMark; list items and quotes are recognized by their
// first characters.
type line struct {
	phase phase
	// white is true if the previous byte is white space or missing.
	white bool
	// breaks counts the line breaks right before this line, blank lines
	// included, up to maxBreaks.
	breaks int

	char  byte // the character of the run
	run   int
	words bool // text follows the run
	quote bool // a ` follows the run

	fenceChar byte // the character of the open fence
	fence     int  // the fence's length; 0 means none
}

// newLine returns the state at the beginning of a text, as after a blank line.
func newLine() line { return line{white: true, breaks: maxBreaks} }

// mayStart reports whether a marker may begin here.
func (l *line) mayStart() bool { return l.white && l.fence == 0 && l.phase != info }

// breaksBefore returns the number of line breaks at the end of the text.
func (l *line) breaksBefore() int {
	if l.phase == blank {
		return l.breaks
	}
	return 0
}

// openFence begins a line in a fence.
func (l *line) openFence(run string) {
	*l = line{white: true, breaks: 1, fenceChar: run[0], fence: len(run)}
}

// step processes one byte.
func (l *line) step(b byte) {
	if b == '\n' {
		l.end()
		return
	}
	white := isSpace(b)
	switch l.phase {
	case blank, lead:
		switch {
		case white:
		case (b == '`' || b == '~') && l.white:
			l.phase, l.char, l.run = ticks, b, 1
		case isLead(b):
			l.phase = lead
		default:
			l.phase = rest
		}
	case ticks:
		switch {
		case b == l.char:
			l.run++
		case l.run < minFence:
			l.phase = rest
		default:
			l.phase = info
			l.words, l.quote = !white, b == '`'
		}
	case info:
		l.words = l.words || !white
		l.quote = l.quote || b == '`'
	case rest:
	}
	l.white = white
}

// end processes a line break.
func (l *line) end() {
	long := l.phase == info || l.phase == ticks && l.run >= minFence
	switch {
	case long && l.fence == 0 && (l.char == '~' || !l.quote):
		l.fenceChar, l.fence = l.char, l.run
	case long && l.fence > 0 && l.char == l.fenceChar && l.run >= l.fence && !l.words:
		l.fence = 0
	}
	breaks := 1
	if l.phase == blank {
		breaks = min(l.breaks+1, maxBreaks)
	}
	*l = line{white: true, breaks: breaks, fenceChar: l.fenceChar, fence: l.fence}
}

// isLead reports whether a byte may come before the content of a list item or a quote.
func isLead(b byte) bool {
	switch b {
	case '>', '-', '*', '+', '.', ')':
		return true
	default:
		return '0' <= b && b <= '9'
	}
}
