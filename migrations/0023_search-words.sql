-- Searches for parts of words read an index where Postgres has pg_trgm, and the rows themselves where it has not.
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE INDEX projects_name_trgm_idx ON projects USING gin (name gin_trgm_ops);
    CREATE INDEX projects_path_trgm_idx ON projects USING gin (path gin_trgm_ops);
    CREATE INDEX projects_description_trgm_idx ON projects USING gin (description gin_trgm_ops);
    CREATE INDEX milestones_title_trgm_idx ON milestones USING gin (title gin_trgm_ops);
    CREATE INDEX milestones_description_trgm_idx ON milestones USING gin (description gin_trgm_ops);
    CREATE INDEX snippets_title_trgm_idx ON snippets USING gin (title gin_trgm_ops);
    CREATE INDEX snippets_file_name_trgm_idx ON snippets USING gin (file_name gin_trgm_ops);
    CREATE INDEX snippets_content_trgm_idx ON snippets USING gin (content gin_trgm_ops);
    CREATE INDEX notes_note_trgm_idx ON notes USING gin (note gin_trgm_ops);
  END IF;
END $$;
