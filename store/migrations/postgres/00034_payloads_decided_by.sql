-- The run whose action has decided the payload: a decision whose answer was lost is known again
-- as that of the same run.

-- +goose Up
ALTER TABLE payloads ADD COLUMN decided_by TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE payloads DROP COLUMN decided_by;
