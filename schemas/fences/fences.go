// Package fences removes the Markdown code fence that a model writes around data.
package fences

import (
	"encoding/json"
	"strings"

	"github.com/chattray/chattray/schemas"
)

const (
	maxProse = 1000 // bytes that are held to see if a fence follows
	maxInfo  = 100  // bytes after the marks of the line that opens a fence
	maxLine  = 500  // bytes of a line that opens or closes a fence: what may be one is held and looked at again
	// maxHeader bounds the header of a chart in a fence of its own, in bytes.
	maxHeader = 32 << 10
	maxIndent = 3 // spaces before a fence that ends another one
	space     = " \t\r\n"
)

// Filter removes the fence around a table or the parts of a chart, and the words before
// and after it. Text without a fence, words before one that is neither filled nor closed,
// and text of other types pass unchanged. The pieces may be cut anywhere: the result is the
// same. It is not safe for concurrent use.
type Filter struct {
	kind   string
	state  state
	held   string          // text that is not decided
	fence  string          // that is open
	line   bool            // held is at the beginning of a line
	breaks string          // the line break before held, which belongs to a closing fence
	first  strings.Builder // what the first fence of a chart has, up to maxHeader
	lead   string          // the words before the open fence, with the line that opens it
	filled bool            // a fence has content
	beside bool
}

type state uint8

const (
	before state = iota // nothing has passed
	inside              // a fence
	plain               // without a fence
	after               // the closing fence
)

// New returns a filter for content of a block type.
func New(kind string) *Filter {
	f := &Filter{kind: kind}
	if kind != schemas.BlockCSV && kind != schemas.BlockChart {
		f.state = plain
	}
	return f
}

// Whole returns a whole content without its fence.
func Whole(kind, content string) string {
	inside, _ := Content(kind, content)
	return inside
}

// Content returns a whole content without its fence, and whether words before or after the
// fence were removed.
func Content(kind, content string) (inside string, beside bool) {
	f := New(kind)
	inside = f.Feed(content) + f.End()
	return inside, f.Beside()
}

// Beside reports whether words before or after the fence were removed.
func (f *Filter) Beside() bool { return f.beside }

// Feed takes a piece and returns the content that is known.
func (f *Filter) Feed(piece string) string { return f.next(piece, false) }

// End returns what is still held. The filter is used up.
func (f *Filter) End() string { return f.next("", true) }

func (f *Filter) next(piece string, ended bool) string {
	if f.state == plain && f.held == "" && f.kind != schemas.BlockChart {
		return piece
	}
	f.held += piece
	var out strings.Builder
	for f.held != "" || ended && f.breaks != "" {
		was, left := f.state, len(f.held)
		switch f.state {
		case before:
			f.begin(ended)
		case inside:
			out.WriteString(f.content(ended))
		case plain:
			out.WriteString(f.unfenced(ended))
		case after:
			f.beside = f.beside || strings.Trim(f.held, space) != ""
			f.held = ""
		}
		if f.state == was && len(f.held) == left {
			break
		}
	}
	if ended && f.state == inside && !f.filled && f.lead != "" {
		f.beside = false
		return f.lead + out.String()
	}
	return out.String()
}

// begin looks for a fence, also after some words.
func (f *Filter) begin(ended bool) {
	prose, first, at := false, true, 0 // prose: the line before is empty or ends a sentence
	for {
		line, whole := lineAt(f.held, at)
		text, end := strings.Trim(line, space), at+len(line)
		switch fence, is := opening(line, whole || ended); {
		case is == yes && end <= maxProse:
			if strings.Trim(f.held[:at], space) != "" {
				f.beside, f.lead = true, f.held[:end]
			}
			f.open(fence, end)
			return
		case is == maybe && end <= maxProse:
			return
		case text != "" && (isData(text) || !first && !prose), whole && isRow(text), end > maxProse, ended && !whole:
			f.state, f.line = plain, true
			return
		case !whole:
			return
		case text != "":
			first, prose = false, strings.ContainsAny(text[len(text)-1:], ".:!?")
		default:
			prose = true
		}
		at = end
	}
}

// open begins the content of a fence, which is after n bytes.
func (f *Filter) open(fence string, n int) {
	f.state, f.fence, f.held, f.line, f.breaks = inside, fence, f.held[n:], true, ""
}

// content returns the content up to the closing fence.
func (f *Filter) content(ended bool) string {
	var out strings.Builder
	for f.held != "" || ended && f.breaks != "" {
		line, whole := lineAt(f.held, 0)
		if f.line {
			switch closing(line, f.fence, whole || ended) {
			case maybe:
				return out.String()
			case yes:
				f.close(&out, len(line))
				return out.String()
			case no:
				f.put(&out, f.breaks)
				f.breaks, f.line = "", false
			}
		}
		body := strings.TrimSuffix(line, "\n")
		if !ended || whole {
			body = strings.TrimSuffix(body, "\r")
		}
		f.put(&out, body)
		if !whole {
			f.held = line[len(body):]
			return out.String()
		}
		f.held, f.breaks, f.line = f.held[len(line):], line[len(body):], true
	}
	return out.String()
}

