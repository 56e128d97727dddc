-- The size of the files of a project's packages (PK-8): each statement that adds, replaces or removes some changes the sum.
DROP FUNCTION IF EXISTS count_package_files() CASCADE;

CREATE FUNCTION count_package_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE projects p SET packages_size = p.packages_size + d.bytes
    FROM (SELECT project_id, sum(size) AS bytes FROM added GROUP BY 1) d WHERE p.id = d.project_id;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE projects p SET packages_size = p.packages_size + d.bytes
    FROM (SELECT project_id, sum(bytes) AS bytes FROM (
      SELECT project_id, size AS bytes FROM added UNION ALL SELECT project_id, -size FROM removed) c GROUP BY 1) d
    WHERE p.id = d.project_id AND d.bytes <> 0;
  ELSE
    UPDATE projects p SET packages_size = p.packages_size - d.bytes
    FROM (SELECT project_id, sum(size) AS bytes FROM removed GROUP BY 1) d WHERE p.id = d.project_id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER count_package_files_insert AFTER INSERT ON package_files REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_package_files();
CREATE TRIGGER count_package_files_update AFTER UPDATE ON package_files REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_package_files();
CREATE TRIGGER count_package_files_delete AFTER DELETE ON package_files REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_package_files();
