-- Blocks that only hold an id are found by their run: ids of answers under way,
-- and those that a client gave an answer beside the id of its message.

-- +goose Up
CREATE INDEX blocks_names ON blocks (owner, run_id) WHERE chat_id IS NULL AND document_id IS NULL;

-- +goose Down
DROP INDEX blocks_names;
