// Package documents owns what users and models do to documents and their blocks:
// the user's own changes, proposals that wait for the user, drafts that are
// stored while a model writes, and the export.
package documents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/concurrent"
	"github.com/chattray/chattray/schemas/record"
	"github.com/chattray/chattray/schemas/text"
)

// Limits of documents; the store has further ones.
const (
	maxBlockMeta    = 64 << 10 // bytes
	maxPlannedTitle = 200      // characters
	maxMadeTitle    = 60       // characters of a title that is made from a message
)

// untitled is the title of a document that is made from a message without
// words.
const untitled = "Untitled document"

// The parts of the store that Documents needs. Each call checks the owner: an unknown
// id or another user's is schemas.ErrNotFound. A match that is not met is
// schemas.ErrStale, an id in use is schemas.ErrTaken.

// Records reads and changes documents.
type Records interface {
	Documents(ctx context.Context, owner string, q record.DocumentQuery) (schemas.DocumentList, error)
	Document(ctx context.Context, owner, id string) (schemas.Document, error)
	CreateDocument(ctx context.Context, owner string, d record.NewDocument) (schemas.Document, error)
	RenameDocument(ctx context.Context, owner, id, title string, match record.Match) (schemas.Document, error)
	DeleteDocument(ctx context.Context, owner, id string, match record.Match) error
	SettleDocument(ctx context.Context, owner, id string, decision record.Settle, match record.Match) (schemas.Document, error)
}

// Versions reads and restores earlier states of documents, and knows what is no longer
// there: removed blocks, and documents that were withdrawn from runs.
type Versions interface {
	DocumentVersions(ctx context.Context, owner, id string) (schemas.DocumentVersionList, error)
	DocumentVersion(ctx context.Context, owner, id string, revision int64) (schemas.Document, error)
	RestoreDocument(ctx context.Context, owner, id string, revision int64, match record.Match) (schemas.Document, error)
	// Removed returns which of these ids blocks of the owner had that were removed, each
	// with a number that is not smaller than the revision of any of them. A block that
	// gets such an id has a greater revision.
	Removed(ctx context.Context, owner string, ids []string) (map[string]int64, error)
	// EarlierAnswer returns the superseded answer that has the id, or had it until a run
	// began that is under way and answers under it.
	EarlierAnswer(ctx context.Context, owner, id string) (schemas.Block, error)
	// Withdrawn returns the documents and blocks that were withdrawn from these runs.
	Withdrawn(ctx context.Context, runs []string) ([]record.Withdrawal, error)
}

// Blocks reads blocks, and makes the user's own changes.
type Blocks interface {
	Block(ctx context.Context, owner, id string) (schemas.Block, error)
	// AnswerChat returns the key of the chat to which an id of an answer belongs, also
	// while the answer is under way.
	AnswerChat(ctx context.Context, owner, id string) (string, error)
	AddBlock(ctx context.Context, owner, document string, b record.NewBlock, match record.Match) (schemas.Block, error)
	PatchBlock(ctx context.Context, owner, id string, p schemas.BlockPatch, match record.Match) (schemas.Block, error)
	DeleteBlock(ctx context.Context, owner, id string, match record.Match) error
	SettleBlock(ctx context.Context, owner, id string, decision record.Settle, match record.Match) (record.Settled, error)
}

// Proposals makes changes that wait for the user. Those of a run, whose fence is in the
// context, are record.ErrWithdrawn once the user has reverted its plan of the document or
// deleted the document.
type Proposals interface {
	WriteBlock(ctx context.Context, owner, document string, w record.BlockWrite) (schemas.Block, error)
	AppendBlock(ctx context.Context, owner, document, id, piece string) error
	// TouchBlock gives a block a new revision and changes nothing else.
	TouchBlock(ctx context.Context, owner, document, id string) (schemas.Block, error)
	ProposeMove(ctx context.Context, owner, document, id string, after *string) (schemas.Block, error)
	ProposeDelete(ctx context.Context, owner, document, id string) (record.Settled, error)
}

