package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/fences"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
	"github.com/chattray/chattray/schemas/turn"
	"github.com/chattray/chattray/tools"
)

// Limits of the document tools. Reading a whole document shows at most
// maxReadBlock of each block and about maxReadDocument in total, and less if the model
// gets less; a single block is shown in parts, with its meta.
const (
	maxPlanText     = 500 // characters of a heading or a brief
	maxReadBlock    = 6_000
	maxReadDocument = 60_000
)

// documents stores what the tools write. Changes are proposals until the user
// accepts them. Plan and Write create the document if there is none. Repeating
// a call changes nothing.
type documents interface {
	Get(ctx context.Context, user schemas.User, id string) (schemas.Document, error)
	Plan(ctx context.Context, user schemas.User, id, title string, blocks []record.NewBlock) (schemas.Document, error)
	Write(ctx context.Context, user schemas.User, document string, w record.BlockWrite) (schemas.Block, error)
	Move(ctx context.Context, user schemas.User, document, id string, after *string) (schemas.Block, error)
	Remove(ctx context.Context, user schemas.User, document, id string) (record.Settled, error)
	// Removed returns which of these ids blocks of the user had that were removed.
	Removed(ctx context.Context, user schemas.User, ids []string) (map[string]int64, error)
}

// Documents returns the tools that read and write the document of the page:
// read_document, plan_document, write_block, edit_block, delete_block and
// move_block; none without documents. The document is the one named in the
// page's context, else the chat's own.
//
// All are idempotent: a new block's id depends only on the run and the call,
// and repeating a write, a deletion or a move changes nothing. Tools that
// change something run alone, in the model's order.
func Documents(data documents) []turn.Tool {
	if data == nil {
		return nil
	}
	d := documentTools{data}
	id := func(s *jsonschema.Schema, names ...string) {
		for _, name := range names {
			s.Properties[name].Pattern = text.IDOrNone
		}
	}
	return []turn.Tool{
		tools.New("read_document", "Read the document on the user's page, as it will be when all that is pending is accepted: each block with its id, type, state and content. "+
			"Long blocks are shortened; pass a block_id to read one whole. What is very long comes in parts: pass start to read on.", d.read, tools.Words("Read the document", "Read the document|Read the document {n} times"), tools.Idempotent(), tools.Untrusted(), tools.Retold(),
			tools.Refine(func(s *jsonschema.Schema) { id(s, "block_id"); atLeast(s, 0, "start") })),
		tools.New("plan_document", "Plan a new document, or the whole document again: its title and its blocks in order, to be filled with write_block afterwards, one after the other. "+
			"Everything that the document has now is marked as deleted; the user decides.", d.plan, tools.Words("Plan the document", "Planned the document|Planned {n} documents"), tools.Idempotent(), tools.Serial(), tools.Retold(), tools.Document(), tools.Replans(),
			tools.Refine(func(s *jsonschema.Schema) {
				most := record.MaxPlanned
				sized(s, "title", 1, 200)
				one := 1
				s.Properties["blocks"].MinItems, s.Properties["blocks"].MaxItems = &one, &most
			})),
		tools.New("write_block", "Write a block's content: into a planned or existing block by its block_id, or as a new block. "+
			"It waits until the user accepts it. Types: md for Markdown; csv with the header in the first row; interactive_chart, whose content is CSV and whose "+
			"meta is a Vega-Lite specification without data; image/png or image/jpg in base64.", d.write, tools.Words("Write a block", "Wrote a block|Wrote {n} blocks"), tools.Idempotent(), tools.Serial(), tools.Retold(), tools.Document(),
			tools.Streams(turn.StreamedArgument{Argument: "content", Block: "block_id", Type: "type", Meta: "meta", After: "after_block_id"}),
			tools.Refine(func(s *jsonschema.Schema) { id(s, "block_id", "after_block_id"); sized(s, "type", 0, 64) })),
		tools.New("edit_block", "Replace the content of an existing block. It waits until the user accepts it.", d.edit, tools.Words("Change a block", "Changed a block|Changed {n} blocks"), tools.Idempotent(), tools.Serial(), tools.Retold(), tools.Document(),
			tools.Streams(turn.StreamedArgument{Argument: "content", Block: "block_id", MustExist: true}),
			tools.Refine(func(s *jsonschema.Schema) { id(s, "block_id") })),
		tools.New("delete_block", "Mark a block as deleted. It is removed when the user accepts that.", d.remove, tools.Words("Remove a block", "Removed a block|Removed {n} blocks"), tools.Idempotent(), tools.Serial(), tools.Retold(), tools.Document(),
			tools.Refine(func(s *jsonschema.Schema) { id(s, "block_id") })),
		tools.New("move_block", "Move a block after another one; an empty after_block_id is the front. It moves when the user accepts that.", d.move, tools.Words("Move a block", "Moved a block|Moved {n} blocks"), tools.Idempotent(), tools.Serial(), tools.Retold(), tools.Document(),
			tools.Refine(func(s *jsonschema.Schema) { id(s, "block_id", "after_block_id") })),
	}
}

