-- Costs are billionths of a US dollar. A day is YYYY-MM-DD in UTC. What was used
-- stays when the chat goes.

-- +goose Up
ALTER TABLE runs ADD COLUMN cost_nano BIGINT NOT NULL DEFAULT 0;

CREATE TABLE model_usage (
    owner         TEXT    NOT NULL,
    day           TEXT    NOT NULL,
    model         TEXT    NOT NULL,
    runs          BIGINT  NOT NULL,
    input_tokens  BIGINT  NOT NULL,
    output_tokens BIGINT  NOT NULL,
    cost_nano     BIGINT  NOT NULL,
    PRIMARY KEY (owner, day, model)
);

-- +goose Down
DROP TABLE model_usage;
ALTER TABLE runs DROP COLUMN cost_nano;