// Plans makes proposals of whole documents, as Proposals does of blocks.
type Plans interface {
	PlanDocument(ctx context.Context, owner, id string, p record.Plan) (schemas.Document, error)
	// DropPlanned removes the blocks that a run has planned and not written, and returns them.
	DropPlanned(ctx context.Context, owner, id, run string) ([]schemas.Block, error)
}

// Documents are the documents of users. Every call is for the user it is given;
// anything of another user is schemas.ErrNotFound. What the user does (Add,
// Patch, Delete) takes effect at once; what a model does (Plan, Write, Move,
// Remove) and what is applied from a chat waits until the user accepts or
// reverts it. A block is in one of the states in the first line, and a call
// leads to the state below it:
//
//	            clean    pending_new      pending_edit  pending_delete  pending_move
//	Write       edit     new              edit          edit            edit
//	Move        move     moved            edit          move            move
//	Remove      delete   gone             delete        delete          delete
//	Patch       clean    edit             edit          delete          move
//	 (a move)   moved    moved            moved         moved           clean, moved
//	Delete      gone     gone             gone          gone            gone
//	accept      clean    clean with new   … with new    gone            … moved
//	revert      clean    gone             … as it was   … as it was     … as it was
//
// A plan is one change of the whole document: it hides the blocks, which become
// pending_delete and keep their pending changes, and adds the planned ones.
// Reverting the document undoes the last plan, with those that its run has made
// directly before, and drops what came after; earlier changes remain pending. Write and
// Move of a hidden block with pending content are a conflict. A planned block without
// content is not accepted: it stays pending_new.
//
// Every call may be repeated without a further effect; a deleted block is
// schemas.ErrNotFound. It is safe for concurrent use.
type Documents struct {
	records   Records
	versions  Versions
	blocks    Blocks
	proposals Proposals
	plans     Plans
	now       func() time.Time
	claims    *claims
	shared    *sharedClaims // nil where no other process runs
	writing   drafts
	watched   watched
	locks     concurrent.Locks // by owner, see own
}

// owned are the documents of an owner whose lock is held: only one change is made at a
// time, so that a decision applies to exactly the content that it finds.
type owned struct {
	docs  *Documents
	owner string
}

// own waits for the lock of an owner, at most until ctx ends.
func (d *Documents) own(ctx context.Context, owner string) (o owned, unlock func(), err error) {
	unlock, err = d.locks.Lock(ctx, owner)
	return owned{d, owner}, unlock, err
}

// New returns the documents of a store, given in its five parts. Only this
// value knows the claims of runs, so a service has exactly one.
func New(records Records, versions Versions, blocks Blocks, proposals Proposals, plans Plans) *Documents {
	return &Documents{
		records: records, versions: versions, blocks: blocks, proposals: proposals, plans: plans, now: time.Now,
		claims: newClaims(), writing: drafts{all: make(map[place]*Draft)},
	}
}

// List returns a page of the user's documents, newest first, without blocks.
func (d *Documents) List(ctx context.Context, user schemas.User, q record.DocumentQuery) (schemas.DocumentList, error) {
	return d.records.Documents(ctx, user.ID, q)
}

// Get returns a document with its blocks in order.
func (d *Documents) Get(ctx context.Context, user schemas.User, id string) (schemas.Document, error) {
	return d.records.Document(ctx, user.ID, id)
}

// Create makes a document without blocks.
func (d *Documents) Create(ctx context.Context, user schemas.User, c schemas.DocumentCreate) (schemas.Document, error) {
	id, err := chosenID(c.ID)
	if err != nil {
		return schemas.Document{}, err
	}
	return d.records.CreateDocument(ctx, user.ID, record.NewDocument{ID: id, Title: c.Title, CreatedAt: d.now()})
}

// chosenID returns the client's id, or a new one if it is nil.
func chosenID(id *string) (string, error) {
	if id != nil {
		return *id, nil
	}
	made, err := uuid.NewV7()
	return made.String(), err
}

