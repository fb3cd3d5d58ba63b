-- A version is what was accepted of a document before a change: its title, and its
-- blocks as a JSON array. It is named by the revision that the document had. seq
-- orders an owner's versions by age; created_at is in microseconds, size in bytes.

-- +goose Up
CREATE TABLE document_versions (
    owner       TEXT   NOT NULL,
    document_id TEXT   NOT NULL,
    revision    BIGINT NOT NULL,
    title       TEXT   NOT NULL,
    reason      TEXT   NOT NULL,
    blocks      BIGINT NOT NULL,
    content     TEXT   NOT NULL,
    size        BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    seq         BIGINT GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (owner, document_id, revision)
);
CREATE INDEX document_versions_age ON document_versions (owner, seq, size);

-- +goose Down
DROP TABLE document_versions;
