-- What runs write, where several processes serve the database: a block, or with block ''
-- the structure of a document. A row counts while its run has not ended, and until then
-- where its run is about to be stored. writing is set while text is being written.

-- +goose Up
CREATE TABLE claims (
    run      TEXT        NOT NULL,
    document TEXT        NOT NULL,
    block    TEXT        NOT NULL,
    owner    TEXT        NOT NULL,
    replica  TEXT        NOT NULL,
    writing  BOOLEAN     NOT NULL DEFAULT false,
    until    TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run, document, block)
);
CREATE INDEX claims_owner ON claims (owner);

-- +goose Down
DROP TABLE claims;
