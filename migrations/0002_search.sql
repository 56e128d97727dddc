-- Searches for parts of words read an index where Postgres has pg_trgm, and whole tables where it has not.
DO $$ BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE 'pg_trgm is not available: %', SQLERRM;
END $$;
--> statement-breakpoint
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE INDEX users_name_trgm_idx ON users USING gin (name gin_trgm_ops);
    CREATE INDEX users_username_trgm_idx ON users USING gin (username gin_trgm_ops);
  END IF;
END $$;
