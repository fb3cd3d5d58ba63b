-- New titles and messages enter their search index many at a time, not with the commit
-- that stores them. How far an index has come is the id or seq in the table sweeps: it has every
-- row up to there and none after it, which a search looks through.
-- Which runs a process holds is found by runs_open, which has no more than the unfinished.

-- +goose Up
INSERT INTO sweeps (kind, at) VALUES
    ('chats_indexed', (SELECT COALESCE(MAX(id), 0) FROM chats)),
    ('blocks_indexed', (SELECT COALESCE(MAX(seq), 0) FROM blocks));

DROP TRIGGER chats_inserted;
DROP TRIGGER chats_deleted;
DROP TRIGGER chats_updated;
DROP TRIGGER blocks_inserted;
DROP TRIGGER blocks_deleted;
DROP TRIGGER blocks_updated;
DROP TRIGGER chats_forgotten;
DROP TRIGGER chats_renamed;
DROP TRIGGER blocks_forgotten;
DROP TRIGGER blocks_changed;

-- +goose StatementBegin
CREATE TRIGGER chats_inserted AFTER INSERT ON chats
WHEN new.id <= (SELECT at FROM sweeps WHERE kind = 'chats_indexed') BEGIN
    INSERT INTO chats_search (rowid, owned) VALUES (new.id, chattray_mark(new.owner) || chattray_lower(new.title));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER chats_deleted AFTER DELETE ON chats
WHEN old.id <= (SELECT at FROM sweeps WHERE kind = 'chats_indexed') BEGIN
    INSERT INTO chats_search (chats_search, rowid, owned)
    VALUES ('delete', old.id, chattray_mark(old.owner) || chattray_lower(old.title));
    UPDATE sweeps SET at = at + 1 WHERE kind = 'chats_search';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER chats_updated AFTER UPDATE OF id, owner, title ON chats
WHEN min(old.id, new.id) <= (SELECT at FROM sweeps WHERE kind = 'chats_indexed') BEGIN
    INSERT INTO chats_search (chats_search, rowid, owned)
    SELECT 'delete', old.id, chattray_mark(old.owner) || chattray_lower(old.title)
    WHERE old.id <= (SELECT at FROM sweeps WHERE kind = 'chats_indexed');
    INSERT INTO chats_search (rowid, owned)
    SELECT new.id, chattray_mark(new.owner) || chattray_lower(new.title)
    WHERE new.id <= (SELECT at FROM sweeps WHERE kind = 'chats_indexed');
    UPDATE sweeps SET at = at + 1 WHERE kind = 'chats_search' AND old.title <> new.title AND old.title <> '';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blocks_inserted AFTER INSERT ON blocks
WHEN new.seq <= (SELECT at FROM sweeps WHERE kind = 'blocks_indexed') AND new.chat_id IS NOT NULL AND new.current IS NOT NULL BEGIN
    INSERT INTO blocks_search (rowid, owned)
    VALUES (new.seq, chattray_mark(new.owner) || chattray_lower(substr(new.current, 1, 16384)));
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blocks_deleted AFTER DELETE ON blocks
WHEN old.seq <= (SELECT at FROM sweeps WHERE kind = 'blocks_indexed') AND old.chat_id IS NOT NULL AND old.current IS NOT NULL BEGIN
    INSERT INTO blocks_search (blocks_search, rowid, owned)
    VALUES ('delete', old.seq, chattray_mark(old.owner) || chattray_lower(substr(old.current, 1, 16384)));
    UPDATE sweeps SET at = at + 1 WHERE kind = 'blocks_search';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blocks_updated AFTER UPDATE OF seq, owner, chat_id, current ON blocks
WHEN min(old.seq, new.seq) <= (SELECT at FROM sweeps WHERE kind = 'blocks_indexed') BEGIN
    INSERT INTO blocks_search (blocks_search, rowid, owned)
    SELECT 'delete', old.seq, chattray_mark(old.owner) || chattray_lower(substr(old.current, 1, 16384))
    WHERE old.seq <= (SELECT at FROM sweeps WHERE kind = 'blocks_indexed') AND old.chat_id IS NOT NULL AND old.current IS NOT NULL;
    INSERT INTO blocks_search (rowid, owned)
    SELECT new.seq, chattray_mark(new.owner) || chattray_lower(substr(new.current, 1, 16384))
    WHERE new.seq <= (SELECT at FROM sweeps WHERE kind = 'blocks_indexed') AND new.chat_id IS NOT NULL AND new.current IS NOT NULL;
    UPDATE sweeps SET at = at + 1 WHERE kind = 'blocks_search' AND old.seq <= (SELECT at FROM sweeps WHERE kind = 'blocks_indexed')
    AND old.chat_id IS NOT NULL AND old.current IS NOT NULL AND (old.current IS NOT new.current OR new.chat_id IS NULL);
END;
-- +goose StatementEnd

DROP INDEX runs_held;

-- +goose Down
CREATE INDEX runs_held ON runs (replica, place) WHERE state IN ('queued', 'running', 'waiting');

DROP TRIGGER blocks_updated;
DROP TRIGGER blocks_deleted;
DROP TRIGGER blocks_inserted;
DROP TRIGGER chats_updated;
DROP TRIGGER chats_deleted;
DROP TRIGGER chats_inserted;
INSERT INTO chats_search (rowid, owned)
    SELECT id, chattray_mark(owner) || chattray_lower(title) FROM chats
    WHERE id > (SELECT at FROM sweeps WHERE kind = 'chats_indexed') ORDER BY id;
INSERT INTO blocks_search (rowid, owned)
    SELECT seq, chattray_mark(owner) || chattray_lower(substr(current, 1, 16384)) FROM blocks
    WHERE seq > (SELECT at FROM sweeps WHERE kind = 'blocks_indexed') AND chat_id IS NOT NULL AND current IS NOT NULL ORDER BY seq;
DELETE FROM sweeps WHERE kind IN ('chats_indexed', 'blocks_indexed');

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
-- +goose StatementBegin
CREATE TRIGGER chats_forgotten AFTER DELETE ON chats BEGIN
    UPDATE sweeps SET at = at + 1 WHERE kind = 'chats_search';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER chats_renamed AFTER UPDATE OF title ON chats WHEN old.title <> new.title AND old.title <> '' BEGIN
    UPDATE sweeps SET at = at + 1 WHERE kind = 'chats_search';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blocks_forgotten AFTER DELETE ON blocks WHEN old.chat_id IS NOT NULL AND old.current IS NOT NULL BEGIN
    UPDATE sweeps SET at = at + 1 WHERE kind = 'blocks_search';
END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER blocks_changed AFTER UPDATE OF chat_id, current ON blocks
WHEN old.chat_id IS NOT NULL AND old.current IS NOT NULL AND (old.current IS NOT new.current OR new.chat_id IS NULL) BEGIN
    UPDATE sweeps SET at = at + 1 WHERE kind = 'blocks_search';
END;
-- +goose StatementEnd
