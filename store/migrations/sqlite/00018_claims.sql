-- One process serves the file, and keeps what its runs write in memory.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
