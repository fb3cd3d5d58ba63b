package prompt

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer"

	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
)

// Limits of a tokenCounter.
const (
	countChunk   = 4 << 10 // bytes counted at once
	maxCounts    = 4_096   // counts remembered
	minTokenSize = 2       // bytes of a token, less only in unusual texts
	headTokens   = 32      // tokens around a summary
)

// tokenCounter counts tokens as o200k does, which for other models is an
// estimate. Its vocabulary is loaded at the first count, and never if upper is
// enough. It is safe for concurrent use.
type tokenCounter struct {
	codec func() (tokenizer.Codec, error)
	seed  maphash.Seed
	mu    sync.Mutex
	seen  map[uint64]int // by the hash of the text
}

func newTokenCounter() *tokenCounter {
	return &tokenCounter{
		codec: sync.OnceValues(func() (tokenizer.Codec, error) { return tokenizer.Get(tokenizer.O200kBase) }),
		seed:  maphash.MakeSeed(),
		seen:  make(map[uint64]int),
	}
}

// upper is a cheap upper bound for ordinary text.
func (c *tokenCounter) upper(text string) int { return (len(text) + minTokenSize - 1) / minTokenSize }

// count returns the number of tokens in text. It remembers those that it has counted.
func (c *tokenCounter) count(text string) int {
	key := maphash.String(c.seed, text)
	c.mu.Lock()
	n, ok := c.seen[key]
	c.mu.Unlock()
	if ok {
		return n
	}
	n = c.countChunks(text)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) >= maxCounts {
		clear(c.seen)
	}
	c.seen[key] = n
	return n
}

// countChunks counts piece by piece, so that unusual input cannot make it slow;
// a token that crosses a border counts twice.
func (c *tokenCounter) countChunks(text string) int {
	codec, err := c.codec()
	if err != nil {
		return c.upper(text)
	}
	total := 0
	for len(text) > 0 {
		size := min(countChunk, len(text))
		for size < len(text) && size > countChunk-utf8.UTFMax && !utf8.RuneStart(text[size]) {
			size--
		}
		n, err := codec.Count(text[:size])
		if err != nil {
			n = c.upper(text[:size])
		}
		total += n
		text = text[size:]
	}
	return total
}

// cost returns the number of tokens of a message.
func (h *History) cost(m turn.Message) int {
	if n := h.tokens.upper(m.Content); 4*n <= h.Budget {
		return n + turnTokens + imageTokens*len(m.Images)
	}
	return h.tokens.count(m.Content) + turnTokens + imageTokens*len(m.Images)
}

// short returns a summary, cut if the model's window has no room for more tokens than that
// with what is written around it: the summary may be of a model with a larger window.
func (h *History) short(summary string, limit int) string {
	limit = max(limit-headTokens, 0)
	if h.room == 0 || indentedSize(summary) <= limit*minTokenSize {
		return summary
	}
	whole := len(summary)
	size := func() int { return h.tokens.count(summary) + strings.Count(summary, "\n") } // each line is indented
	for n := size(); n > limit; n = size() {
		summary = strings.ToValidUTF8(summary[:len(summary)*limit/n], "")
	}
	if len(summary) < whole {
		summary += "…"
	}
	return summary
}

// fits reports whether all turns fit the budget. A history that is clearly
// small is never counted.
func (h *History) fits(turns []historyTurn, budget int) bool {
	bound := 0
	for i := range turns {
		bound += h.tokens.upper(turns[i].text) + turns[i].overhead()
	}
	return bound <= budget || h.newest(turns, budget) == 0
}

// newest returns the index of the first of the newest turns that fit the budget. If
// turns are left out, the first turn that is kept is the user's.
func (h *History) newest(turns []historyTurn, budget int) int {
	from := len(turns)
	for from > 0 {
		t := &turns[from-1]
		if budget -= t.overhead(); budget < 0 {
			break
		}
		if budget -= h.tokens.count(t.text); budget < 0 {
			break
		}
		from--
	}
	if from == 0 {
		return 0
	}
	for from < len(turns) && turns[from].role != turn.User {
		from++
	}
	return from
}

// cover takes a summary that was read after the messages, and returns the turns that it
// does not cover. A summary of none of the messages is not taken.
func (r *historyRead) cover(s record.Summary, turns []historyTurn) []historyTurn {
	last := slices.IndexFunc(r.list, func(m pastMessage) bool { return m.ID == s.Through })
	if last < 0 {
		return turns
	}
	place := r.list[last].place
	r.summary = s
	return slices.DeleteFunc(turns, func(t historyTurn) bool { return t.place <= place })
}

// historyHead replaces the messages that are left out.
type historyHead struct {
	summary string
	left    int  // messages left out
	unread  bool // and an unknown number before them
}

// before returns the conversation: the head, the turns, the current message.
func (h historyHead) before(turns []historyTurn, current turn.Message) []turn.Message {
	out := make([]turn.Message, 0, len(turns)+2)
	var b strings.Builder
	if h.summary != "" {
		b.WriteString("What was said before, in short:\n")
		writeData(&b, "summary", h.summary)
	}
	switch {
	case h.unread:
		b.WriteString("(Older messages are left out.)")
	case h.left > 0:
		b.WriteString("(" + text.Plural(h.left, "older message") + " left out.)")
	}
	if b.Len() > 0 {
		out = append(out, turn.Message{Role: turn.User, Content: strings.TrimSpace(b.String())})
	}
	for _, t := range turns {
		out = joinTurn(out, t.message())
	}
	return joinTurn(out, current)
}

// joinTurn adds m. Two messages of one role become one, because many servers require
// roles to alternate.
func joinTurn(list []turn.Message, m turn.Message) []turn.Message {
	if n := len(list); n > 0 && list[n-1].Role == m.Role {
		last := &list[n-1]
		last.Content = strings.Trim(last.Content+"\n\n"+m.Content, "\n")
		last.Images = append(last.Images, m.Images...)
		return list
	}
	return append(list, m)
}

// Room returns the number of tokens that a context window leaves for the
// conversation of a request. A window of 0 means no limit, and so does a result
// of 0.
func (h *History) Room(q *turn.Request, window int) int {
	if window == 0 {
		return 0
	}
	tools := make([]string, len(q.Tools))
	room := window - q.MaxTokens
	taken := h.tokens.upper(q.System)
	for i, t := range q.Tools {
		tools[i] = t.Name + " " + t.Description + " " + string(t.InputSchema)
		taken += h.tokens.upper(tools[i])
	}
	if room-taken < h.Budget { // it has to be counted exactly
		taken = h.tokens.count(q.System)
		for _, tool := range tools {
			taken += h.tokens.count(tool)
		}
	}
	return max(room-taken, 1)
}

// SummaryLimit returns how many characters the text of a summary may have to fit the window.
// A window of 0 means no limit, and so does a result of 0.
func SummaryLimit(window, maxTokens int) int {
	if window == 0 {
		return 0
	}
	return max(window-maxTokens, minHistoryBudget) * summaryChars
}

// SummaryRequest asks the model to condense text, cut to fit the window; a
// window of 0 means no limit.
func SummaryRequest(model, text string, older []turn.Message, window, maxTokens int) turn.Request {
	if limit := SummaryLimit(window, maxTokens); limit > 0 {
		text = cutText(text, limit)
	}
	return turn.Request{
		Model: model, MaxTokens: maxTokens, MaxIterations: 1, System: summaryInstructions,
		Messages: []turn.Message{{Role: turn.User, Content: text}}, Facts: &turn.Facts{Purpose: turn.Summarize, Older: older},
	}
}
