-- The answers whose ids a run has taken for its own answer, as JSON, so that they get them
-- back if the run brings nothing.

-- +goose Up
ALTER TABLE runs ADD COLUMN replaced TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE runs DROP COLUMN replaced;
