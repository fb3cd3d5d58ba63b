-- Which runs that end with their last reader are read at which replica, until when.

-- +goose Up
CREATE TABLE reading (
    run     TEXT        NOT NULL,
    replica TEXT        NOT NULL,
    until   TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (run, replica)
);

-- +goose Down
DROP TABLE reading;
