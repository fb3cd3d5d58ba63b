-- Times are microseconds since 1970 in UTC. Columns of type BLOB that hold
-- text or JSON begin with a byte that says how the rest is packed.

-- +goose Up
CREATE TABLE chats (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    owner           TEXT    NOT NULL,
    key             TEXT    NOT NULL,
    title           TEXT    NOT NULL DEFAULT '',
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    summary         TEXT    NOT NULL DEFAULT '',
    summary_through TEXT    NOT NULL DEFAULT '',
    summary_at      INTEGER NOT NULL DEFAULT 0,
    UNIQUE (owner, key)
) STRICT;
CREATE INDEX chats_newest ON chats (owner, updated_at, id);

-- A block belongs to a chat (then it is a message), to a document, or both.
-- seq orders a chat's messages, position a document's blocks.
CREATE TABLE blocks (
    seq         INTEGER PRIMARY KEY,
    owner       TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    chat_id     INTEGER REFERENCES chats (id) ON DELETE CASCADE,
    document_id TEXT,
    role        TEXT    NOT NULL DEFAULT '',
    type        TEXT    NOT NULL,
    current     TEXT,
    new         TEXT,
    meta        TEXT,
    state       TEXT    NOT NULL DEFAULT 'clean',
    position    TEXT    NOT NULL DEFAULT '',
    revision    INTEGER NOT NULL DEFAULT 1,
    status      TEXT    NOT NULL DEFAULT '',
    run_id      TEXT    NOT NULL DEFAULT '',
    data        TEXT,
    feedback    TEXT,
    created_at  INTEGER NOT NULL,
    UNIQUE (owner, id)
) STRICT;
CREATE INDEX blocks_chat ON blocks (chat_id) WHERE chat_id IS NOT NULL;
CREATE INDEX blocks_document ON blocks (owner, document_id, position) WHERE document_id IS NOT NULL;

CREATE TABLE attachments (
    owner    TEXT    NOT NULL,
    block_id TEXT    NOT NULL,
    n        INTEGER NOT NULL,
    name     TEXT    NOT NULL,
    mime     TEXT    NOT NULL,
    content  BLOB    NOT NULL,
    PRIMARY KEY (owner, block_id, n),
    FOREIGN KEY (owner, block_id) REFERENCES blocks (owner, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE payloads (
    seq        INTEGER PRIMARY KEY,
    chat_id    INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    payload_id TEXT    NOT NULL,
    run_id     TEXT    NOT NULL,
    message_id TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    summary    TEXT    NOT NULL,
    data       BLOB    NOT NULL,
    outcome    TEXT    NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    UNIQUE (chat_id, payload_id)
) STRICT;

CREATE TABLE runs (
    id               TEXT    PRIMARY KEY,
    chat_id          INTEGER NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    owner            TEXT    NOT NULL,
    owner_name       TEXT    NOT NULL,
    owner_roles      TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    attempt          INTEGER NOT NULL,
    request          BLOB    NOT NULL,
    user_message_id  TEXT    NOT NULL,
    message_id       TEXT    NOT NULL,
    last_seq         INTEGER NOT NULL DEFAULT 0,
    created_at       INTEGER NOT NULL,
    ended_at         INTEGER NOT NULL DEFAULT 0,
    stop_reason      TEXT    NOT NULL DEFAULT '',
    input_tokens     INTEGER NOT NULL DEFAULT 0,
    output_tokens    INTEGER NOT NULL DEFAULT 0,
    total_tokens     INTEGER NOT NULL DEFAULT 0,
    error_code       TEXT    NOT NULL DEFAULT '',
    error_message    TEXT    NOT NULL DEFAULT '',
    idempotency_key  TEXT,
    body_hash        TEXT    NOT NULL DEFAULT '',
    cancel_requested INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX runs_chat ON runs (chat_id);
CREATE INDEX runs_open ON runs (chat_id) WHERE state IN ('queued', 'running', 'waiting');
CREATE UNIQUE INDEX runs_idempotency ON runs (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE segments (
    run_id    TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL,
    attempt   INTEGER NOT NULL,
    data      BLOB    NOT NULL,
    PRIMARY KEY (run_id, first_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE checkpoints (
    run_id TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    n      INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;

-- A model_output of NULL is the same as output.
CREATE TABLE tool_calls (
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

CREATE TABLE traces (
    run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    data   BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE streams (
    id           INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL,
    purpose      TEXT    NOT NULL,
    schema       TEXT    NOT NULL,
    instructions TEXT    NOT NULL,
    owner        TEXT    NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL
) STRICT;

CREATE TABLE reports (
    id           INTEGER PRIMARY KEY,
    stream_id    INTEGER NOT NULL REFERENCES streams (id) ON DELETE CASCADE,
    title        TEXT    NOT NULL,
    summary      TEXT    NOT NULL,
    published_at INTEGER NOT NULL
) STRICT;
CREATE INDEX reports_stream ON reports (stream_id, published_at);

CREATE TABLE articles (
    id        INTEGER PRIMARY KEY,
    report_id INTEGER NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    pmid      TEXT    NOT NULL,
    doi       TEXT    NOT NULL,
    title     TEXT    NOT NULL,
    authors   TEXT    NOT NULL,
    journal   TEXT    NOT NULL,
    year      INTEGER NOT NULL,
    abstract  TEXT    NOT NULL,
    category  TEXT    NOT NULL,
    url       TEXT    NOT NULL
) STRICT;
CREATE INDEX articles_report ON articles (report_id);

CREATE VIRTUAL TABLE articles_search USING fts5 (
    title, abstract, authors,
    content = 'articles', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- +goose StatementBegin
CREATE TRIGGER articles_inserted AFTER INSERT ON articles BEGIN
    INSERT INTO articles_search (rowid, title, abstract, authors)
    VALUES (new.id, new.title, new.abstract, new.authors);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER articles_deleted AFTER DELETE ON articles BEGIN
    INSERT INTO articles_search (articles_search, rowid, title, abstract, authors)
    VALUES ('delete', old.id, old.title, old.abstract, old.authors);
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER articles_updated AFTER UPDATE ON articles BEGIN
    INSERT INTO articles_search (articles_search, rowid, title, abstract, authors)
    VALUES ('delete', old.id, old.title, old.abstract, old.authors);
    INSERT INTO articles_search (rowid, title, abstract, authors)
    VALUES (new.id, new.title, new.abstract, new.authors);
END;
-- +goose StatementEnd

-- +goose Down
DROP TABLE articles_search;
DROP TABLE articles;
DROP TABLE reports;
DROP TABLE streams;
DROP TABLE traces;
DROP TABLE tool_calls;
DROP TABLE checkpoints;
DROP TABLE segments;
DROP TABLE runs;
DROP TABLE payloads;
DROP TABLE attachments;
DROP TABLE blocks;
DROP TABLE chats;
