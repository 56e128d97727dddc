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
INSERT INTO topics (name, projects_count) SELECT name, count(*) FROM (SELECT DISTINCT p.id, n.name FROM projects p, unnest(p.tag_list) AS n (name) WHERE p.marked_for_deletion_at IS NULL) t GROUP BY name ORDER BY name;