// put adds content of a fence.
func (f *Filter) put(out *strings.Builder, text string) {
	out.WriteString(text)
	f.filled = f.filled || text != ""
	if f.kind == schemas.BlockChart && f.first.Len() <= maxHeader {
		f.first.WriteString(text)
	}
}

// close ends a fence, whose closing line has n bytes. The data of a chart may come after
// the fence around its header.
func (f *Filter) close(out *strings.Builder, n int) {
	f.state, f.held, f.breaks = after, f.held[n:], ""
	var header map[string]json.RawMessage
	if f.first.Len() <= maxHeader && json.Unmarshal([]byte(f.first.String()), &header) == nil {
		f.state = before
		f.put(out, "\n")
		f.first.WriteString("-") // a second header is data
	}
}

// unfenced returns text without a fence. The data of a chart may be in one although its
// header is not.
func (f *Filter) unfenced(ended bool) string {
	var out strings.Builder
	for f.kind == schemas.BlockChart && f.fence == "" && f.held != "" {
		line, whole := lineAt(f.held, 0)
		if f.line {
			fence, is := opening(line, whole || ended)
			if is == yes {
				f.open(fence, len(line))
				return out.String()
			}
			if is == maybe {
				return out.String()
			}
		}
		out.WriteString(line)
		f.held, f.line = f.held[len(line):], whole
	}
	out.WriteString(f.held)
	f.held = ""
	return out.String()
}

// Closed returns a text of Markdown in which the last code fence is closed, and the last
// comment or other HTML that goes on to its own end, so that the text does not take what
// follows it into them. One with spaces before it is mostly in a list, which ends it, or in
// its code: it is left as it is.
func Closed(content string) string {
	fence, markup := "", ""
	for line := range strings.Lines(content) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case markup != "":
		case fence == "" && indent == 0:
			fence, _ = opening(line, true)
		case fence != "" && indent <= maxIndent && closing(line, fence, true) == yes:
			fence = ""
			continue
		}
		if fence == "" {
			markup = unclosed(line, markup)
		}
	}
	if end := fence + markup; end != "" {
		return strings.TrimSuffix(content, "\n") + "\n" + end
	}
	return content
}

// markups are the beginnings and ends of the HTML of which Markdown takes all lines up to the
// end, empty ones too. After the name of an element comes white space or the end of its tag.
var markups = []struct {
	begin, end string
	element    bool
}{
	{"<!--", "-->", false},
	{"<?", "?>", false},
	{"<![cdata[", "]]>", false},
	{"<pre", "</pre>", true},
	{"<script", "</script>", true},
	{"<style", "</style>", true},
	{"<textarea", "</textarea>", true},
}

// unclosed returns the end of the HTML that goes on after the line, "" for none; before is
// that which goes on before it.
func unclosed(line, before string) string {
	line = strings.ToLower(line)
	for _, m := range markups {
		if before == "" && strings.HasPrefix(line, m.begin) &&
			(!m.element || strings.ContainsAny((line[len(m.begin):] + "\n")[:1], space+">")) {
			before = m.end
		}
	}
	if before != "" && strings.Contains(line, before) {
		return ""
	}
	return before
}

// lineAt returns the line that begins there, with its line break if it is whole.
func lineAt(text string, at int) (line string, whole bool) {
	line = text[at:]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		return line[:n+1], true
	}
	return line, false
}

type answer uint8

const (
	no answer = iota
	maybe
	yes
)

// opening reports whether a line opens a fence, and which.
func opening(line string, whole bool) (fence string, is answer) {
	long := len(line) > maxLine
	line = strings.TrimLeft(line, " ")
	fence = marks(line)
	info := line[len(fence):]
	switch {
	case long:
		return "", no
	case fence == "" && line == "" && !whole:
		return "", maybe
	case fence == "", len(info) > maxInfo, len(fence) < 3 && (whole || info != ""), fence != "" && strings.Contains(info, fence[:1]):
		return "", no
	case len(fence) < 3, !whole:
		return fence, maybe
	}
	return fence, yes
}

// closing reports whether a line closes the fence.
func closing(line, fence string, whole bool) answer {
	long := len(line) > maxLine
	line = strings.TrimLeft(line, " ")
	run := marks(line)
	rest := line[len(run):]
	switch {
	case long, strings.Trim(rest, space) != "", run != "" && run[0] != fence[0]:
		return no
	case whole && len(run) < len(fence):
		return no
	case !whole:
		return maybe
	}
	return yes
}

// marks returns the marks of a fence at the beginning of a line.
func marks(line string) string {
	n := 0
	for n < len(line) && (line[0] == '`' || line[0] == '~') && line[n] == line[0] {
		n++
	}
	return line[:n]
}

// isData reports whether a text begins like the header of a chart, a quoted field or a
// number.
func isData(text string) bool { return strings.ContainsAny(text[:1], `{["-0123456789`) }

// isRow reports whether a line is a row of several columns.
func isRow(line string) bool {
	for i := 0; i+1 < len(line); i++ {
		if strings.IndexByte(",;\t|", line[i]) >= 0 && line[i+1] != ' ' {
			return !strings.ContainsAny(line[len(line)-1:], ".:!?")
		}
	}
	return false
}
