-- Indexes that find the titles and messages with some text. They need two extensions
-- that come with Postgres; where they cannot be made, a search reads all messages of its
-- user. Of a message they hold the first 16384 characters: longer ones are found by
-- blocks_long. A short list of pending entries bounds what a commit has to sort in.

-- +goose Up
CREATE INDEX blocks_long ON blocks (owner) WHERE chat_id IS NOT NULL AND length(current) > 16384;
-- +goose StatementBegin
DO $$
DECLARE
    extension TEXT;
    homes     TEXT[];
BEGIN
    FOREACH extension IN ARRAY ARRAY['pg_trgm', 'btree_gin'] LOOP
        BEGIN
            EXECUTE format('CREATE EXTENSION IF NOT EXISTS %I SCHEMA public', extension);
        EXCEPTION WHEN OTHERS THEN -- it is not installed or not allowed, or another process has just made it
            RAISE NOTICE 'extension %: %', extension, SQLERRM;
        END;
    END LOOP;
    SELECT array_agg(quote_ident(n.nspname) ORDER BY e.extname) INTO homes
        FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname IN ('pg_trgm', 'btree_gin');
    IF cardinality(homes) = 2 THEN
        EXECUTE format('CREATE INDEX blocks_search ON blocks USING gin (owner %s.text_ops, left(current, 16384) %s.gin_trgm_ops)'
            ' WITH (gin_pending_list_limit = 512) WHERE chat_id IS NOT NULL', homes[1], homes[2]);
        EXECUTE format('CREATE INDEX chats_search ON chats USING gin (owner %s.text_ops, title %s.gin_trgm_ops)'
            ' WITH (gin_pending_list_limit = 512)', homes[1], homes[2]);
    END IF;
END;
$$;
-- +goose StatementEnd

-- +goose Down
DROP INDEX IF EXISTS chats_search;
DROP INDEX IF EXISTS blocks_search;
DROP INDEX blocks_long;
