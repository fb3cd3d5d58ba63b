-- Calls have row numbers, as segments have: without them a row of more than 2 kB takes a page
-- of 8 kB by itself, and most calls that find something have one. Those without a run, which
-- another program has left, are not copied: they would be refused.

-- +goose Up
CREATE TABLE numbered_tool_calls (
    run_id       TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    idx          INTEGER NOT NULL,
    tool_use_id  TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    input        BLOB    NOT NULL,
    output       BLOB    NOT NULL,
    model_output BLOB,
    is_error     INTEGER NOT NULL,
    payload      BLOB,
    started_at   INTEGER NOT NULL,
    duration_us  INTEGER NOT NULL,
    PRIMARY KEY (run_id, idx)
) STRICT;
INSERT INTO numbered_tool_calls SELECT * FROM tool_calls WHERE run_id IN (SELECT id FROM runs) ORDER BY run_id, idx;
DROP TABLE tool_calls;
ALTER TABLE numbered_tool_calls RENAME TO tool_calls;

-- +goose Down
CREATE TABLE plain_tool_calls (
    run_id       TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    idx          INTEGER NOT NULL,
    tool_use_id  TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    attempt      INTEGER NOT NULL,
    input        BLOB    NOT NULL,
    output       BLOB    NOT NULL,
    model_output BLOB,
    is_error     INTEGER NOT NULL,
    payload      BLOB,
    started_at   INTEGER NOT NULL,
    duration_us  INTEGER NOT NULL,
    PRIMARY KEY (run_id, idx)
) STRICT, WITHOUT ROWID;
INSERT INTO plain_tool_calls SELECT * FROM tool_calls;
DROP TABLE tool_calls;
ALTER TABLE plain_tool_calls RENAME TO tool_calls;
