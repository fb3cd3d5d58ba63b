-- One process serves the file, and knows the readers of its runs.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
