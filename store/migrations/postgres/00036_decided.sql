-- The revision that the last decision was about, negative if that was a revert: a decision that
-- is sent again, because its answer was lost, is known again.

-- +goose Up
ALTER TABLE documents ADD COLUMN decided BIGINT NOT NULL DEFAULT 0;
ALTER TABLE blocks ADD COLUMN decided BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE blocks DROP COLUMN decided;
ALTER TABLE documents DROP COLUMN decided;
