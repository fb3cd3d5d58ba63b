// Package tables has what several rooms of the store say of the tables: conditions and
// other parts of statements, and what is stored in a column.
package tables

// The conditions.
const (
	// OpenStates is true for a run that has not ended; the index runs_open has it.
	OpenStates = "state IN ('queued', 'running', 'waiting')"
	// Reserved is true for a block that only reserves an id: for an unfinished answer, or as
	// another id of the run's message.
	Reserved = "chat_id IS NULL AND document_id IS NULL"
	// CurrentMessages is true for blocks that are current messages.
	CurrentMessages = "chat_id IS NOT NULL AND status <> 'superseded'"
	// MessagePlace orders the messages of a chat: twice the number with which one was stored,
	// and for an answer the next number after its question's. So it is in order at every
	// moment, however long a question has waited; the versions of an answer, of which at
	// most one is current, share a place. The index blocks_chat has it.
	MessagePlace = "COALESCE(turn, seq * 2)"
	// Held is true for a claim that counts: its run has begun and not ended, or is about to
	// begin. A claim that a queued run could not release does not count for long: the run may
	// wait behind one that needs it. Only Postgres has claims.
	Held = `(EXISTS (SELECT 1 FROM runs WHERE runs.id = claims.run AND state IN ('running', 'waiting'))
		OR claims.until > clock_timestamp() AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = claims.run AND state <> 'queued'))`
)

// RememberOwner notes to whom the attempt belonged that ends when a run gets another
// owner. Only so many are kept.
const RememberOwner = `owners = CASE WHEN replica <> '' AND state <> 'queued' AND length(owners) < 4000
	THEN owners || attempt || ' ' || replica || ';' ELSE owners END`

// LockOwner waits for other transactions with a lock of the same class and owner. Only
// Postgres has such locks.
const LockOwner = `SELECT 1 FROM (SELECT pg_advisory_xact_lock(?, hashtext(?))) AS locked`

// RunFormat is the newest format of checkpoints and logs that this release reads.
const RunFormat = 1

// Replaced is an id that a run has taken from an earlier answer, as it is stored with the
// run; it is empty for an answer that is generated again and keeps its ids. Run is the
// earlier answer's, empty if it has none. The id was the answer's own one, and Message is the
// one that it got for it, or an alias: then Message is empty. Next is true if the new one was
// an alias. First names the messages that were superseded with the answer, empty for none.
type Replaced struct {
	ID      string `json:"id"`
	Message string `json:"message,omitempty"`
	Run     string `json:"run,omitempty"`
	Next    bool   `json:"next,omitempty"`
	First   string `json:"first,omitempty"`
}