// Rename gives a document a title; a pending title is dropped. The returned
// document has no blocks.
func (d *Documents) Rename(ctx context.Context, user schemas.User, id, title string, match record.Match) (schemas.Document, error) {
	return d.records.RenameDocument(ctx, user.ID, id, title, match)
}

// Delete deletes a document with its blocks. What unfinished runs have written into it
// is withdrawn, and they write nothing more into a document with this id.
func (d *Documents) Delete(ctx context.Context, user schemas.User, id string, match record.Match) error {
	o, unlock, err := d.own(ctx, user.ID)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = withdrawing(d.writing.in(user.ID, id), func() (struct{}, error) {
		return struct{}{}, d.records.DeleteDocument(ctx, user.ID, id, match)
	})
	if err == nil {
		o.withdrawShown(ctx, id)
	}
	return err
}

// Versions returns the accepted states of a document before its changes, the
// newest first. They are bounded in number and size; the oldest are dropped
// first.
func (d *Documents) Versions(ctx context.Context, user schemas.User, id string) (schemas.DocumentVersionList, error) {
	return d.versions.DocumentVersions(ctx, user.ID, id)
}

// Version returns the document as it was at a version, with its blocks in order.
func (d *Documents) Version(ctx context.Context, user schemas.User, id string, revision int64) (schemas.Document, error) {
	return d.versions.DocumentVersion(ctx, user.ID, id, revision)
}

// Restore makes a version the current state of the document, as a new revision.
// The state before it becomes a version too. While something waits for the
// user, Restore is an error of code conflict. What unfinished runs have written and is not
// in the document any more is withdrawn, as when it is reverted.
func (d *Documents) Restore(ctx context.Context, user schemas.User, id string, revision int64, match record.Match) (schemas.Document, error) {
	o, unlock, err := d.own(ctx, user.ID)
	if err != nil {
		return schemas.Document{}, err
	}
	defer unlock()
	restored, err := d.versions.RestoreDocument(ctx, user.ID, id, revision, match)
	if err == nil {
		o.withdrawShown(ctx, id)
	}
	return restored, err
}

// AnyBlock returns a block of a document or a message of a chat as long as it is stored:
// Block, or else a superseded answer. While an answer is written again, its id is that of
// the earlier one.
func (d *Documents) AnyBlock(ctx context.Context, user schemas.User, id string) (schemas.Block, error) {
	b, err := d.Block(ctx, user, id)
	if errors.Is(err, schemas.ErrNotFound) {
		return d.versions.EarlierAnswer(ctx, user.ID, id)
	}
	return b, err
}

// Block returns a block of a document or a current message of a chat.
func (d *Documents) Block(ctx context.Context, user schemas.User, id string) (schemas.Block, error) {
	return d.blocks.Block(ctx, user.ID, id)
}

// Find returns a block of a document or a chat, and whether it exists. A nil
// Documents has no blocks.
func (d *Documents) Find(ctx context.Context, user schemas.User, id string) (b schemas.Block, found bool, err error) {
	if d == nil {
		return b, false, nil
	}
	b, err = d.Block(ctx, user, id)
	if errors.Is(err, schemas.ErrNotFound) {
		return schemas.Block{}, false, nil
	}
	return b, err == nil, err
}

// FindStored is Find, and waits for the database as long as ctx says.
func (d *Documents) FindStored(ctx context.Context, user schemas.User, id string) (b schemas.Block, found bool, err error) {
	b, err = record.Persist(ctx, func() (b schemas.Block, err error) {
		b, found, err = d.Find(ctx, user, id)
		return b, err
	})
	return b, found, err
}

// Known returns a block of a document or a chat, empty if there is none, and whether a
// client may show something under the id: the block, or an earlier one with it. With an
// error it may.
func (d *Documents) Known(ctx context.Context, user schemas.User, id string) (b schemas.Block, known bool, err error) {
	b, found, err := d.Find(ctx, user, id)
	if found || err != nil {
		return b, true, err
	}
	removed, err := d.Removed(ctx, user, []string{id})
	return b, len(removed) > 0 || err != nil, err
}

