-- A run belongs to the process that works on it ('' is none), place orders runs by
-- their start, and format is of their checkpoints and logs. A row of the journal is of
-- runs of one process.

-- +goose Up
ALTER TABLE runs ADD COLUMN replica TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN format INTEGER NOT NULL DEFAULT 1;
ALTER TABLE runs ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET place = old.n FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS n FROM runs) AS old WHERE old.id = runs.id;
CREATE INDEX runs_place ON runs (place);
CREATE INDEX runs_held ON runs (replica, place) WHERE state IN ('queued', 'running', 'waiting');
ALTER TABLE journal ADD COLUMN replica TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE journal DROP COLUMN replica;
DROP INDEX runs_held;
DROP INDEX runs_place;
ALTER TABLE runs DROP COLUMN place;
ALTER TABLE runs DROP COLUMN format;
ALTER TABLE runs DROP COLUMN replica;
