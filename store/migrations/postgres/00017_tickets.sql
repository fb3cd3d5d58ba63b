-- The keys that replace a token in a URL, where several processes have to find them. run
-- is the run whose stream a ticket opens, '' before its first use; ends is when the token
-- ends. The runs of a chat are found by their place.
-- +goose Up
CREATE TABLE tickets (
    hash     BYTEA       PRIMARY KEY,
    owner    TEXT        NOT NULL,
    identity BYTEA       NOT NULL,
    run      TEXT        NOT NULL DEFAULT '',
    until    TIMESTAMPTZ NOT NULL,
    ends     TIMESTAMPTZ NOT NULL
);
CREATE INDEX tickets_owner ON tickets (owner, until);
CREATE INDEX tickets_until ON tickets (until);
DROP INDEX runs_chat;
CREATE INDEX runs_chat ON runs (chat_id, place);

-- +goose Down
DROP INDEX runs_chat;
CREATE INDEX runs_chat ON runs (chat_id);
DROP TABLE tickets;
