-- What a list of versions shows and what limits them is read along this index: in their rows
-- some of it comes after the content, all pages of which would be read.

-- +goose Up
CREATE INDEX document_versions_list ON document_versions (owner, document_id, revision, created_at, size, blocks, reason, title);

-- +goose Down
DROP INDEX document_versions_list;
