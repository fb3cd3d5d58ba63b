-- Times are microseconds since 1970 in UTC. Columns of type bytea that hold
-- text or JSON begin with a byte that says how the rest is packed.

-- +goose Up
CREATE TABLE chats (
    id              BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner           TEXT    NOT NULL,
    key             TEXT    NOT NULL,
    title           TEXT    NOT NULL DEFAULT '',
    created_at      BIGINT  NOT NULL,
    updated_at      BIGINT  NOT NULL,
    summary         TEXT    NOT NULL DEFAULT '',
    summary_through TEXT    NOT NULL DEFAULT '',
    summary_at      BIGINT  NOT NULL DEFAULT 0,
    UNIQUE (owner, key)
);
CREATE INDEX chats_newest ON chats (owner, updated_at, id);

CREATE SEQUENCE blocks_seq;

-- A block belongs to a chat (then it is a message), to a document, or both.
-- seq orders a chat's messages, position a document's blocks.
CREATE TABLE blocks (
    seq         BIGINT  NOT NULL DEFAULT nextval('blocks_seq'),
    owner       TEXT    NOT NULL,
    id          TEXT    NOT NULL,
    chat_id     BIGINT  REFERENCES chats (id) ON DELETE CASCADE,
    document_id TEXT,
    role        TEXT    NOT NULL DEFAULT '',
    type        TEXT    NOT NULL,
    current     TEXT,
    new         TEXT,
    meta        TEXT,
    state       TEXT    NOT NULL DEFAULT 'clean',
    position    TEXT    NOT NULL DEFAULT '',
    revision    BIGINT  NOT NULL DEFAULT 1,
    status      TEXT    NOT NULL DEFAULT '',
    run_id      TEXT    NOT NULL DEFAULT '',
    data        TEXT,
    feedback    TEXT,
    created_at  BIGINT  NOT NULL,
    PRIMARY KEY (owner, id)
);
CREATE INDEX blocks_chat ON blocks (chat_id, seq) WHERE chat_id IS NOT NULL;
CREATE INDEX blocks_document ON blocks (owner, document_id, position) WHERE document_id IS NOT NULL;

CREATE TABLE attachments (
    owner    TEXT    NOT NULL,
    block_id TEXT    NOT NULL,
    n        BIGINT  NOT NULL,
    name     TEXT    NOT NULL,
    mime     TEXT    NOT NULL,
    content  BYTEA   NOT NULL,
    PRIMARY KEY (owner, block_id, n),
    FOREIGN KEY (owner, block_id) REFERENCES blocks (owner, id) ON DELETE CASCADE
);

CREATE TABLE payloads (
    seq        BIGINT  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chat_id    BIGINT  NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    payload_id TEXT    NOT NULL,
    run_id     TEXT    NOT NULL,
    message_id TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    source     TEXT    NOT NULL,
    summary    TEXT    NOT NULL,
    data       BYTEA   NOT NULL,
    outcome    TEXT    NOT NULL DEFAULT '',
    created_at BIGINT  NOT NULL,
    UNIQUE (chat_id, payload_id)
);

