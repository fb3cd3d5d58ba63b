-- A document's blocks are ordered by position; what waits for the user is in
-- new, new_meta and new_position. A block's revision is its document's at the
-- block's last change, so the document's own is the greatest of them and its
-- row's. size counts the bytes of contents and metas.

-- +goose Up
CREATE TABLE documents (
    owner      TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    title      TEXT    NOT NULL,
    new_title  TEXT,
    revision   INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL,
    seq        INTEGER PRIMARY KEY,
    UNIQUE (owner, id)
) STRICT;
CREATE INDEX documents_newest ON documents (owner, seq);

ALTER TABLE blocks ADD COLUMN new_meta TEXT;
ALTER TABLE blocks ADD COLUMN new_position TEXT;
ALTER TABLE blocks ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
CREATE INDEX blocks_moving ON blocks (owner, document_id, new_position) WHERE document_id IS NOT NULL AND new_position IS NOT NULL;
CREATE INDEX blocks_revision ON blocks (owner, document_id, revision, size) WHERE document_id IS NOT NULL;

-- +goose Down
DROP INDEX blocks_revision;
DROP INDEX blocks_moving;
DELETE FROM blocks WHERE document_id IS NOT NULL AND chat_id IS NULL;
ALTER TABLE blocks DROP COLUMN size;
ALTER TABLE blocks DROP COLUMN new_position;
ALTER TABLE blocks DROP COLUMN new_meta;
DROP TABLE documents;
