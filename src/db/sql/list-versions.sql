-- Versions of lists (docs/adr/0007-list-totals.md). Every transaction that changes what lists filter or sort by raises
-- their version once. It takes a row that no other transaction holds, or adds one: no writer waits for another, and
-- there are never more rows than there were transactions at once. For transactions at the level read committed.
DROP FUNCTION IF EXISTS raise_list_version(text, integer), list_changed(), project_list_changed() CASCADE;

CREATE FUNCTION raise_list_version(list text, part integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  raised text := 'roost.raised_' || list || '_' || part;
  slot bigint;
BEGIN
  IF current_setting(raised, true) = 'yes' THEN RETURN; END IF;
  SELECT id INTO slot FROM list_versions WHERE kind = list AND bucket = part ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF FOUND THEN
    UPDATE list_versions SET version = version + 1 WHERE id = slot;
  ELSE
    INSERT INTO list_versions (kind, bucket, version) VALUES (list, part, 1);
  END IF;
  -- until the end of the transaction, or of the savepoint that is rolled back
  PERFORM set_config(raised, 'yes', true);
END $$;

CREATE FUNCTION list_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 0 .. TG_NARGS - 1 LOOP
    PERFORM raise_list_version(TG_ARGV[i], 0);
  END LOOP;
  RETURN NULL;
END $$;

CREATE FUNCTION project_list_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN PERFORM raise_list_version(TG_ARGV[0], (OLD.project_id % 256)::integer); END IF;
  IF TG_OP <> 'DELETE' THEN PERFORM raise_list_version(TG_ARGV[0], (NEW.project_id % 256)::integer); END IF;
  RETURN NULL;
END $$;

-- Per table: the function, the kinds of lists, and the columns that these filter or sort by.
DO $$
DECLARE
  dependency record;
BEGIN
  FOR dependency IN SELECT * FROM (VALUES
    ('users', 'list_changed', 'users', 'username name email state kind external created_at'),
    ('identities', 'list_changed', 'users', 'user_id provider extern_uid'),
    ('projects', 'list_changed', 'projects groups', 'namespace_id name path description visibility archived tag_list issues_access_level
      merge_requests_access_level repository_access_level created_at marked_for_deletion_at'),
    ('namespaces', 'list_changed', 'projects groups', 'kind name path parent_id owner_id visibility marked_for_deletion_at'),
    ('namespace_ancestry', 'list_changed', 'projects groups', 'ancestor_id descendant_id'),
    ('members', 'list_changed', 'projects groups', 'user_id project_id namespace_id access_level expires_at requested_at'),
    ('project_shares', 'list_changed', 'projects groups', 'project_id group_id group_access expires_at suspended'),
    ('group_shares', 'list_changed', 'projects groups', 'group_id shared_with_group_id group_access expires_at suspended'),
    ('issues', 'project_list_changed', 'issues', 'project_id iid title description state author_id assignee_ids milestone_id confidential due_date
      created_at'),
    ('issue_labels', 'project_list_changed', 'issues', 'project_id issue_id label_id'),
    ('merge_requests', 'project_list_changed', 'merge_requests', 'project_id iid title description state author_id assignee_ids
      reviewer_ids milestone_id source_branch target_branch created_at deleted_at'),
    ('merge_request_labels', 'project_list_changed', 'merge_requests', 'project_id merge_request_id label_id'),
    ('merge_request_approvals', 'project_list_changed', 'merge_requests', 'project_id merge_request_id user_id')
  ) AS d (of, function, kinds, columns) LOOP
    EXECUTE format('CREATE TRIGGER list_versions_rows AFTER INSERT OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION %I(%s)',
      dependency.of, dependency.function, (SELECT string_agg(quote_literal(k), ', ') FROM regexp_split_to_table(dependency.kinds, ' ') k));
    -- a column that is only named in an update has not changed
    EXECUTE (SELECT format('CREATE TRIGGER list_versions_values AFTER UPDATE OF %s ON %I FOR EACH ROW WHEN ((%s) IS DISTINCT FROM (%s)) EXECUTE FUNCTION %I(%s)',
        string_agg(quote_ident(c), ', '), dependency.of, string_agg('OLD.' || quote_ident(c), ', '), string_agg('NEW.' || quote_ident(c), ', '),
        dependency.function, (SELECT string_agg(quote_literal(k), ', ') FROM regexp_split_to_table(dependency.kinds, ' ') k))
      FROM regexp_split_to_table(dependency.columns, '\s+') c);
  END LOOP;
END $$;
