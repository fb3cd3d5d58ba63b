package schemas

import (
	"encoding/json"
	"time"
)

// The types of blocks that the service knows. Any other type is stored and passed on.
const (
	BlockMarkdown = "md"
	BlockCSV      = "csv"
	BlockChart    = "interactive_chart"
)

// BlockState is the kind of change of a block that waits for the user.
type BlockState string

// The block states. A clean block has current only, a pending_new one new only,
// a pending_edit one both. A pending_move block has a new_position and no new;
// a pending_delete one is removed when it is accepted.
const (
	BlockClean         BlockState = "clean"
	BlockPendingNew    BlockState = "pending_new"
	BlockPendingEdit   BlockState = "pending_edit"
	BlockPendingDelete BlockState = "pending_delete"
	BlockPendingMove   BlockState = "pending_move"
)

// Document is an ordered collection of blocks. NewTitle is a title that waits
// for the user. Revision grows with every change of the document or one of its
// blocks, and UpdatedAt is the time of the last change. Blocks are set when one
// document is read, in order of their positions; Pending are the ids of blocks
// that wait for the user.
type Document struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	NewTitle  string    `json:"new_title,omitempty"`
	Owner     string    `json:"owner"`
	Revision  int64     `json:"revision"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Blocks    []Block   `json:"blocks,omitzero"`
	Pending   []string  `json:"pending,omitzero"`
}

// DocumentList is a page of documents, the newest first, without their blocks.
type DocumentList struct {
	Items      []Document `json:"items"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

// VersionReason is why a document was stored as a version.
type VersionReason string

// The reasons: proposals were accepted, the user changed blocks or the title,
// or another version was restored.
const (
	VersionAccepted VersionReason = "accepted"
	VersionEdited   VersionReason = "edited"
	VersionRestored VersionReason = "restored"
)

// DocumentVersion is the accepted state of a document before a change. Revision
// is the document's revision at that time, which names the version; CreatedAt
// is the time and Reason the kind of the change. Blocks is the number of
// blocks.
type DocumentVersion struct {
	Revision  int64         `json:"revision"`
	Title     string        `json:"title"`
	Reason    VersionReason `json:"reason"`
	Blocks    int           `json:"blocks"`
	CreatedAt time.Time     `json:"created_at"`
}

// DocumentVersionList has the versions of a document, the newest first.
type DocumentVersionList struct {
	Items []DocumentVersion `json:"items"`
}

// DocumentCreate makes a document, with the client's own id unless it is nil.
type DocumentCreate struct {
	ID    *string `json:"id,omitempty" validate:"omitempty,clientid"`
	Title string  `json:"title" validate:"required,max=200"`
}

// DocumentPatch renames a document.
type DocumentPatch struct {
	Title string `json:"title" validate:"required,max=200"`
}

// Block is an element of content with data about how to render it. It belongs
// to a document or to a chat; the Current of a chat's message is its text. New,
// NewMeta and NewPosition wait for the user. Blocks of a document are ordered
// by Position, compared byte by byte. Revision is the document's revision at
// the block's last change.
type Block struct {
	ID         string  `json:"id"`
	DocumentID string  `json:"document_id,omitempty"`
	ChatID     string  `json:"chat_id,omitempty"`
	Role       string  `json:"role,omitempty"`
	Type       string  `json:"type"`
	Current    *string `json:"current,omitempty"`
	New        *string `json:"new,omitempty"`
	// Meta is an object: the header of a chart, mime and size of an image.
	Meta        json.RawMessage `json:"meta,omitempty"`
	NewMeta     json.RawMessage `json:"new_meta,omitempty"`
	State       BlockState      `json:"state"`
	Position    string          `json:"position"`
	NewPosition string          `json:"new_position,omitempty"`
	Revision    int64           `json:"revision"`
}

// BlockCreate adds a block that the user wrote, with the client's own id unless it is nil.
// Without AfterBlockID it goes to the end, with an empty AfterBlockID to the front.
type BlockCreate struct {
	ID           *string         `json:"id,omitempty" validate:"omitempty,clientid"`
	Type         string          `json:"type" validate:"required,max=64,blocktype"`
	Content      string          `json:"content,omitempty"`
	Meta         json.RawMessage `json:"meta,omitempty"`
	AfterBlockID *string         `json:"after_block_id,omitempty" validate:"omitempty,blockref"`
}

// BlockPatch is the user's own edit: it changes Current. Absent fields change
// nothing; an empty AfterBlockID means the front.
type BlockPatch struct {
	Content      *string         `json:"content,omitempty"`
	Meta         json.RawMessage `json:"meta,omitempty"`
	AfterBlockID *string         `json:"after_block_id,omitempty" validate:"omitempty,blockref"`
}

// BlockApply puts a chat's block into a document: as the new content of one of
// its blocks, or as a block of its own, by default at the end.
type BlockApply struct {
	DocumentID    string  `json:"document_id" validate:"required,clientid"`
	TargetBlockID string  `json:"target_block_id,omitempty" validate:"omitempty,clientid"`
	AfterBlockID  *string `json:"after_block_id,omitempty" validate:"omitempty,blockref"`
}
