-- Searches for parts of words read an index where Postgres has pg_trgm, and the rows of the list where it has not.
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE INDEX merge_requests_title_trgm_idx ON merge_requests USING gin (title gin_trgm_ops);
    CREATE INDEX merge_requests_description_trgm_idx ON merge_requests USING gin (description gin_trgm_ops);
  END IF;
END $$;
