-- What the operator's page reads. page is the page of a run's request if the service has
-- it, and model the one that wrote the last reply. owners says which replicas had the
-- earlier attempts: "1 a;3 b;" means the first belonged to a, the second and third to b.
-- daily_runs adds up the runs that ended on a day, and the calls of models: a replica has
-- rows of its own, so that replicas do not wait for each other. code is that of an error.
-- Runs that ended before this migration have no page and no model.

-- +goose Up
ALTER TABLE runs ADD COLUMN page TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN model TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN owners TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_ended ON runs (created_at, place) WHERE ended_at > 0;
CREATE INDEX runs_page ON runs (page, created_at, place) WHERE ended_at > 0 AND page <> '';
CREATE INDEX runs_model ON runs (model, created_at, place) WHERE ended_at > 0 AND model <> '';
CREATE INDEX runs_error ON runs (error_code, created_at, place) WHERE ended_at > 0 AND error_code <> '';
CREATE INDEX runs_incomplete ON runs (state, created_at, place) WHERE ended_at > 0 AND state IN ('failed', 'cancelled');
CREATE INDEX model_usage_days ON model_usage (day);

CREATE TABLE daily_runs (
    day           TEXT NOT NULL,
    replica       TEXT NOT NULL,
    page          TEXT NOT NULL,
    model         TEXT NOT NULL,
    code          TEXT NOT NULL,
    runs          INTEGER NOT NULL,
    cancelled     INTEGER NOT NULL,
    fallbacks     INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nano     INTEGER NOT NULL,
    PRIMARY KEY (day, replica, page, model, code)
) STRICT, WITHOUT ROWID;
INSERT INTO daily_runs (day, replica, page, model, code, runs, cancelled, fallbacks, input_tokens, output_tokens, cost_nano)
    SELECT day, '', '', model, '', SUM(runs), 0, 0, SUM(input_tokens), SUM(output_tokens), SUM(cost_nano) FROM model_usage GROUP BY day, model;

-- +goose Down
DROP TABLE daily_runs;
DROP INDEX model_usage_days;
DROP INDEX runs_incomplete;
DROP INDEX runs_error;
DROP INDEX runs_model;
DROP INDEX runs_page;
DROP INDEX runs_ended;
ALTER TABLE runs DROP COLUMN owners;
ALTER TABLE runs DROP COLUMN model;
ALTER TABLE runs DROP COLUMN page;
