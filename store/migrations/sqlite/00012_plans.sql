-- A plan hides the blocks that a document has: kept_plan is the plan's number, from
-- 1, and kept_state the state before. What waited for the user stays in new,
-- new_meta and new_position, so that a reverted plan gives it back. 0 is a block
-- that no plan hides. A document's plans are the pending titles before each of its
-- plans that can be reverted, a JSON array.
--
-- changed_at is the time of the last change, in microseconds; 0 is before there
-- was such a column.

-- +goose Up
ALTER TABLE blocks ADD COLUMN kept_plan INTEGER NOT NULL DEFAULT 0;
ALTER TABLE blocks ADD COLUMN kept_state TEXT;
ALTER TABLE blocks ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE documents ADD COLUMN plans TEXT;
ALTER TABLE documents ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;

-- +goose Down
DELETE FROM blocks WHERE kept_plan > 0 AND current IS NULL;
UPDATE blocks SET new = NULL, new_meta = NULL, new_position = NULL,
    size = octet_length(current) + COALESCE(octet_length(meta), 0) WHERE kept_plan > 0;
ALTER TABLE documents DROP COLUMN changed_at;
ALTER TABLE documents DROP COLUMN plans;
ALTER TABLE blocks DROP COLUMN changed_at;
ALTER TABLE blocks DROP COLUMN kept_state;
ALTER TABLE blocks DROP COLUMN kept_plan;
