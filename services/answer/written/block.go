package written

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/argstream"
	"github.com/chattray/chattray/services/documents"
)

// blockChunk bounds the content of a block in one chunk, in bytes.
const blockChunk = 32 << 10

// call is a call while the model writes it: the argument that its tool
// streams goes into a block and into the log piece by piece.
type call struct {
	all     *Calls
	index   int
	name    string
	callID  string
	tool    turn.Tool // empty before the name is known, or when it is not offered
	unread  string    // arguments that arrived before the name
	args    argstream.Reader
	raw     string         // content that is not filtered yet
	fences  *fences.Filter // nil before the block's type is known
	held    string         // content that is not shown yet
	place   runlog.Place
	since   int64            // the document's revision when the block was begun
	asked   request          // what the arguments asked for when it was opened
	kind    string           // the block's type, "" before it is known
	shown   bool             // the page has the block already
	draft   *documents.Draft // nil before it is opened
	closed  bool             // nothing more is shown
	later   bool             // it is shown when it runs, see Begin of Calls and behind
	open    bool             // its levels were opened; read and written in Show of the draft
	ended   bool             // its levels are closed; written in End of the draft
	second  bool             // the block is shown a second time, but not its arguments
	decided bool             // it is shown when it runs, with all its arguments
	cleared string           // the block of a second call whose first text was withdrawn from the page

	whole   bool // all arguments are known, and the tool is called with them
	late    bool // the text was held until the call was whole
	refused bool // the text does not count

	// withheld are the arguments from the content on that are not shown yet, beside
	// those of them that come after the content; see settle.
	withheld, beside string
	streamed         bool // the arguments are shown without the content

	at runlog.Level
	by *runlog.Caller
}

// step shows what there is of the content, as far as it can be shown now. The block
// ends with its content.
func (c *call) step() {
	if c.later || c.closed || c.tool.Streams.MustExist && c.args.Head[c.tool.Streams.Block] == nil {
		return
	}
	c.unfence()
	switch {
	case c.later, c.closed, c.held == "" && (!c.args.Ended || c.draft != nil):
	case c.draft != nil:
		c.show(c.held)
		c.held = ""
	case c.first():
		c.start()
	}
	if c.args.Ended && c.draft != nil { // blocks are filled one at a time
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
	return c.tool.Streams != nil && (c.decided || !c.tool.Confirm && !c.all.Approved)
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
		c.later = true
		return false
	}
	c.shown = known && (b.ID != "" || !c.second) && c.id() != c.cleared // it was just taken back
	c.kind = documents.BlockType(cmp.Or(c.argument(c.tool.Streams.Type), b.Type, schemas.BlockMarkdown))
	return true
}

// id returns the block's id: the given one, or one made from run and call.
func (c *call) id() string {
	name := turn.BlockArgument
	if c.tool.Streams != nil {
		name = c.tool.Streams.Block
	}
	return cmp.Or(c.argument(name), turn.BlockID(c.all.Run, c.index, c.name, 0))
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
	for i := c.all.Asked(); i < c.index; i++ {
		e := c.all.each[i]
		if e != nil && e.tool.Document && !e.refused && e.id() == c.id() {
			return true
		}
	}
	return false
}

// claim claims the block before it is read. If another run writes the block, or an earlier
// call of the reply, the content waits until the call runs.
func (c *call) claim() bool {
	if c.all.Document == "" { // the tool will report it
		c.closed = true
		return false
	}
	if c.behind() {
		c.later = true
		return false
	}
	if holder, err := c.all.Drafts.Claim(c.all.Context, c.all.claimOf(c.id())); holder != "" || err != nil {
		c.later = true
	}
	return !c.closed && !c.later
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
	draft, b, err := c.all.Drafts.DraftCall(ctx, c.all.Owner, document, w, c.all.Run, c.withdrawn)
	if err != nil { // the tool will report it
		c.closed = true
		return
	}
	c.draft = draft
	c.draft.Show(func() {
		c.open, c.place = true, runlog.Place{BlockIDs: b.ID, DocumentID: document, Type: b.Type}
		c.since = b.Revision
		c.begin(documents.Header(&b))
		if n, whole := schemas.HeaderRow(c.held); whole && b.Type == schemas.BlockCSV {
			c.content(c.held[:n])
			c.held = c.held[n:]
		}
		c.content(c.held)
	})
	c.held = ""
}

// withdrawn shows at once that the user has withdrawn the block. It is called by
// the draft, which keeps the run from showing more.
func (c *call) withdrawn() {
	switch {
	case c.ended:
		_ = c.all.Append(runlog.Level{}, c.reset(true)) // a full log ends the run
	case c.open:
		_ = c.all.Append(c.at, c.reset(true))
	}
}

// begin opens the block's own thread and shows what comes before its content.
func (c *call) begin(header string) {
	c.at = c.all.Levels.OpenDocument(c.name, c.place.BlockIDs, c.place.Type)
	if c.shown {
		c.all.Emit(c.at, c.reset(false))
	}
	if header != "" {
		c.all.Emit(c.at, &runlog.BlockHeader{Place: c.place, Header: header, Revision: c.since, By: c.caller()})
	}
}

// content shows a piece of the content in small chunks, however much the
// model's server sends at once.
func (c *call) content(text string) {
	for text != "" {
		n := min(len(text), blockChunk)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		c.all.Emit(c.at, &runlog.BlockContent{Place: c.place, Text: text[:n], Revision: c.since, By: c.caller()})
		text = text[n:]
	}
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
