-- The topics of projects (TP-1): each that a project has is a row, with the number of those projects. One that no
-- administrator has made goes with its last project.
DROP FUNCTION IF EXISTS count_topics() CASCADE;

CREATE FUNCTION count_topics() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before text[] := '{}';
  after text[] := '{}';
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.marked_for_deletion_at IS NULL THEN before := OLD.tag_list; END IF;
  IF TG_OP <> 'DELETE' AND NEW.marked_for_deletion_at IS NULL THEN after := NEW.tag_list; END IF;
  INSERT INTO topics (name, projects_count) SELECT DISTINCT name, 1 FROM unnest(after) AS n (name) WHERE name <> ALL (before) ORDER BY name
    ON CONFLICT (name) DO UPDATE SET projects_count = topics.projects_count + 1;
  UPDATE topics SET projects_count = projects_count - 1 WHERE name = ANY (before) AND name <> ALL (after);
  DELETE FROM topics WHERE name = ANY (before) AND name <> ALL (after) AND projects_count <= 0 AND NOT made;
  RETURN NULL;
END $$;

CREATE TRIGGER count_topics_insert AFTER INSERT ON projects FOR EACH ROW WHEN (NEW.tag_list <> '{}') EXECUTE FUNCTION count_topics();
CREATE TRIGGER count_topics_update AFTER UPDATE OF tag_list, marked_for_deletion_at ON projects FOR EACH ROW
  WHEN ((OLD.tag_list, OLD.marked_for_deletion_at IS NULL) IS DISTINCT FROM (NEW.tag_list, NEW.marked_for_deletion_at IS NULL))
  EXECUTE FUNCTION count_topics();
CREATE TRIGGER count_topics_delete AFTER DELETE ON projects FOR EACH ROW WHEN (OLD.tag_list <> '{}') EXECUTE FUNCTION count_topics();
