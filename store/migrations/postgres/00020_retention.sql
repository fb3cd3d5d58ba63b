-- How far a sweep for old data has come: for logs the place of the last run whose log
-- and trace were deleted, for chats the id of the last one that was looked at.

-- +goose Up
CREATE TABLE sweeps (
    kind TEXT PRIMARY KEY,
    at   BIGINT NOT NULL
);
INSERT INTO sweeps (kind, at) VALUES ('logs', 0), ('chats', 0);

-- +goose Down
DROP TABLE sweeps;
