package record

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Match lists the revisions at which a change may be made; nil means any.
type Match []int64

// Holds reports whether a change may be made at the revision.
func (m Match) Holds(revision int64) bool { return m == nil || slices.Contains(m, revision) }

// DocumentQuery asks for a page of a user's documents, newest first.
type DocumentQuery struct {
	Limit  int
	Cursor string
}

// NewDocument is a document to be made.
type NewDocument struct {
	ID        string
	Title     string
	CreatedAt time.Time
}

// NewBlock is a block to be added to a document. A nil After means the end, ""
// the front.
type NewBlock struct {
	ID      string
	Type    string
	Content string
	Meta    json.RawMessage
	After   *string
}

// BlockWrite sets the new content of a document's block, or adds a block that
// has only new content.
type BlockWrite struct {
	NewBlock // an empty Type keeps the block's type, a nil Meta its meta
	// Only forbids adding a block: an unknown one is schemas.ErrNotFound.
	Only bool
	// KeepsType refuses content of another type than the block's. Otherwise a block
	// that has no accepted content takes the new type.
	KeepsType bool
	// Applied says that the user puts the content there, from a chat: it is no part of a
	// plan that a run makes. Without Only an existing block moves to the place of After, if
	// that is given.
	Applied bool
	// Match is for the block with Only, else for the document, also if the block exists.
	Match Match
	// Create, when not nil, is the document to create if it does not exist.
	Create *NewDocument
	// Title is the text from which such a document's title is made, if it has
	// none.
	Title string
}

// Plan is a new structure for a document: its blocks replace the present ones
// once the user accepts.
type Plan struct {
	Title  string
	Blocks []NewBlock
	Create *NewDocument
}

// PlannedKey is the key of a planned block's meta until it is written.
const PlannedKey = "plan"

// MaxPlanned is the greatest number of blocks of a plan.
const MaxPlanned = 100

// Settle is the user's decision about pending changes.
type Settle bool

// The decisions.
const (
	Accept Settle = true
	Revert Settle = false
)

// Settled is a block after a decision; Gone is true if it no longer exists. Reverted is
// true if a text that waited for the user was dropped, or a deletion.
type Settled struct {
	Block    schemas.Block
	Gone     bool
	Reverted bool
}

// Withdrawal is a document into which a run writes nothing more, or else a block that the
// user has reverted or deleted.
type Withdrawal struct{ Run, Document, Block string }
