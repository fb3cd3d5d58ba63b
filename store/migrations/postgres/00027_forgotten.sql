-- SQLite's search indexes count here what they have to forget. Vacuum removes the entries of
-- deleted rows from the indexes of Postgres.

-- +goose Up
SELECT 1;

-- +goose Down
SELECT 1;
