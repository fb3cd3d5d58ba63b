-- An unlisted chat is left out of the list of chats; 1 or 0.

-- +goose Up
ALTER TABLE chats ADD COLUMN unlisted INTEGER NOT NULL DEFAULT 0;
DROP INDEX chats_newest;
CREATE INDEX chats_newest ON chats (owner, archived, unlisted, pinned, updated_at, id);

-- +goose Down
DROP INDEX chats_newest;
ALTER TABLE chats DROP COLUMN unlisted;
CREATE INDEX chats_newest ON chats (owner, archived, pinned, updated_at, id);
