-- Calls that wait for the user's approval or for the page's outcome. An answer
-- of '' is none yet; the run of such a call is in the state waiting.

-- +goose Up
CREATE TABLE waits (
    run_id      TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    idx         INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    tool_use_id TEXT    NOT NULL,
    tool        TEXT    NOT NULL,
    input       BLOB    NOT NULL,
    created_at  INTEGER NOT NULL,
    expires_at  INTEGER NOT NULL,
    answer      TEXT    NOT NULL DEFAULT '',
    answered_at INTEGER NOT NULL DEFAULT 0,
    edited      BLOB,
    output      BLOB,
    is_error    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, idx)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE waits;
