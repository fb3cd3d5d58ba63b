-- How many titles and messages were deleted or changed whose terms their search index still
-- has: FTS5 keeps them until the segment that has them is merged with the one that has the
-- deletion. Those from before are not known, and count as one.

-- +goose Up
INSERT INTO sweeps (kind, at) VALUES ('chats_search', 1), ('blocks_search', 1);

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

-- +goose Down
DROP TRIGGER blocks_changed;
DROP TRIGGER blocks_forgotten;
DROP TRIGGER chats_renamed;
DROP TRIGGER chats_forgotten;
DELETE FROM sweeps WHERE kind IN ('chats_search', 'blocks_search');
