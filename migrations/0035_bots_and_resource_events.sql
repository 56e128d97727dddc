CREATE TABLE "issue_links" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "issue_links_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"source_id" bigint NOT NULL,
	"target_id" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "issue_links_of_two" CHECK ("issue_links"."source_id" <> "issue_links"."target_id")
);
--> statement-breakpoint
CREATE TABLE "bots" (
	"user_id" bigint PRIMARY KEY NOT NULL,
	"project_id" bigint,
	"group_id" bigint,
	"creator_id" bigint,
	CONSTRAINT "bots_one_source" CHECK (num_nonnulls("bots"."project_id", "bots"."group_id") < 2)
);
--> statement-breakpoint
CREATE TABLE "resource_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "resource_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"issue_id" bigint,
	"merge_request_id" bigint,
	"kind" text NOT NULL,
	"user_id" bigint NOT NULL,
	"action" text,
	"label_id" bigint,
	"milestone_id" bigint,
	"state" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "resource_events_one_subject" CHECK (num_nonnulls("resource_events"."issue_id", "resource_events"."merge_request_id") = 1),
	CONSTRAINT "resource_events_whole" CHECK (case when "resource_events"."kind" = 'state' then "resource_events"."state" is not null else "resource_events"."action" is not null end)
);
--> statement-breakpoint
ALTER TABLE "ssh_keys" ADD COLUMN "public" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "issue_links" ADD CONSTRAINT "issue_links_source_id_issues_id_fk" FOREIGN KEY ("source_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issue_links" ADD CONSTRAINT "issue_links_target_id_issues_id_fk" FOREIGN KEY ("target_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "bots" ADD CONSTRAINT "bots_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "bots" ADD CONSTRAINT "bots_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "bots" ADD CONSTRAINT "bots_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "bots" ADD CONSTRAINT "bots_creator_id_users_id_fk" FOREIGN KEY ("creator_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "resource_events" ADD CONSTRAINT "resource_events_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "resource_events" ADD CONSTRAINT "resource_events_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "resource_events" ADD CONSTRAINT "resource_events_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "resource_events" ADD CONSTRAINT "resource_events_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "resource_events" ADD CONSTRAINT "resource_events_label_id_labels_id_fk" FOREIGN KEY ("label_id") REFERENCES "public"."labels"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "resource_events" ADD CONSTRAINT "resource_events_milestone_id_milestones_id_fk" FOREIGN KEY ("milestone_id") REFERENCES "public"."milestones"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "issue_links_pair_key" ON "issue_links" USING btree (least("source_id", "target_id"),greatest("source_id", "target_id"));--> statement-breakpoint
CREATE INDEX "issue_links_source_id_idx" ON "issue_links" USING btree ("source_id");--> statement-breakpoint
CREATE INDEX "issue_links_target_id_idx" ON "issue_links" USING btree ("target_id");--> statement-breakpoint
CREATE INDEX "bots_project_id_idx" ON "bots" USING btree ("project_id") WHERE "bots"."project_id" is not null;--> statement-breakpoint
CREATE INDEX "bots_group_id_idx" ON "bots" USING btree ("group_id") WHERE "bots"."group_id" is not null;--> statement-breakpoint
CREATE INDEX "bots_creator_id_idx" ON "bots" USING btree ("creator_id") WHERE "bots"."creator_id" is not null;--> statement-breakpoint
CREATE INDEX "resource_events_project_id_idx" ON "resource_events" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "resource_events_issue_id_idx" ON "resource_events" USING btree ("issue_id","kind","id") WHERE "resource_events"."issue_id" is not null;--> statement-breakpoint
CREATE INDEX "resource_events_merge_request_id_idx" ON "resource_events" USING btree ("merge_request_id","kind","id") WHERE "resource_events"."merge_request_id" is not null;--> statement-breakpoint
CREATE INDEX "resource_events_user_id_idx" ON "resource_events" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "resource_events_label_id_idx" ON "resource_events" USING btree ("label_id") WHERE "resource_events"."label_id" is not null;--> statement-breakpoint
CREATE INDEX "resource_events_milestone_id_idx" ON "resource_events" USING btree ("milestone_id") WHERE "resource_events"."milestone_id" is not null;--> statement-breakpoint
-- A deploy key that opens no project any more is removed (DK-6), also when the project was.
DROP FUNCTION IF EXISTS drop_deploy_key() CASCADE;

CREATE FUNCTION drop_deploy_key() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM ssh_keys WHERE id = OLD.key_id AND user_id IS NULL AND NOT public AND NOT EXISTS (SELECT FROM deploy_keys_projects WHERE key_id = OLD.key_id);
  RETURN NULL;
END $$;

CREATE TRIGGER deploy_keys_projects_drop_key AFTER DELETE ON deploy_keys_projects FOR EACH ROW EXECUTE FUNCTION drop_deploy_key();
