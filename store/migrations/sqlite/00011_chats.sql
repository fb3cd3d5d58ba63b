-- A chat can be pinned, which puts it first, and archived, which takes it out of
-- the list; both are 1 or 0.

-- +goose Up
ALTER TABLE chats ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE chats ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
DROP INDEX chats_newest;
CREATE INDEX chats_newest ON chats (owner, archived, pinned, updated_at, id);

-- +goose Down
DROP INDEX chats_newest;
ALTER TABLE chats DROP COLUMN archived;
ALTER TABLE chats DROP COLUMN pinned;
CREATE INDEX chats_newest ON chats (owner, updated_at, id);