CREATE TABLE runs (
    id               TEXT    PRIMARY KEY,
    chat_id          BIGINT  NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
    owner            TEXT    NOT NULL,
    owner_name       TEXT    NOT NULL,
    owner_roles      TEXT    NOT NULL,
    state            TEXT    NOT NULL,
    attempt          BIGINT  NOT NULL,
    request          BYTEA   NOT NULL,
    user_message_id  TEXT    NOT NULL,
    message_id       TEXT    NOT NULL,
    last_seq         BIGINT  NOT NULL DEFAULT 0,
    created_at       BIGINT  NOT NULL,
    ended_at         BIGINT  NOT NULL DEFAULT 0,
    stop_reason      TEXT    NOT NULL DEFAULT '',
    input_tokens     BIGINT  NOT NULL DEFAULT 0,
    output_tokens    BIGINT  NOT NULL DEFAULT 0,
    total_tokens     BIGINT  NOT NULL DEFAULT 0,
    error_code       TEXT    NOT NULL DEFAULT '',
    error_message    TEXT    NOT NULL DEFAULT '',
    idempotency_key  TEXT,
    body_hash        TEXT    NOT NULL DEFAULT '',
    cancel_requested BOOLEAN NOT NULL DEFAULT false
);
CREATE INDEX runs_chat ON runs (chat_id);
CREATE INDEX runs_open ON runs (chat_id) WHERE state IN ('queued', 'running', 'waiting');
CREATE UNIQUE INDEX runs_idempotency ON runs (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

CREATE TABLE segments (
    run_id    TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    first_seq BIGINT  NOT NULL,
    last_seq  BIGINT  NOT NULL,
    attempt   BIGINT  NOT NULL,
    data      BYTEA   NOT NULL,
    PRIMARY KEY (run_id, first_seq)
);

CREATE TABLE checkpoints (
    run_id TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    n      BIGINT  NOT NULL,
    data   BYTEA   NOT NULL,
    PRIMARY KEY (run_id, n)
);

-- A model_output of NULL is the same as output.
CREATE TABLE tool_calls (
    run_id       TEXT    NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    idx          BIGINT  NOT NULL,
    tool_use_id  TEXT    NOT NULL,
    name         TEXT    NOT NULL,
    state        TEXT    NOT NULL,
    attempt      BIGINT  NOT NULL,
    input        BYTEA   NOT NULL,
    output       BYTEA   NOT NULL,
    model_output BYTEA,
    is_error     BOOLEAN NOT NULL,
    payload      BYTEA,
    started_at   BIGINT  NOT NULL,
    duration_us  BIGINT  NOT NULL,
    PRIMARY KEY (run_id, idx)
);

CREATE TABLE traces (
    run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    data   BYTEA NOT NULL
);

CREATE TABLE streams (
    id           BIGINT  PRIMARY KEY,
    name         TEXT    NOT NULL,
    purpose      TEXT    NOT NULL,
    schema       TEXT    NOT NULL,
    instructions TEXT    NOT NULL,
    owner        TEXT    NOT NULL,
    created_at   BIGINT  NOT NULL,
    updated_at   BIGINT  NOT NULL
);

CREATE TABLE reports (
    id           BIGINT  PRIMARY KEY,
    stream_id    BIGINT  NOT NULL REFERENCES streams (id) ON DELETE CASCADE,
    title        TEXT    NOT NULL,
    summary      TEXT    NOT NULL,
    published_at BIGINT  NOT NULL
);
CREATE INDEX reports_stream ON reports (stream_id, published_at);

CREATE TABLE articles (
    id        BIGINT  PRIMARY KEY,
    report_id BIGINT  NOT NULL REFERENCES reports (id) ON DELETE CASCADE,
    pmid      TEXT    NOT NULL,
    doi       TEXT    NOT NULL,
    title     TEXT    NOT NULL,
    authors   TEXT    NOT NULL,
    journal   TEXT    NOT NULL,
    year      BIGINT  NOT NULL,
    abstract  TEXT    NOT NULL,
    category  TEXT    NOT NULL,
    url       TEXT    NOT NULL
);
CREATE INDEX articles_report ON articles (report_id);

ALTER TABLE articles ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (
    setweight(to_tsvector('english', left(title, 10000)), 'A')
    || setweight(to_tsvector('english', left(abstract, 100000)), 'B')
    || setweight(to_tsvector('simple', left(authors, 20000)), 'C')
) STORED;
CREATE INDEX articles_search ON articles USING gin (search);

-- What is packed already is not compressed again.
ALTER TABLE attachments ALTER COLUMN content SET STORAGE EXTERNAL;
ALTER TABLE payloads ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE runs ALTER COLUMN request SET STORAGE EXTERNAL;
ALTER TABLE segments ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE checkpoints ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE tool_calls ALTER COLUMN input SET STORAGE EXTERNAL;
ALTER TABLE tool_calls ALTER COLUMN output SET STORAGE EXTERNAL;
ALTER TABLE tool_calls ALTER COLUMN model_output SET STORAGE EXTERNAL;
ALTER TABLE tool_calls ALTER COLUMN payload SET STORAGE EXTERNAL;
ALTER TABLE traces ALTER COLUMN data SET STORAGE EXTERNAL;

-- +goose Down
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
DROP SEQUENCE blocks_seq;
DROP TABLE chats;
