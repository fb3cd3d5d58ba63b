-- Definitions are JSON. changed is empty, or the hash of a definition that
-- waits for the operator.

-- +goose Up
CREATE TABLE mcp_tools (
    server             TEXT    NOT NULL,
    tool               TEXT    NOT NULL,
    hash               TEXT    NOT NULL,
    definition         TEXT    NOT NULL,
    changed            TEXT    NOT NULL DEFAULT '',
    changed_definition TEXT    NOT NULL DEFAULT '',
    seen_at            INTEGER NOT NULL,
    PRIMARY KEY (server, tool)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE mcp_tools;
