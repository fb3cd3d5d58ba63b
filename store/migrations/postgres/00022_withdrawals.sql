-- planned_by is the run whose plan of the document can still be reverted. A withdrawal
-- says that the user has reverted that plan, or deleted the document, while the run was
-- unfinished: the run writes nothing more into it.

-- +goose Up
ALTER TABLE documents ADD COLUMN planned_by TEXT;
CREATE TABLE withdrawals (
    owner    TEXT NOT NULL,
    run      TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (run, document)
);
CREATE INDEX withdrawals_owner ON withdrawals (owner);

-- +goose Down
DROP TABLE withdrawals;
ALTER TABLE documents DROP COLUMN planned_by;
