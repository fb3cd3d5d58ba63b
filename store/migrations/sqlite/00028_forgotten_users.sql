-- Users whose data was deleted, and the day: what they used on it counts towards budgets
-- until it is over, and is deleted after it.

-- +goose Up
CREATE TABLE forgotten (
    owner TEXT PRIMARY KEY,
    day   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE forgotten;