// Removed returns which of these ids blocks of the user had that were removed, each
// with a number that is not smaller than the revision of any of them. A nil Documents
// had none.
func (d *Documents) Removed(ctx context.Context, user schemas.User, ids []string) (map[string]int64, error) {
	if d == nil {
		return nil, nil
	}
	return d.versions.Removed(ctx, user.ID, ids)
}

// Add adds a block of the user. The match is for the document's revision. A block that the
// document has already, with the client's id and this content, is returned as it is.
func (d *Documents) Add(ctx context.Context, user schemas.User, document string, c schemas.BlockCreate, match record.Match) (schemas.Block, error) {
	id, err := chosenID(c.ID)
	if err != nil {
		return schemas.Block{}, err
	}
	if err := checkContent(BlockType(c.Type), c.Content, c.Meta); err != nil {
		return schemas.Block{}, err
	}
	return d.blocks.AddBlock(ctx, user.ID, document, record.NewBlock{
		ID: id, Type: BlockType(c.Type), Content: c.Content, Meta: c.Meta, After: c.AfterBlockID,
	}, match)
}

// Patch makes an edit of the user: it changes the current content.
func (d *Documents) Patch(ctx context.Context, user schemas.User, id string, p schemas.BlockPatch, match record.Match) (schemas.Block, error) {
	if p.Content != nil || p.Meta != nil {
		b, err := d.blocks.Block(ctx, user.ID, id)
		if err != nil {
			return schemas.Block{}, err
		}
		content := ""
		if p.Content != nil {
			content = *p.Content
		}
		if err := checkContent(b.Type, content, p.Meta); err != nil {
			return schemas.Block{}, err
		}
	}
	return d.blocks.PatchBlock(ctx, user.ID, id, p, match)
}

// DeleteBlock deletes a block of a document; what unfinished runs have written into it, or
// are writing, is withdrawn.
func (d *Documents) DeleteBlock(ctx context.Context, user schemas.User, id string, match record.Match) error {
	o, unlock, err := d.own(ctx, user.ID)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = withdrawing(d.writing.into(user.ID, id), func() (struct{}, error) {
		return struct{}{}, d.blocks.DeleteBlock(ctx, user.ID, id, match)
	})
	if err == nil {
		o.withdrawBlock(id, nil)
	}
	return err
}

// Apply puts a chat's block into a document, without its tool markers: as the
// pending content of the target, whose type stays, else as a pending block after
// another one, by default at the end. The match is for the target's revision, or, without
// a target, for the document's. Applying the same block to a document again moves it to
// the given place instead of adding it twice.
func (d *Documents) Apply(ctx context.Context, user schemas.User, id string, a schemas.BlockApply, match record.Match) (schemas.Block, error) {
	source, err := d.AnyBlock(ctx, user, id)
	if err != nil {
		return schemas.Block{}, err
	}
	if source.DocumentID != "" || source.Current == nil {
		return schemas.Block{}, schemas.NewError(schemas.CodeInvalid, "only a block of a chat can be applied to a document")
	}
	content := text.WithoutMarkers(*source.Current)
	if content == "" {
		return schemas.Block{}, schemas.NewError(schemas.CodeInvalid, "the block has no text to apply")
	}
	w := record.BlockWrite{Match: match, Applied: true, NewBlock: record.NewBlock{Type: source.Type, Content: content, Meta: source.Meta, After: a.AfterBlockID}}
	if w.ID = a.TargetBlockID; w.ID != "" {
		w.Only, w.KeepsType = true, true
	} else {
		sum := sha256.Sum256([]byte(id + "/" + a.DocumentID))
		w.ID = hex.EncodeToString(sum[:12])
	}
	_, unlock, err := d.own(ctx, user.ID)
	if err != nil {
		return schemas.Block{}, err
	}
	defer unlock()
	if len(d.writing.into(user.ID, w.ID)) > 0 {
		return schemas.Block{}, record.ErrBeingWritten
	}
	return d.proposals.WriteBlock(ctx, user.ID, a.DocumentID, w)
}
