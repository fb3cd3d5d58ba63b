-- Several processes may serve one database. Each has a row in replicas, which it
-- renews; one that was not renewed in time may be marked as gone, and then others take
-- its runs. service names this database.
--
-- A run belongs to a replica ('' is none), place orders runs by their start, and format
-- is of their checkpoints and logs. A row of the journal is of runs of one replica.

-- +goose Up
CREATE TABLE service (
    id TEXT NOT NULL
);
INSERT INTO service (id) VALUES (substr(replace(CAST(gen_random_uuid() AS TEXT), '-', ''), 1, 12));

CREATE TABLE replicas (
    id         TEXT        PRIMARY KEY,
    name       TEXT        NOT NULL,
    alone      BOOLEAN     NOT NULL,
    format     BIGINT      NOT NULL,
    draining   BOOLEAN     NOT NULL DEFAULT false,
    started_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    expires_at TIMESTAMPTZ NOT NULL,
    gone_at    TIMESTAMPTZ
);

ALTER TABLE runs ADD COLUMN replica TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN format BIGINT NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN place BIGINT;
UPDATE runs SET place = old.n FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS n FROM runs) AS old WHERE old.id = runs.id;
CREATE SEQUENCE runs_place OWNED BY runs.place;
SELECT setval('runs_place', (SELECT COUNT(*) + 1 FROM runs), false);
ALTER TABLE runs ALTER COLUMN place SET DEFAULT nextval('runs_place');
ALTER TABLE runs ALTER COLUMN place SET NOT NULL;
CREATE INDEX runs_held ON runs (replica, place) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX runs_owned ON runs (owner) WHERE state IN ('queued', 'running', 'waiting');
CREATE INDEX runs_recent ON runs (owner, created_at);

ALTER TABLE journal ADD COLUMN replica TEXT NOT NULL DEFAULT '';
ALTER TABLE journal DROP CONSTRAINT journal_pkey;
ALTER TABLE journal ADD PRIMARY KEY (replica, n);

-- +goose Down
ALTER TABLE journal DROP CONSTRAINT journal_pkey;
ALTER TABLE journal ADD PRIMARY KEY (n);
ALTER TABLE journal DROP COLUMN replica;
DROP INDEX runs_recent;
DROP INDEX runs_owned;
DROP INDEX runs_held;
ALTER TABLE runs DROP COLUMN place;
ALTER TABLE runs DROP COLUMN format;
ALTER TABLE runs DROP COLUMN replica;
DROP TABLE replicas;
DROP TABLE service;
