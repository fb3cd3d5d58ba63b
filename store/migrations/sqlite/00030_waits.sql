-- One process serves the file, and knows what its runs wait for.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
