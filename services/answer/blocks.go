package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/services/answer/argstream"
	"github.com/chattray/chattray/services/documents"
	"github.com/chattray/chattray/services/eventlog"
	"github.com/chattray/chattray/services/guard"
)

// blockChunk bounds the content of a block in one chunk, in bytes.
const blockChunk = 32 << 10

// blockCall is a call while the model writes it: the argument that its tool
// streams goes into a block and into the log piece by piece.
type blockCall struct {
	wr     *Writer
	index  int
	name   string
	callID string
	tool   turn.Tool // empty before the name is known, or when it is not offered
	unread string    // arguments that arrived before the name
	args   argstream.Reader
	held   string // content that is not shown yet
	place  runlog.Place
	since  int64            // the document's revision when the block was begun
	given  string           // the block_id of the arguments when it was opened
	early  int              // how many arguments were known when it was opened
	kind   string           // the block's type, "" before it is known
	shown  bool             // the page has the block already
	draft  *documents.Draft // nil before it is opened
	closed bool             // nothing more is shown
	later  bool             // it is shown when it runs, see showLater
	open   bool             // its levels are open; read and written in Show of the draft
	again  bool             // the block is shown a second time, but not its arguments

	// withheld are the arguments from the content on that are not shown yet, beside
	// those of them that come after the content; see settle.
	withheld, beside string
	streamed         bool // the arguments are shown without the content

	at runlog.Level
	by *runlog.Caller
}

