-- What a chat shows, and which versions its messages have, is found in indexes alone: in
-- a row the columns that say so come after the text, which may be long.

-- +goose Up
DROP INDEX blocks_chat;
CREATE INDEX blocks_chat ON blocks (chat_id, seq, status) WHERE chat_id IS NOT NULL;
DROP INDEX blocks_branch;
CREATE INDEX blocks_branch ON blocks (chat_id, branch, role, created_at, id, status, tail) WHERE branch IS NOT NULL;

-- +goose Down
DROP INDEX blocks_branch;
CREATE INDEX blocks_branch ON blocks (chat_id, branch) WHERE branch IS NOT NULL;
DROP INDEX blocks_chat;
CREATE INDEX blocks_chat ON blocks (chat_id) WHERE chat_id IS NOT NULL;
