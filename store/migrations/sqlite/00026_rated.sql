-- The answers that users have rated, for exports.

-- +goose Up
CREATE INDEX blocks_rated ON blocks (seq) WHERE feedback IS NOT NULL;

-- +goose Down
DROP INDEX blocks_rated;
