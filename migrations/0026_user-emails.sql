-- Administrators find people by a part of their address.
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE INDEX users_email_trgm_idx ON users USING gin (email gin_trgm_ops);
  END IF;
END $$;
