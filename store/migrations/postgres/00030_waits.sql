-- What a run waits for that other runs hold, as JSON: document, blocks and plan. It is in all
-- rows of the run, NULL while it waits for nothing.

-- +goose Up
ALTER TABLE claims ADD COLUMN waits JSONB;

-- +goose Down
ALTER TABLE claims DROP COLUMN waits;
