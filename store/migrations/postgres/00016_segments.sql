-- Only SQLite's segments change.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
