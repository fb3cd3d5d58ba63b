-- Segments have row numbers: without them a row of more than 1 kB takes a page of
-- 4 kB by itself, and most answers have one. Those without a run, which another program has
-- left, are not copied: they would be refused.

-- +goose Up
CREATE TABLE packed_segments (
    n         INTEGER PRIMARY KEY,
    run_id    TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    attempt   INTEGER NOT NULL,
    data      BLOB    NOT NULL,
    UNIQUE (run_id, first_seq)
) STRICT;
INSERT INTO packed_segments (run_id, first_seq, last_seq, attempt, data)
SELECT run_id, first_seq, last_seq, attempt, data FROM segments WHERE run_id IN (SELECT id FROM runs)
ORDER BY run_id, first_seq;
DROP TABLE segments;
ALTER TABLE packed_segments RENAME TO segments;

-- +goose Down
CREATE TABLE plain_segments (
    run_id    TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    attempt   INTEGER NOT NULL,
    data      BLOB    NOT NULL,
    PRIMARY KEY (run_id, first_seq)
) STRICT, WITHOUT ROWID;
INSERT INTO plain_segments SELECT run_id, first_seq, last_seq, attempt, data FROM segments;
DROP TABLE segments;
ALTER TABLE plain_segments RENAME TO segments;
