-- A deploy key that opens no project any more is removed (DK-6), also when the project was.
DROP FUNCTION IF EXISTS drop_deploy_key() CASCADE;

CREATE FUNCTION drop_deploy_key() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM ssh_keys WHERE id = OLD.key_id AND user_id IS NULL AND NOT public AND NOT EXISTS (SELECT FROM deploy_keys_projects WHERE key_id = OLD.key_id);
  RETURN NULL;
END $$;

CREATE TRIGGER deploy_keys_projects_drop_key AFTER DELETE ON deploy_keys_projects FOR EACH ROW EXECUTE FUNCTION drop_deploy_key();
