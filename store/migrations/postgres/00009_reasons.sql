-- Why a call waits for its user's approval; empty where it waits for the page.

-- +goose Up
ALTER TABLE waits ADD COLUMN reason TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE waits DROP COLUMN reason;
