-- What runs under way write, all runs of a commit in one row: events and
-- checkpoints. Now and then the rows are gone through: what belongs to a run
-- that has not ended moves to segments and checkpoints, the rest goes.

-- +goose Up
CREATE TABLE journal (
    n    BIGSERIAL PRIMARY KEY,
    data BYTEA NOT NULL
);
ALTER TABLE journal ALTER COLUMN data SET STORAGE EXTERNAL;

-- +goose Down
DROP TABLE journal;
