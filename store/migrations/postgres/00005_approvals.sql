-- Calls that wait for the user's approval or for the page's outcome. An answer
-- of '' is none yet; the run of such a call is in the state waiting.

-- +goose Up
CREATE TABLE waits (
    run_id      TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    idx         BIGINT  NOT NULL,
    kind        TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    tool_use_id TEXT    NOT NULL,
    tool        TEXT    NOT NULL,
    input       BYTEA   NOT NULL,
    created_at  BIGINT  NOT NULL,
    expires_at  BIGINT  NOT NULL,
    answer      TEXT    NOT NULL DEFAULT '',
    answered_at BIGINT  NOT NULL DEFAULT 0,
    edited      BYTEA,
    output      BYTEA,
    is_error    BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (run_id, idx)
);

-- +goose Down
DROP TABLE waits;
