-- Indexes that find the titles and messages with some text, by the sequences of three
-- characters of it in lower case. In front of a text there are three characters for
-- its owner, so that a search for a user leaves out other users' entries. Of a message
-- they hold the first 16384 characters: longer ones are found by blocks_long.

-- +goose Up
CREATE VIRTUAL TABLE chats_search USING fts5 (
    owned,
    content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
);
CREATE VIRTUAL TABLE blocks_search USING fts5 (
    owned,
    content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
);
INSERT INTO chats_search (rowid, owned)
    SELECT id, chattray_mark(owner) || chattray_lower(title) FROM chats ORDER BY id;
INSERT INTO blocks_search (rowid, owned)
    SELECT seq, chattray_mark(owner) || chattray_lower(substr(current, 1, 16384)) FROM blocks
    WHERE chat_id IS NOT NULL AND current IS NOT NULL ORDER BY seq;
CREATE INDEX blocks_long ON blocks (owner) WHERE chat_id IS NOT NULL AND length(current) > 16384;

-- +goose StatementBegin
CREATE TRIGGER chats_inserted AFTER INSERT ON chats BEGIN
    INSERT INTO chats_search (rowid, owned) VALUES (new.id, chattray_mark(new.owner) || chattray_lower(new.title));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER chats_deleted AFTER DELETE ON chats BEGIN
    INSERT INTO chats_search (chats_search, rowid, owned)
    VALUES ('delete', old.id, chattray_mark(old.owner) || chattray_lower(old.title));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER chats_updated AFTER UPDATE OF id, owner, title ON chats BEGIN
    INSERT INTO chats_search (chats_search, rowid, owned)
    VALUES ('delete', old.id, chattray_mark(old.owner) || chattray_lower(old.title));
    INSERT INTO chats_search (rowid, owned) VALUES (new.id, chattray_mark(new.owner) || chattray_lower(new.title));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blocks_inserted AFTER INSERT ON blocks WHEN new.chat_id IS NOT NULL AND new.current IS NOT NULL BEGIN
    INSERT INTO blocks_search (rowid, owned)
    VALUES (new.seq, chattray_mark(new.owner) || chattray_lower(substr(new.current, 1, 16384)));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blocks_deleted AFTER DELETE ON blocks WHEN old.chat_id IS NOT NULL AND old.current IS NOT NULL BEGIN
    INSERT INTO blocks_search (blocks_search, rowid, owned)
    VALUES ('delete', old.seq, chattray_mark(old.owner) || chattray_lower(substr(old.current, 1, 16384)));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blocks_updated AFTER UPDATE OF seq, owner, chat_id, current ON blocks BEGIN
    INSERT INTO blocks_search (blocks_search, rowid, owned)
    SELECT 'delete', old.seq, chattray_mark(old.owner) || chattray_lower(substr(old.current, 1, 16384))
    WHERE old.chat_id IS NOT NULL AND old.current IS NOT NULL;
    INSERT INTO blocks_search (rowid, owned)
    SELECT new.seq, chattray_mark(new.owner) || chattray_lower(substr(new.current, 1, 16384))
    WHERE new.chat_id IS NOT NULL AND new.current IS NOT NULL;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER blocks_updated;
DROP TRIGGER blocks_deleted;
DROP TRIGGER blocks_inserted;
DROP TRIGGER chats_updated;
DROP TRIGGER chats_deleted;
DROP TRIGGER chats_inserted;
DROP INDEX blocks_long;
DROP TABLE blocks_search;
DROP TABLE chats_search;