// step shows what there is of the content, as far as it can be shown now. The block
// ends with its content.
func (c *blockCall) step() {
	if c.later || c.closed || c.tool.Streams.MustExist && c.args.Head[c.tool.Streams.Block] == nil {
		return
	}
	switch {
	case c.held == "":
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

// planning reports whether an earlier call of the current reply makes a plan:
// the plan would remove what is written now.
func (wr *Writer) planning(index int) bool {
	for i := wr.asked(); i < index; i++ {
		if c := wr.blocks[i]; c != nil && c.tool.Replans {
			return true
		}
	}
	return false
}

// showLater shows the block of a call that had to wait for a plan, or for another
// run, now that it runs.
func (wr *Writer) showLater(index int) {
	if c := wr.blocks[index]; c != nil && c.later {
		c.later = false
		if c.streams() {
			c.step()
		}
		c.end("completed")
	}
}

// streams reports whether an argument of the call is shown while the model
// writes it. It is not if the call may still be refused.
func (c *blockCall) streams() bool {
	return c.tool.Streams != nil && !c.tool.Confirm && c.wr.deps.Approve != guard.All
}

// first reports whether there is enough content for the first piece: for CSV the
// header row.
func (c *blockCall) first() bool {
	if c.kind == "" {
		if !c.claim() {
			return false
		}
		c.look()
	}
	if strings.HasPrefix(c.kind, "image/") {
		return c.args.Ended // it is checked first
	}
	if c.kind != schemas.BlockCSV || c.args.Ended {
		return true
	}
	_, whole := schemas.HeaderRow(c.held)
	return whole
}

// look reads the block that the arguments name or that an earlier attempt of
// the run has added.
func (c *blockCall) look() {
	ctx, done := c.wr.storing()
	defer done()
	b, err := c.wr.deps.Drafts.Block(ctx, c.wr.run.Owner, c.id())
	c.shown = err == nil
	c.kind = cmp.Or(c.argument(c.tool.Streams.Type), b.Type, schemas.BlockMarkdown)
}

// id returns the block's id: the given one, or one made from run and call.
func (c *blockCall) id() string {
	return cmp.Or(c.argument(c.tool.Streams.Block), turn.BlockID(c.wr.run.ID, c.index, c.name, 0))
}

// argument returns the argument of that name if it is a string, else "".
func (c *blockCall) argument(name string) string {
	if name == "" {
		return ""
	}
	return argText(c.args.Head, name)
}

// argText returns a property that is a string.
func argText(head map[string]json.RawMessage, key string) string {
	var text string
	if json.Unmarshal(head[key], &text) != nil {
		return ""
	}
	return text
}

// claim claims the block before it is read. If another run writes the block, the
// content waits until the call runs.
func (c *blockCall) claim() bool {
	if c.wr.document() == "" { // the tool will report it
		c.closed = true
		return false
	}
	if holder, err := c.wr.deps.Drafts.Claim(c.wr.ctx, c.wr.claimOf(c.id())); holder != "" || err != nil {
		c.later = true
	}
	return !c.closed && !c.later
}

// start begins the block with the first piece of its content.
func (c *blockCall) start() {
	streams, document := c.tool.Streams, c.wr.document()
	c.given, c.early = c.argument(streams.Block), len(c.args.Head)
	w := record.BlockWrite{Only: c.given != "", Title: c.wr.run.Request.Message, NewBlock: record.NewBlock{
		ID: c.id(), Type: c.argument(streams.Type), Content: c.held,
	}}
	if meta := c.args.Head[streams.Meta]; streams.Meta != "" && len(meta) > 0 && string(meta) != "null" {
		w.Meta = meta
	}
	if after := c.args.Head[streams.After]; streams.After != "" && len(after) > 0 && string(after) != "null" {
		w.After = new(c.argument(streams.After))
	}
	ctx, done := c.wr.storing()
	defer done()
	draft, b, err := c.wr.deps.Drafts.Draft(ctx, c.wr.run.Owner, document, w, c.wr.run.ID, c.withdrawn)
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
func (c *blockCall) withdrawn() {
	if c.open {
		_ = c.wr.deps.Log.Append(c.at, c.reset(true)) // a full log ends the run
	}
}

// begin opens the block's own thread and shows what comes before its content.
func (c *blockCall) begin(header string) {
	c.at = c.wr.levels.OpenDocument(c.name, c.place.BlockIDs, c.place.Type)
	if c.shown {
		c.wr.emit(c.at, c.reset(false))
	}
	if header != "" {
		c.wr.emit(c.at, &runlog.BlockHeader{Place: c.place, Header: header, Revision: c.since, By: c.caller()})
	}
}

// content shows a piece of the content in small chunks, however much the
// model's server sends at once.
func (c *blockCall) content(text string) {
	for text != "" {
		n := min(len(text), blockChunk)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		c.wr.emit(c.at, &runlog.BlockContent{Place: c.place, Text: text[:n], Revision: c.since, By: c.caller()})
		text = text[n:]
	}
}

// show adds a piece to the block. Once a piece is refused, nothing more is
// shown.
func (c *blockCall) show(piece string) {
	ctx, done := c.wr.storing()
	defer done()
	err := c.draft.Write(ctx, piece, func() { c.content(piece) })
	c.wr.stopFenced(err)
	if err != nil && !errors.Is(err, record.ErrUnavailable) {
		c.end("partial")
	}
}

// end stores the held content and ends the block.
func (c *blockCall) end(status string) {
	if c.closed || c.draft == nil {
		c.closed = true
		c.settle(true)
		return
	}
	c.closed = true
	whole := c.wr.endDraft(c.draft, c.at, c.reset(true))
	if !c.open {
		return
	}
	if whole {
		c.wr.emit(c.at, &runlog.BlockDone{Place: c.place, By: c.caller()})
	} else if status == "completed" {
		status = "partial"
	}
	c.wr.levels.CloseDocument(c.at, status)
}

// endDraft ends a draft and reports whether all of it is stored. A block that
// could not be stored completely is removed from the document, and readers are
// told with reset, so that they see what is stored.
func (wr *Writer) endDraft(d *documents.Draft, at runlog.Level, reset *runlog.BlockReset) bool {
	ctx, done := wr.storing()
	defer done()
	err := d.End(ctx)
	wr.stopFenced(err)
	switch {
	case err == nil:
		return !d.Withdrawn()
	case errors.Is(err, record.ErrFenced): // the block is the later attempt's
		return false
	case errors.Is(err, record.ErrUnavailable): // the run stops too
		wr.deps.Logger.Warn("store a piece of a block", "run_id", wr.run.ID, "error", err)
		return true
	}
	if _, err := wr.deps.Drafts.Settle(ctx, wr.run.Owner, d.Block(), record.Revert, nil); err != nil {
		wr.deps.Logger.Warn("remove an incomplete block", "run_id", wr.run.ID, "error", err)
	}
	wr.emit(at, reset)
	return false
}

// storing returns a context for the writes of a draft, which also works while the run
// is being stopped.
func (wr *Writer) storing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(wr.ctx), eventlog.CommitWait)
}

// wholeBlocks ends the blocks of a whole reply, and shows those whose arguments
// did not arrive in pieces. If arguments after the content say more about a
// block, such as its id or its place, the block is shown again; a block that
// was added without them is removed.
func (wr *Writer) wholeBlocks(e *turn.Reply) {
	if wr.silent || wr.deps.Drafts == nil {
		return
	}
	for i, call := range e.ToolCalls {
		index := e.FirstIndex + i
		whole := turn.ToolArguments{Index: index, ID: call.ID, Name: call.Name}
		if wr.blocks[index] == nil {
			whole.Fragment = call.Arguments
		}
		wr.arguments(whole)
		c := wr.blocks[index]
		if c == nil || c.later {
			continue
		}
		c.end("completed")
		if c.draft != nil && len(c.args.Head) > c.early && c.takeBack() {
			first := strings.TrimSuffix(string(schemas.Encode(c.args.Head)), "}")
			whole.Fragment = first + `,` + strings.TrimPrefix(strings.TrimSpace(call.Arguments), "{")
			c = &blockCall{wr: wr, index: index, again: true}
			wr.blocks[index] = c
			c.take(whole)
			c.end("completed")
		}
	}
}

// takeBack removes a block that was added too early. It reports false if the
// user has removed it.
func (c *blockCall) takeBack() bool {
	if c.given != "" {
		return true
	}
	wr := c.wr
	ctx, done := wr.storing()
	defer done()
	if _, err := wr.deps.Drafts.Remove(ctx, wr.run.Owner, c.place.DocumentID, c.place.BlockIDs); errors.Is(err, schemas.ErrNotFound) {
		return false
	} else if err != nil {
		wr.deps.Logger.Warn("remove a block that was added too early", "run_id", wr.run.ID, "error", err)
	}
	wr.emit(runlog.Level{}, c.reset(true))
	return true
}

// withdrawnText tells the model that the user did not want the block.
const withdrawnText = "What you wrote is not in the document: while you were writing it, the user rejected it, or deleted the block or the document. " +
	"Do not write it again unless the user asks for it."

// noteDraft notes the block that a call has been writing when it begins to run.
func (wr *Writer) noteDraft(index int) {
	if c := wr.blocks[index]; c != nil && c.draft != nil {
		wr.mu.Lock()
		defer wr.mu.Unlock()
		if wr.drafts == nil {
			wr.drafts = make(map[int]*documents.Draft)
		}
		wr.drafts[index] = c.draft
	}
}

// withdrawn reports whether the user has refused what the model was writing:
// the call must not write it again.
func (wr *Writer) withdrawn(ctx context.Context, t *turn.Tool, c *turn.Call) bool {
	wr.mu.Lock()
	d := wr.drafts[c.Index]
	wr.mu.Unlock()
	var input map[string]json.RawMessage
	switch {
	case json.Unmarshal(c.Input, &input) != nil:
		return false
	case d == nil:
		return t.Streams != nil && wr.run.Earlier.Withdrew(c.Index, cmp.Or(argText(input, t.Streams.Block), c.BlockID(0)))
	}
	return d.Withdrawn() || wr.refused(ctx, d.Block(), argText(input, t.Streams.Argument))
}

// refused reports whether the user has refused the block. A refused block no
// longer exists, or has nothing pending and none of the text. If the user
// accepted a part of the text, the block's content is a prefix of the whole.
func (wr *Writer) refused(ctx context.Context, id, whole string) bool {
	b, err := wr.deps.Drafts.Block(ctx, wr.run.Owner, id)
	switch {
	case errors.Is(err, schemas.ErrNotFound):
		return true
	case err != nil, b.New != nil, b.State == schemas.BlockPendingDelete:
		return false
	}
	return b.Current == nil || *b.Current == "" || !strings.HasPrefix(whole, *b.Current)
}

// endBlocks ends what is still being written into blocks when a run ends.
func (wr *Writer) endBlocks(status string) {
	for _, c := range wr.blocks {
		c.end(status)
	}
	if wr.answer.document != "" {
		wr.answer.end(wr)
	}
}
