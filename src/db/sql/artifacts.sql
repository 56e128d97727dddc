-- The size of the files of a project's jobs (CI-258): each statement that adds, replaces or removes some changes the sum.
DROP FUNCTION IF EXISTS count_artifacts() CASCADE;

CREATE FUNCTION count_artifacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE projects p SET job_artifacts_size = p.job_artifacts_size + d.bytes
    FROM (SELECT project_id, sum(size) AS bytes FROM added GROUP BY 1) d WHERE p.id = d.project_id;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE projects p SET job_artifacts_size = p.job_artifacts_size + d.bytes
    FROM (SELECT project_id, sum(bytes) AS bytes FROM (
      SELECT project_id, size AS bytes FROM added UNION ALL SELECT project_id, -size FROM removed) c GROUP BY 1) d
    WHERE p.id = d.project_id AND d.bytes <> 0;
  ELSE
    UPDATE projects p SET job_artifacts_size = p.job_artifacts_size - d.bytes
    FROM (SELECT project_id, sum(size) AS bytes FROM removed GROUP BY 1) d WHERE p.id = d.project_id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER count_artifacts_insert AFTER INSERT ON artifacts REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_artifacts();
CREATE TRIGGER count_artifacts_update AFTER UPDATE ON artifacts REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_artifacts();
CREATE TRIGGER count_artifacts_delete AFTER DELETE ON artifacts REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_artifacts();
