-- A message's place in its chat is twice its seq; an answer's is in turn: twice the seq of its
-- question and one. So an answer has its place before it is stored, directly after its question.

-- +goose Up
ALTER TABLE blocks ADD COLUMN turn INTEGER;
DROP INDEX blocks_chat;
CREATE INDEX blocks_chat ON blocks (chat_id, COALESCE(turn, seq * 2), seq, status) WHERE chat_id IS NOT NULL;

-- +goose Down
DROP INDEX blocks_chat;
ALTER TABLE blocks DROP COLUMN turn;
CREATE INDEX blocks_chat ON blocks (chat_id, seq, status) WHERE chat_id IS NOT NULL;
