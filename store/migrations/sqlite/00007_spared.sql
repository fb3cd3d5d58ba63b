-- Of a run's attempts, those that ended while it waited for its user or for the
-- page: they do not count towards those that it may have.

-- +goose Up
ALTER TABLE runs ADD COLUMN spared INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE runs DROP COLUMN spared;
