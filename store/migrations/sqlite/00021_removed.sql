-- The ids of blocks that were removed, so that a block that gets one of them again is known
-- to be another one: its revisions are greater than those of the blocks before it.
-- removed_at, in microseconds, orders an owner's ids by age.

-- +goose Up
CREATE TABLE removed_blocks (
    owner      TEXT    NOT NULL,
    id         TEXT    NOT NULL,
    revision   INTEGER NOT NULL,
    removed_at INTEGER NOT NULL,
    PRIMARY KEY (owner, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX removed_blocks_age ON removed_blocks (owner, removed_at);

-- +goose Down
DROP TABLE removed_blocks;