type documentTools struct{ data documents }

type readArguments struct {
	BlockID string `json:"block_id,omitempty" jsonschema:"only this block, whole"`
	Start   int    `json:"start,omitempty" jsonschema:"character at which to start, from the note at the end of an earlier part"`
}

type planArguments struct {
	Title  string         `json:"title" jsonschema:"title of the document"`
	Blocks []plannedBlock `json:"blocks" jsonschema:"the blocks in order"`
}

type plannedBlock struct {
	Type    string `json:"type" jsonschema:"md, csv, interactive_chart, image/png or image/jpg"`
	Heading string `json:"heading" jsonschema:"heading of the block"`
	Brief   string `json:"brief,omitempty" jsonschema:"what the block is to say, in a sentence"`
}

// The content comes last, so that it can be shown while it is written.

type writeArguments struct {
	BlockID      string         `json:"block_id,omitempty" jsonschema:"id of the planned or existing block; without it a new block is added"`
	Type         string         `json:"type,omitempty" jsonschema:"type of the block; of a new one md if not given"`
	Meta         map[string]any `json:"meta,omitempty" jsonschema:"of an interactive_chart its Vega-Lite specification without data; of an image mime, width and height"`
	AfterBlockID *string        `json:"after_block_id,omitempty" jsonschema:"where a new block goes: after this block, to the front if empty, to the end if not given"`
	Content      string         `json:"content" jsonschema:"all of the content"`
}

