package record

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/chattray/chattray/schemas"
)

// Match is the revisions at which a change may be made; nil is any.
type Match []int64

// Holds says whether a change may be made at the revision.
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

// NewBlock is a block to be added to a document. After nil is the end, "" the
// front.
type NewBlock struct {
	ID      string
	Type    string
	Content string
	Meta    json.RawMessage
	After   *string
}

// BlockWrite puts content into the new of a document's block, or adds a block
// that has only that.
type BlockWrite struct {
	NewBlock // an empty Type is the block's own; a nil Meta stays
	// Only says that no block is to be added: an unknown one is
	// schemas.ErrNotFound.
	Only bool
	// Match is of the block, or of the document where one is added.
	Match Match
	// Create, when not nil, is the document that is made when there is none.
	Create *NewDocument
}

// Plan is a new structure for a document: its blocks take the place of those
// that are there, once the user accepts.
type Plan struct {
	Title  string
	Blocks []NewBlock
	Create *NewDocument
}

// PlannedKey is the key of a planned block's meta until it is written.
const PlannedKey = "plan"

// Settle is what the user decides about what is pending.
type Settle bool

// The decisions.
const (
	Accept Settle = true
	Revert Settle = false
)

// Settled is a block after a decision; Gone says that it is no more.
type Settled struct {
	Block schemas.Block
	Gone  bool
}
