-- Versions of messages. Those that took the same place share role and branch: of
-- questions the id of the first one, of answers that of their question. It is
-- NULL where there is one version. A message that was replaced has its status
-- before that in kept, and in tail the first one that was replaced with it.

-- +goose Up
ALTER TABLE blocks ADD COLUMN branch TEXT;
ALTER TABLE blocks ADD COLUMN tail TEXT;
ALTER TABLE blocks ADD COLUMN kept TEXT;
CREATE INDEX blocks_branch ON blocks (chat_id, branch) WHERE branch IS NOT NULL;
CREATE INDEX blocks_tail ON blocks (chat_id, tail) WHERE tail IS NOT NULL;

-- +goose Down
DROP INDEX blocks_tail;
DROP INDEX blocks_branch;
ALTER TABLE blocks DROP COLUMN kept;
ALTER TABLE blocks DROP COLUMN tail;
ALTER TABLE blocks DROP COLUMN branch;
