CREATE TABLE "feature_flag_clients" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"sealed" text,
	"digest" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "feature_flag_scopes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "feature_flag_scopes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"strategy_id" bigint NOT NULL,
	"environment_scope" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "feature_flag_strategies" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "feature_flag_strategies_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"feature_flag_id" bigint NOT NULL,
	"name" text NOT NULL,
	"parameters" jsonb NOT NULL,
	"user_list_id" bigint
);
--> statement-breakpoint
CREATE TABLE "feature_flag_user_lists" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "feature_flag_user_lists_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"iid" integer NOT NULL,
	"name" text NOT NULL,
	"user_xids" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "feature_flags" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "feature_flags_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"iid" integer NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"active" boolean NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "freeze_periods" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "freeze_periods_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"freeze_start" text NOT NULL,
	"freeze_end" text NOT NULL,
	"cron_timezone" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "instance_features" (
	"name" text PRIMARY KEY NOT NULL,
	"enabled" boolean DEFAULT false NOT NULL,
	"percentage_of_time" integer DEFAULT 0 NOT NULL,
	"percentage_of_actors" integer DEFAULT 0 NOT NULL,
	"actors" text[] NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "topics" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "topics_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"name" text NOT NULL,
	"title" text,
	"description" text,
	"avatar" text,
	"made" boolean DEFAULT false NOT NULL,
	"projects_count" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "feature_flag_clients" ADD CONSTRAINT "feature_flag_clients_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "feature_flag_scopes" ADD CONSTRAINT "feature_flag_scopes_strategy_id_feature_flag_strategies_id_fk" FOREIGN KEY ("strategy_id") REFERENCES "public"."feature_flag_strategies"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "feature_flag_strategies" ADD CONSTRAINT "feature_flag_strategies_feature_flag_id_feature_flags_id_fk" FOREIGN KEY ("feature_flag_id") REFERENCES "public"."feature_flags"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "feature_flag_strategies" ADD CONSTRAINT "feature_flag_strategies_user_list_id_feature_flag_user_lists_id_fk" FOREIGN KEY ("user_list_id") REFERENCES "public"."feature_flag_user_lists"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "feature_flag_user_lists" ADD CONSTRAINT "feature_flag_user_lists_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "feature_flags" ADD CONSTRAINT "feature_flags_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "freeze_periods" ADD CONSTRAINT "freeze_periods_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "feature_flag_scopes_strategy_id_idx" ON "feature_flag_scopes" USING btree ("strategy_id","id");--> statement-breakpoint
CREATE INDEX "feature_flag_strategies_feature_flag_id_idx" ON "feature_flag_strategies" USING btree ("feature_flag_id","id");--> statement-breakpoint
CREATE INDEX "feature_flag_strategies_user_list_id_idx" ON "feature_flag_strategies" USING btree ("user_list_id") WHERE "feature_flag_strategies"."user_list_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "feature_flag_user_lists_project_id_iid_key" ON "feature_flag_user_lists" USING btree ("project_id","iid");--> statement-breakpoint
CREATE UNIQUE INDEX "feature_flag_user_lists_project_id_name_key" ON "feature_flag_user_lists" USING btree ("project_id","name");--> statement-breakpoint
CREATE UNIQUE INDEX "feature_flags_project_id_iid_key" ON "feature_flags" USING btree ("project_id","iid");--> statement-breakpoint
CREATE UNIQUE INDEX "feature_flags_project_id_name_key" ON "feature_flags" USING btree ("project_id","name");--> statement-breakpoint
CREATE INDEX "freeze_periods_project_id_idx" ON "freeze_periods" USING btree ("project_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "topics_name_key" ON "topics" USING btree ("name");--> statement-breakpoint
CREATE INDEX "topics_projects_count_idx" ON "topics" USING btree ("projects_count" desc,"name");
--> statement-breakpoint
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
      mailed := (OLD.state, OLD.assignee_id, OLD.title, OLD.description) IS DISTINCT FROM (NEW.state, NEW.assignee_id, NEW.title, NEW.description);
      IF TG_TABLE_NAME = 'merge_requests' THEN mailed := mailed OR OLD.reviewer_id IS DISTINCT FROM NEW.reviewer_id; END IF;
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
    ('issues', 'issues confidential_issues', 'UPDATE', 'title description state assignee_id milestone_id confidential due_date discussion_locked
      time_estimate total_time_spent moved_to_id', 'true', 'actor'),
    ('issue_labels', 'issues confidential_issues', 'INSERT OR DELETE', '', 'true', 'actor'),
    ('merge_requests', 'merge_requests', 'INSERT', '', 'true', ''),
    ('merge_requests', 'merge_requests', 'UPDATE', 'title description state assignee_id reviewer_id milestone_id target_branch discussion_locked
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
INSERT INTO topics (name, projects_count) SELECT name, count(*) FROM (SELECT DISTINCT p.id, n.name FROM projects p, unnest(p.tag_list) AS n (name) WHERE p.marked_for_deletion_at IS NULL) t GROUP BY name ORDER BY name;
