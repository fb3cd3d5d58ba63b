-- How many steps of deletions of the user's data have been stored: an export that sees another
-- number at its end than at its beginning lacks what was deleted meanwhile.

-- +goose Up
ALTER TABLE forgotten ADD COLUMN deletions BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE forgotten DROP COLUMN deletions;
