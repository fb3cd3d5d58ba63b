-- Costs are billionths of a US dollar. A day is YYYY-MM-DD in UTC. What was used
-- stays when the chat goes.

-- +goose Up
ALTER TABLE runs ADD COLUMN cost_nano INTEGER NOT NULL DEFAULT 0;

CREATE TABLE model_usage (
    owner         TEXT    NOT NULL,
    day           TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    runs          INTEGER NOT NULL,
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_nano     INTEGER NOT NULL,
    PRIMARY KEY (owner, day, model)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE model_usage;
ALTER TABLE runs DROP COLUMN cost_nano;
