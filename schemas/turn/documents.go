package turn

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chattray/chattray/schemas"
	"github.com/chattray/chattray/schemas/runlog"
	"github.com/chattray/chattray/schemas/text"
)

// ContextDocument is the key of a request's context for the id of the document
// that the model writes.
const ContextDocument = "document_id"

// DocumentPage is the page of a document.
const DocumentPage = "document"

// More keys of a request's context, which the websocket sets: the blocks that
// the answer goes to, comma separated, and the mode.
const (
	ContextBlocks = "block_ids"
	ContextMode   = "mode"
)

// BlockArgument is the argument of a tool of documents that names the block.
const BlockArgument = "block_id"

// MaxTargets bounds the blocks that one answer goes to.
const MaxTargets = 16

// Answer returns where the text of an answer goes. Document is empty if it goes
// to the chat; Blocks are ids that the client has chosen, if any.
func Answer(page schemas.Object) (document string, blocks []string) {
	for id := range strings.SplitSeq(page.String(ContextBlocks), ",") {
		if id = strings.TrimSpace(id); text.IsID(id) && len(blocks) < MaxTargets && !slices.Contains(blocks, id) {
			blocks = append(blocks, id)
		}
	}
	if id := page.String(ContextDocument); page.String(ContextMode) == "chat" && text.IsID(id) {
		document = id
	}
	return document, blocks
}

// DocumentID returns the id of the document that a turn is about: the document
// named in the page's context, else the chat's own. It is "" if the context
// names an invalid id; null and an empty id count as none.
func DocumentID(page schemas.Object, conversationID int64) string {
	switch string(page[ContextDocument]) {
	case "", "null", `""`:
		return "chat-" + strconv.FormatInt(conversationID, 10)
	}
	if id := page.String(ContextDocument); text.IsID(id) {
		return id
	}
	return ""
}

// BlockID returns the id of the n-th block that a call adds to a document. It
// is the same when the call of that index runs again.
func BlockID(runID string, index int, tool string, n int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s/%d", runID, index, tool, n))
	return hex.EncodeToString(sum[:12])
}

// AnswerBlock returns the id of the block that a run's answer adds to a
// document if the client has chosen none.
func AnswerBlock(runID string) string { return BlockID(runID, 0, "answer", 0) }

// BlockID returns the id of the n-th block that the call adds to a document.
func (c *Call) BlockID(n int) string { return BlockID(c.RunID, c.Index, c.Name, n) }

// BlockProgress is the data of a document tool's progress: what it changed.
// BlockIDs and BlockTypes describe a plan, comma separated; with NewDoc they
// are the document's new structure. Gone is true if the block no longer exists.
type BlockProgress struct {
	BlockID    string             `json:"block_id,omitempty"`
	BlockIDs   string             `json:"block_ids,omitempty"`
	BlockTypes string             `json:"block_types,omitempty"`
	DocumentID string             `json:"document_id"`
	Type       string             `json:"type,omitempty"`
	State      schemas.BlockState `json:"state,omitempty"`
	Revision   int64              `json:"revision,omitempty"`
	Gone       bool               `json:"gone,omitempty"`
	NewDoc     bool               `json:"new_doc,omitempty"`
}

// DocumentStage is the stage of a progress whose data is a BlockProgress.
const DocumentStage = "document"

// DocumentChange returns the change of a document that a progress with that
// stage and data reports, nil for none.
func DocumentChange(stage string, data json.RawMessage) *runlog.DocumentChange {
	var p BlockProgress
	if stage != DocumentStage || json.Unmarshal(data, &p) != nil || p.DocumentID == "" {
		return nil
	}
	return &runlog.DocumentChange{DocumentID: p.DocumentID, BlockID: p.BlockID, BlockIDs: p.BlockIDs, NewDoc: p.NewDoc, BlockTypes: p.BlockTypes}
}
