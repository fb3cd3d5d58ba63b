-- One process serves the file, and keeps its tickets in memory.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
