package written

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/argstream"
	"github.com/chattray/chattray/services/documents"
)

// call is a call while the model writes it: the argument that its tool
// streams goes into a block and into the log piece by piece.
type call struct {
	block

	tool   turn.Tool // empty before the name is known, or when it is not offered
	unread string    // arguments that arrived before the name
	args   argstream.Reader
	phase  phase

	raw    string         // content that is not filtered yet
	fences *fences.Filter // nil before the block's type is known
	held   string         // content that is not shown yet
	kind   string         // the block's type, "" before it is known
	asked  request        // what the arguments asked for when the draft was opened
	draft  *documents.Draft

	// withheld are the arguments from the content on that are not shown yet, beside
	// those of them that come after the content; see settle.
	withheld, beside string
	streamed         bool // the arguments are shown without the content

	// second says that the arguments have been shown, and that the call is not refused any
	// more: it writes its block again, or now that it runs. Cleared is the block of which
	// the text of its first try was withdrawn.
	second  bool
	cleared string
}

// phase is how far a call has come. It only goes on, except that a call which is shown later
// is written when it runs.
type phase uint8

const (
	writing phase = iota // the content is shown while it is written
	later                // the content is shown when the call runs, see Begin and behind
	closed               // nothing more is shown
	kept                 // the same, and the text remains if the call fails: the user has to decide about it
	refused              // the same, and the text does not count
)

// reach brings the call to a phase, unless it is there or further.
func (c *call) reach(p phase) { c.phase = max(c.phase, p) }

// newCall returns the call of that index, of which nothing is known.
func (a *Calls) newCall(index int) *call {
	return &call{block: block{all: a, by: &runlog.Caller{Index: index}}}
}

// step shows what there is of the content, as far as it can be shown now. The block
// ends with its content.
func (c *call) step() {
	if c.phase != writing || c.tool.Streams.MustExist && c.args.Head[c.tool.Streams.Block] == nil {
		return
	}
	c.unfence()
	switch {
	case c.phase != writing, c.held == "" && (!c.args.Ended || c.draft != nil):
	case c.draft != nil:
		c.show(c.held)
		c.held = ""
	case c.first():
		c.start()
	}
	if c.args.Ended && c.draft != nil && (!c.draft.Held() || c.draft.Withdrawn()) { // blocks are filled one at a time
		c.end("completed")
	}
}

// unfence takes the content without the code fence around it, once the block's type is
// known. The block is claimed before it is read.
func (c *call) unfence() {
	if c.fences == nil {
		if c.raw == "" && !c.args.Ended || !c.claim() || !c.look() {
			return
		}
		c.fences = fences.New(c.kind)
	}
	c.held += c.fences.Feed(c.raw)
	if c.raw = ""; c.args.Ended {
		c.held += c.fences.End()
	}
}

// streams reports whether an argument of the call is shown while the model
// writes it. It is not if the call may still be refused.
func (c *call) streams() bool {
	return c.tool.Streams != nil && (c.second || !c.tool.Confirm && !c.all.Approved)
}

// first reports whether there is enough content for the first piece: for CSV the
// header row.
func (c *call) first() bool {
	if strings.HasPrefix(c.kind, "image/") {
		return c.args.Ended // it is checked first
	}
	if c.kind != schemas.BlockCSV || c.args.Ended {
		return true
	}
	_, whole := schemas.HeaderRow(c.held)
	return whole
}

// request is what the arguments of a call ask for, beside the content.
type request struct{ block, kind, meta, after string }

// request returns what the arguments ask for, as far as they are known. Without a type
// that is the type of the block that was opened.
func (c *call) request() request {
	s := c.tool.Streams
	of := func(name string) string {
		if raw := c.args.Head[name]; name != "" && string(raw) != "null" {
			return string(raw)
		}
		return ""
	}
	return request{c.id(), documents.BlockType(cmp.Or(c.argument(s.Type), c.kind)), of(s.Meta), of(s.After)}
}

// look reads the block that the arguments name or that an earlier attempt of
// the run has added. The page may show one that was removed meanwhile. If the database is
// away, the content waits until the call runs.
func (c *call) look() bool {
	ctx, done := c.all.Storing()
	defer done()
	b, known, err := c.all.Drafts.Known(ctx, c.all.Owner, c.id())
	if err != nil {
		c.reach(later)
		return false
	}
	c.there = known && (b.ID != "" || !c.second) && c.id() != c.cleared // it was just taken back
	c.kind = documents.BlockType(cmp.Or(c.argument(c.tool.Streams.Type), b.Type, schemas.BlockMarkdown))
	return true
}

// id returns the block's id: the given one, or one made from run and call.
func (c *call) id() string {
	name := turn.BlockArgument
	if c.tool.Streams != nil {
		name = c.tool.Streams.Block
	}
	return cmp.Or(c.argument(name), turn.BlockID(c.all.Run, c.by.Index, c.by.Tool, 0))
}

// argument returns the argument of that name if it is a string, else "".
func (c *call) argument(name string) string {
	if name == "" {
		return ""
	}
	return argstream.Text(c.args.Head, name)
}

// behind reports whether an earlier call of the current reply changes the same block. That
// call then runs before the content of this one counts.
func (c *call) behind() bool {
	for i := c.all.Asked(); i < c.by.Index; i++ {
		e := c.all.each[i]
		if e != nil && e.tool.Document && e.phase != refused && e.id() == c.id() {
			return true
		}
	}
	return false
}

// claim claims the block before it is read. If another run writes the block, or an earlier
// call of the reply, the content waits until the call runs.
func (c *call) claim() bool {
	if c.all.Document == "" { // the tool will report it
		c.reach(closed)
		return false
	}
	if c.behind() {
		c.reach(later)
		return false
	}
	if holder, err := c.all.Drafts.Claim(c.all.Context, c.all.claimOf(c.id())); holder != "" || err != nil {
		c.reach(later)
	}
	return c.phase == writing
}

// start begins the block with the first piece of its content.
func (c *call) start() {
	streams, document := c.tool.Streams, c.all.Document
	c.asked = c.request()
	w := record.BlockWrite{Only: c.argument(streams.Block) != "", Title: c.all.Title, NewBlock: record.NewBlock{
		ID: c.asked.block, Type: c.argument(streams.Type), Content: c.held,
	}}
	if c.asked.meta != "" {
		w.Meta = json.RawMessage(c.asked.meta)
	}
	if c.asked.after != "" {
		w.After = new(c.argument(streams.After))
	}
	ctx, done := c.all.Storing()
	defer done()
	draft, b, err := c.all.Drafts.DraftCall(ctx, c.all.claimOf(c.asked.block), w, c.withdrawn)
	if err != nil { // the tool will report it
		c.reach(closed)
		return
	}
	c.draft = draft
	c.draft.Show(func() {
		c.place, c.since = runlog.Place{BlockIDs: b.ID, DocumentID: document, Type: b.Type}, b.Revision
		c.open(documents.Header(&b))
		if n, whole := schemas.HeaderRow(c.held); whole && b.Type == schemas.BlockCSV {
			c.content(c.held[:n])
			c.held = c.held[n:]
		}
		c.content(c.held)
	})
	c.held = ""
}

// show adds a piece to the block. Once a piece is refused, nothing more is
// shown.
func (c *call) show(piece string) {
	ctx, done := c.all.Storing()
	defer done()
	err := c.draft.Write(ctx, piece, func() { c.content(piece) })
	c.all.Fenced(err)
	if err != nil && !errors.Is(err, record.ErrUnavailable) {
		c.end("partial")
	}
}
