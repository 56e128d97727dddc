-- these triggers name the columns that go
DROP FUNCTION IF EXISTS has_hook(bigint, text[]), notify_hooks(), enqueue_dispatch() CASCADE;
--> statement-breakpoint
DROP FUNCTION IF EXISTS raise_list_version(text, integer), list_changed(), project_list_changed() CASCADE;
--> statement-breakpoint
ALTER TABLE "issues" DROP CONSTRAINT "issues_assignee_id_users_id_fk";
--> statement-breakpoint
ALTER TABLE "merge_requests" DROP CONSTRAINT "merge_requests_assignee_id_users_id_fk";
--> statement-breakpoint
ALTER TABLE "merge_requests" DROP CONSTRAINT "merge_requests_reviewer_id_users_id_fk";
--> statement-breakpoint
DROP INDEX "issues_assignee_id_idx";--> statement-breakpoint
DROP INDEX "merge_requests_assignee_id_idx";--> statement-breakpoint
DROP INDEX "merge_requests_reviewer_id_idx";--> statement-breakpoint
DROP INDEX "issues_project_id_confidential_idx";--> statement-breakpoint
ALTER TABLE "issues" ADD COLUMN "assignee_ids" bigint[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "assignee_ids" bigint[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "reviewer_ids" bigint[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "reviews_requested_at" timestamp (3) with time zone[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
UPDATE "issues" SET "assignee_ids" = ARRAY["assignee_id"] WHERE "assignee_id" IS NOT NULL;
--> statement-breakpoint
UPDATE "merge_requests" SET "assignee_ids" = array_remove(ARRAY["assignee_id"], NULL), "reviewer_ids" = array_remove(ARRAY["reviewer_id"], NULL),
  "reviews_requested_at" = CASE WHEN "reviewer_id" IS NULL THEN '{}' ELSE ARRAY[coalesce("review_requested_at", "updated_at")] END
WHERE "assignee_id" IS NOT NULL OR "reviewer_id" IS NOT NULL;
--> statement-breakpoint
-- what waits to be sent has images of the former rows
UPDATE "hook_changes" SET
  "before" = "before" || jsonb_build_object('assignee_ids', array_remove(ARRAY[("before"->>'assignee_id')::bigint], NULL),
    'reviewer_ids', array_remove(ARRAY[("before"->>'reviewer_id')::bigint], NULL)),
  "after" = "after" || jsonb_build_object('assignee_ids', array_remove(ARRAY[("after"->>'assignee_id')::bigint], NULL),
    'reviewer_ids', array_remove(ARRAY[("after"->>'reviewer_id')::bigint], NULL))
WHERE "source" IN ('issues', 'merge_requests');
--> statement-breakpoint
CREATE INDEX "issues_assignee_ids_idx" ON "issues" USING gin ("assignee_ids") WITH (fastupdate=false) WHERE "issues"."assignee_ids" <> '{}';--> statement-breakpoint
CREATE INDEX "merge_requests_assignee_ids_idx" ON "merge_requests" USING gin ("assignee_ids") WITH (fastupdate=false) WHERE "merge_requests"."assignee_ids" <> '{}';--> statement-breakpoint
CREATE INDEX "merge_requests_reviewer_ids_idx" ON "merge_requests" USING gin ("reviewer_ids") WITH (fastupdate=false) WHERE "merge_requests"."reviewer_ids" <> '{}';--> statement-breakpoint
CREATE INDEX "issues_project_id_confidential_idx" ON "issues" USING btree ("project_id","author_id") WHERE "issues"."confidential";--> statement-breakpoint
ALTER TABLE "issues" DROP COLUMN "assignee_id";--> statement-breakpoint
ALTER TABLE "merge_requests" DROP COLUMN "assignee_id";--> statement-breakpoint
ALTER TABLE "merge_requests" DROP COLUMN "reviewer_id";--> statement-breakpoint
ALTER TABLE "merge_requests" DROP COLUMN "review_requested_at";
--> statement-breakpoint
-- The outbox of webhooks and mail (docs/adr/0017-webhook-outbox.md, 0018-mail.md): a change for which a hook listens, or
-- which may be mailed, is a row of hook_changes, written in the transaction of the change. Without hooks and mail, that
-- costs a look at two empty tables.
DROP FUNCTION IF EXISTS has_hook(bigint, text[]), notify_hooks(), enqueue_dispatch() CASCADE;

-- Whether a hook of the project, of its groups or of the system listens to one of these events.
CREATE FUNCTION has_hook(project bigint, wanted text[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM web_hooks) THEN RETURN false; END IF;
  RETURN EXISTS (SELECT FROM web_hooks h WHERE h.project_id IS NULL AND h.group_id IS NULL AND h.events && wanted)
    OR project IS NOT NULL AND (EXISTS (SELECT FROM web_hooks h WHERE h.project_id = project AND h.events && wanted)
      OR EXISTS (SELECT FROM projects p JOIN namespace_ancestry a ON a.descendant_id = p.namespace_id JOIN web_hooks h ON h.group_id = a.ancestor_id
        WHERE p.id = project AND h.events && wanted));
END $$;

-- Its arguments: the events that hooks may listen to, and `actor` for changes that are recorded only in a transaction
-- that has an acting user.
CREATE FUNCTION notify_hooks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  project bigint;
  actor bigint;
  hooked boolean;
  mailed boolean := false;
BEGIN
  IF NOT EXISTS (SELECT FROM web_hooks) AND NOT EXISTS (SELECT FROM mail_service) THEN RETURN NULL; END IF;
  -- an import copies what happened on another server
  IF current_setting('roost.silent', true) = 'yes' THEN RETURN NULL; END IF;
  -- without an acting user the change is the effect of another one, which is recorded itself
  actor := nullif(current_setting('roost.actor', true), '')::bigint;
  IF actor IS NULL AND TG_ARGV[1] = 'actor' THEN RETURN NULL; END IF;
  IF TG_ARGV[0] <> 'system' OR TG_TABLE_NAME = 'members' THEN project := coalesce(NEW.project_id, OLD.project_id); END IF;
  hooked := has_hook(project, string_to_array(TG_ARGV[0], ' '));
  -- a hook of a group listens to its subgroups
  IF NOT hooked AND TG_TABLE_NAME = 'namespaces' THEN
    hooked := EXISTS (SELECT FROM namespace_ancestry a JOIN web_hooks h ON h.group_id = a.ancestor_id
      WHERE a.descendant_id = coalesce(NEW.parent_id, OLD.parent_id) AND 'subgroup' = ANY (h.events));
  END IF;
  -- changes that may be mailed (ML-4, ML-6, ML-30, ML-600)
  IF TG_TABLE_NAME IN ('merge_request_approvals', 'merge_request_reviews') THEN
    mailed := EXISTS (SELECT FROM mail_service);
  ELSIF TG_OP <> 'DELETE' AND EXISTS (SELECT FROM mail_service) THEN
    IF TG_TABLE_NAME IN ('issue_labels', 'merge_request_labels') THEN
      mailed := EXISTS (SELECT FROM subscriptions s WHERE s.target_type = 'Label' AND s.target_id = NEW.label_id AND s.subscribed);
    ELSIF TG_OP = 'INSERT' THEN
      mailed := TG_TABLE_NAME IN ('issues', 'merge_requests', 'notes', 'releases');
    ELSIF TG_TABLE_NAME IN ('issues', 'merge_requests') THEN
      mailed := (OLD.state, OLD.assignee_ids, OLD.title, OLD.description) IS DISTINCT FROM (NEW.state, NEW.assignee_ids, NEW.title, NEW.description);
      IF TG_TABLE_NAME = 'merge_requests' THEN mailed := mailed OR OLD.reviewer_ids IS DISTINCT FROM NEW.reviewer_ids; END IF;
    ELSIF TG_TABLE_NAME = 'pipelines' THEN
      mailed := NEW.status IN ('success', 'failed');
    END IF;
  END IF;
  IF hooked OR mailed THEN
    INSERT INTO hook_changes (source, operation, project_id, actor_id, before, after, hooks, mail)
    VALUES (TG_TABLE_NAME, TG_OP, project, actor, CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) - 'password_hash' END,
      CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) - 'password_hash' END, hooked, mailed);
  END IF;
  RETURN NULL;
END $$;

-- Per table: the events, the operations that are recorded, the columns whose changes are, a condition on the row, and
-- whether an acting user is required.
DO $$
DECLARE
  recorded record;
BEGIN
  FOR recorded IN SELECT * FROM (VALUES
    ('issues', 'issues confidential_issues', 'INSERT', '', 'true', ''),
    ('issues', 'issues confidential_issues', 'UPDATE', 'title description state assignee_ids milestone_id confidential due_date discussion_locked
      time_estimate total_time_spent moved_to_id', 'true', 'actor'),
    ('issue_labels', 'issues confidential_issues', 'INSERT OR DELETE', '', 'true', 'actor'),
    ('merge_requests', 'merge_requests', 'INSERT', '', 'true', ''),
    ('merge_requests', 'merge_requests', 'UPDATE', 'title description state assignee_ids reviewer_ids milestone_id target_branch discussion_locked
      time_estimate total_time_spent sha', 'NEW.deleted_at IS NULL', 'actor'),
    ('merge_request_labels', 'merge_requests', 'INSERT OR DELETE', '', 'true', 'actor'),
    ('merge_request_approvals', 'merge_requests', 'INSERT OR DELETE', '', 'true', 'actor'),
    ('merge_request_reviews', '', 'INSERT', '', 'true', 'actor'),
    ('merge_request_reviews', '', 'UPDATE', 'submitted_at', 'true', 'actor'),
    ('notes', 'note confidential_note', 'INSERT', '', 'NOT NEW.system', ''),
    ('notes', 'note confidential_note', 'UPDATE', 'note', 'NOT NEW.system', ''),
    ('pipelines', 'pipeline', 'UPDATE', 'status', 'true', ''),
    ('deployments', 'deployment', 'INSERT', '', 'NEW.status NOT IN (''created'', ''skipped'')', ''),
    ('deployments', 'deployment', 'UPDATE', 'status', 'NEW.status NOT IN (''created'', ''skipped'')', ''),
    ('feature_flags', 'feature_flag', 'UPDATE', 'active', 'true', ''),
    ('commit_statuses', 'job', 'INSERT', '', 'NEW.kind = ''build''', ''),
    ('commit_statuses', 'job', 'UPDATE', 'status', 'NEW.kind = ''build''', ''),
    ('releases', 'releases', 'INSERT OR DELETE', '', 'true', ''),
    ('releases', 'releases', 'UPDATE', 'name description released_at', 'true', ''),
    ('members', 'system', 'INSERT', '', 'NEW.requested_at IS NULL', ''),
    ('members', 'system', 'DELETE', '', 'OLD.requested_at IS NULL', ''),
    ('members', 'system', 'UPDATE', 'access_level requested_at', 'NEW.requested_at IS NULL', ''),
    ('users', 'system', 'INSERT', '', 'NEW.kind = ''human''', ''),
    ('users', 'system', 'DELETE', '', 'OLD.kind = ''human''', ''),
    ('users', 'system', 'UPDATE', 'username', 'true', ''),
    ('namespaces', 'system', 'INSERT', '', 'NEW.kind = ''group''', ''),
    ('namespaces', 'system', 'DELETE', '', 'OLD.kind = ''group''', ''),
    ('namespaces', 'system', 'UPDATE', 'path', 'NEW.kind = ''group''', ''),
    ('projects', 'system', 'INSERT OR DELETE', '', 'true', ''),
    ('projects', 'system', 'UPDATE', 'name path namespace_id description visibility archived', 'true', ''),
    ('ssh_keys', 'system', 'INSERT OR DELETE', '', 'true', '')
  ) AS r (of, events, operations, columns, condition, requires) LOOP
    EXECUTE (SELECT format('CREATE TRIGGER notify_hooks_%s AFTER %s%s ON %I FOR EACH ROW WHEN (%s AND %s) EXECUTE FUNCTION notify_hooks(%L, %L)',
        lower(replace(recorded.operations, ' ', '_')), recorded.operations,
        CASE WHEN recorded.columns = '' THEN '' ELSE ' OF ' || string_agg(quote_ident(c), ', ') END, recorded.of, recorded.condition,
        -- a column that is only named in an update has not changed
        CASE WHEN recorded.columns = '' THEN 'true'
          ELSE format('(%s) IS DISTINCT FROM (%s)', string_agg('OLD.' || quote_ident(c), ', '), string_agg('NEW.' || quote_ident(c), ', ')) END,
        recorded.events, recorded.requires)
      FROM regexp_split_to_table(recorded.columns, '\s+') c);
  END LOOP;
END $$;

-- A job of the same transaction reads its rows. Moves of a wiki that are only planned are read when the process that
-- makes them must have finished or died.
CREATE FUNCTION enqueue_dispatch() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  enqueued boolean := false;
BEGIN
  IF NEW.hooks AND current_setting('roost.hooks_queued', true) IS DISTINCT FROM NEW.transaction::text THEN
    INSERT INTO jobs (kind, payload, run_at) VALUES ('hooks: dispatch', jsonb_build_object('transaction', NEW.transaction::text),
      pg_catalog.now() + CASE NEW.source WHEN 'wiki_intents' THEN interval '1 minute' ELSE interval '0' END);
    PERFORM set_config('roost.hooks_queued', NEW.transaction::text, true);
    enqueued := true;
  END IF;
  IF NEW.mail AND current_setting('roost.mail_queued', true) IS DISTINCT FROM NEW.transaction::text THEN
    INSERT INTO jobs (kind, payload, run_at) VALUES ('mail: dispatch', jsonb_build_object('transaction', NEW.transaction::text), pg_catalog.now());
    PERFORM set_config('roost.mail_queued', NEW.transaction::text, true);
    enqueued := true;
  END IF;
  IF enqueued THEN
    -- the process that makes the change wakes its worker when it has been committed
    RAISE NOTICE USING MESSAGE = 'roost: a job was enqueued', ERRCODE = '00R01';
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER hook_changes_enqueue AFTER INSERT OR UPDATE OF source ON hook_changes FOR EACH ROW EXECUTE FUNCTION enqueue_dispatch();
--> statement-breakpoint
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
--> statement-breakpoint
-- Columns with several users have no foreign keys: who is removed is taken out of them, with the time of the request of a
-- review (MR-620).
DROP FUNCTION IF EXISTS take_out_person() CASCADE;

CREATE FUNCTION take_out_person() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE issues SET assignee_ids = array_remove(assignee_ids, OLD.id) WHERE assignee_ids <> '{}' AND assignee_ids @> ARRAY[OLD.id];
  UPDATE merge_requests SET assignee_ids = array_remove(assignee_ids, OLD.id) WHERE assignee_ids <> '{}' AND assignee_ids @> ARRAY[OLD.id];
  UPDATE merge_requests SET (reviewer_ids, reviews_requested_at) = (
      SELECT coalesce(array_agg(r.id ORDER BY r.place), '{}'), coalesce(array_agg(r.at ORDER BY r.place), '{}')
      FROM unnest(reviewer_ids, reviews_requested_at) WITH ORDINALITY AS r (id, at, place) WHERE r.id <> OLD.id)
    WHERE reviewer_ids <> '{}' AND reviewer_ids @> ARRAY[OLD.id];
  RETURN NULL;
END $$;

CREATE TRIGGER take_out_person AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION take_out_person();