type editArguments struct {
	BlockID string `json:"block_id" jsonschema:"id of the block"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

type blockArguments struct {
	BlockID string `json:"block_id" jsonschema:"id of the block"`
}

type moveArguments struct {
	BlockID      string `json:"block_id" jsonschema:"id of the block"`
	AfterBlockID string `json:"after_block_id" jsonschema:"id of the block that it comes after; empty is the front"`
}

// holdFor is how long a call waits while the database is away.
const holdFor = 30 * time.Second

// held repeats what a call does while the database is away: its text, which the page has
// shown, would be lost, or the model would answer without what it has asked for. That changes
// nothing a second time.
func held[T any](ctx context.Context, do func() (T, error)) (T, error) {
	waiting, done := context.WithTimeout(ctx, holdFor)
	defer done()
	return record.Persist(waiting, do)
}

// target returns the id of a call's document.
func target(call *tools.Call) (string, error) {
	id := turn.DocumentID(call.Context, call.ConversationID)
	if id == "" {
		return "", tools.Invalid("the page names no valid document_id")
	}
	return id, nil
}

// seen reports to the page what has changed.
func seen(call *tools.Call, message string, what turn.BlockProgress) {
	call.Progress(turn.DocumentStage, message, 1, what)
}

func changed(call *tools.Call, document, message string, b *schemas.Block) {
	seen(call, message, turn.BlockProgress{BlockID: b.ID, DocumentID: document, Type: b.Type, State: b.State, Revision: b.Revision})
}

// noBlock returns an error that tells the model what to do about an unknown id.
func noBlock(err error) error {
	if err != nil && schemas.Visible(err).Code == schemas.CodeNotFound {
		return tools.Invalid("there is no such block in this document; call read_document for the ids of its blocks")
	}
	return err
}

// refused returns an error that tells the model which argument a block does not
// accept, and why.
func refused(err error) error {
	if err == nil {
		return nil
	}
	if seen := schemas.Visible(err); len(seen.Fields) > 0 {
		return tools.Invalid(strings.TrimPrefix(seen.Fields[0].Pointer, "/") + " " + seen.Fields[0].Detail)
	}
	return err
}

func (d documentTools) read(ctx context.Context, call *tools.Call, in readArguments) (tools.Result, error) {
	id, err := target(call)
	if err != nil {
		return tools.Result{}, err
	}
	doc, err := held(ctx, func() (schemas.Document, error) { return d.data.Get(ctx, call.User, id) })
	if err != nil && schemas.Visible(err).Code != schemas.CodeNotFound {
		return tools.Result{}, err
	}
	blocks := proposed(doc.Blocks)
	if in.BlockID != "" {
		for i := range blocks {
			if blocks[i].ID == in.BlockID {
				return withBlocks(blockPart(call, &blocks[i], in.Start), blocks[i:i+1])
			}
		}
		return tools.Result{}, noBlock(schemas.ErrNotFound)
	}
	if len(blocks) == 0 {
		return tools.Text("The document has no blocks yet. Plan it with plan_document, or add blocks with write_block."), nil
	}
	return withBlocks(documentPart(call, &doc, blocks, in.Start), blocks)
}

func (d documentTools) plan(ctx context.Context, call *tools.Call, in planArguments) (tools.Result, error) {
	id, err := target(call)
	if err != nil {
		return tools.Result{}, err
	}
	blocks := make([]record.NewBlock, len(in.Blocks))
	lines := make([]string, len(in.Blocks))
	for i, p := range in.Blocks {
		p.Heading, p.Brief = text.Ellipsis(text.OneLine(p.Heading), maxPlanText), text.Ellipsis(text.OneLine(p.Brief), maxPlanText)
		meta, err := json.Marshal(map[string]any{record.PlannedKey: map[string]string{"heading": p.Heading, "brief": p.Brief}})
		if err != nil {
			return tools.Result{}, err
		}
		blocks[i] = record.NewBlock{ID: call.BlockID(i), Type: cmp.Or(p.Type, schemas.BlockMarkdown), Meta: meta}
		lines[i] = fmt.Sprintf("%s (%s)", p.Heading, cmp.Or(p.Brief, "no brief"))
	}
	doc, err := held(ctx, func() (schemas.Document, error) {
		return d.data.Plan(ctx, call.User, id, strings.TrimSpace(in.Title), blocks)
	})
	if err != nil {
		return tools.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The document %q is planned. Fill its blocks with write_block, one after the other:\n", text.OneLine(in.Title))
	var planned []schemas.Block // without those that the user has removed
	var ids, types []string
	for i := range blocks {
		n := slices.IndexFunc(doc.Blocks, func(b schemas.Block) bool { return b.ID == blocks[i].ID })
		if n < 0 {
			continue
		}
		has := schemas.Block{ID: blocks[i].ID, Type: doc.Blocks[n].Type}
		planned, ids, types = append(planned, has), append(ids, has.ID), append(types, has.Type)
		fmt.Fprintf(&b, "\nblock_id: %s (%s, planned)\n%s\n", has.ID, has.Type, lines[i])
	}
	if gone := len(blocks) - len(planned); gone > 0 {
		fmt.Fprintf(&b, "\nThe user has removed %d of the planned blocks; leave them out.\n", gone)
	}
	seen(call, "Planned "+counted(len(ids), "block", "blocks"), turn.BlockProgress{
		BlockIDs: strings.Join(ids, ","), BlockTypes: strings.Join(types, ","), DocumentID: id, Type: schemas.BlockMarkdown, NewDoc: true,
	})
	return withBlocks(b.String(), planned)
}

func (d documentTools) write(ctx context.Context, call *tools.Call, in writeArguments) (tools.Result, error) {
	w := record.BlockWrite{Only: in.BlockID != "", NewBlock: record.NewBlock{ID: cmp.Or(in.BlockID, call.BlockID(0)), Type: in.Type, Content: in.Content, After: in.AfterBlockID}}
	if in.Meta != nil {
		meta, err := json.Marshal(in.Meta)
		if err != nil {
			return tools.Result{}, err
		}
		w.Meta = meta
	}
	return d.put(ctx, call, w)
}

func (d documentTools) edit(ctx context.Context, call *tools.Call, in editArguments) (tools.Result, error) {
	return d.put(ctx, call, record.BlockWrite{Only: true, NewBlock: record.NewBlock{ID: in.BlockID, Content: in.Content}})
}

func (d documentTools) put(ctx context.Context, call *tools.Call, w record.BlockWrite) (tools.Result, error) {
	id, err := target(call)
	if err != nil {
		return tools.Result{}, err
	}
	w.Title = call.Message
	b, err := held(ctx, func() (schemas.Block, error) { return d.data.Write(ctx, call.User, id, w) })
	if err != nil {
		return tools.Result{}, noBlock(refused(err))
	}
	changed(call, id, "Wrote a block", &b)
	content, beside := fences.Content(b.Type, w.Content)
	said := "The block is written and waits for the user."
	if b.State == schemas.BlockClean {
		said = "The block has this content, and nothing of it waits for the user."
	}
	if beside {
		said += " The text around its code fence was left out: the content must be the data alone."
	}
	return tools.Text(fmt.Sprintf("%s\n\nblock_id: %s (%s, %s)\n%s characters, beginning with: %s",
		said, b.ID, b.Type, stateWord(b.State), grouped(utf8.RuneCountInString(content)), cmp.Or(beginning(&b), "nothing"))), nil
}

func (d documentTools) remove(ctx context.Context, call *tools.Call, in blockArguments) (tools.Result, error) {
	id, err := target(call)
	if err != nil {
		return tools.Result{}, err
	}
	out, err := held(ctx, func() (record.Settled, error) { return d.data.Remove(ctx, call.User, id, in.BlockID) })
	if errors.Is(err, schemas.ErrNotFound) { // an earlier try, whose answer was lost, may have removed it
		removed, unread := held(ctx, func() (map[string]int64, error) { return d.data.Removed(ctx, call.User, []string{in.BlockID}) })
		if _, gone := removed[in.BlockID]; gone {
			seen(call, "Removed a block", turn.BlockProgress{BlockID: in.BlockID, DocumentID: id, Gone: true})
			return tools.Text(fmt.Sprintf("The block %s is gone.", in.BlockID)), nil
		}
		err = cmp.Or(unread, err)
	}
	if err != nil {
		return tools.Result{}, noBlock(err)
	}
	b := &out.Block
	if out.Gone {
		seen(call, "Removed a block", turn.BlockProgress{BlockID: b.ID, DocumentID: id, Type: b.Type, Gone: true})
		return tools.Text(fmt.Sprintf("The block %s (%s) was new and is gone. It began with: %s", b.ID, b.Type, cmp.Or(beginning(b), "nothing"))), nil
	}
	changed(call, id, "Marked a block as deleted", b)
	return tools.Text(fmt.Sprintf("The block %s (%s) is marked as deleted and is removed when the user accepts that. It begins with: %s", b.ID, b.Type, cmp.Or(beginning(b), "nothing"))), nil
}

func (d documentTools) move(ctx context.Context, call *tools.Call, in moveArguments) (tools.Result, error) {
	id, err := target(call)
	if err != nil {
		return tools.Result{}, err
	}
	b, err := held(ctx, func() (schemas.Block, error) { return d.data.Move(ctx, call.User, id, in.BlockID, &in.AfterBlockID) })
	if err != nil {
		return tools.Result{}, noBlock(err)
	}
	changed(call, id, "Moved a block", &b)
	where := "to the front"
	if in.AfterBlockID != "" {
		where = "after the block " + in.AfterBlockID
	}
	return tools.Text(fmt.Sprintf("The block %s (%s) is moved %s; its state is %s. It begins with: %s", b.ID, b.Type, where, stateWord(b.State), cmp.Or(beginning(&b), "nothing"))), nil
}
