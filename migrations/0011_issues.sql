CREATE TABLE "group_iid_counters" (
	"namespace_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"last" integer NOT NULL,
	CONSTRAINT "group_iid_counters_namespace_id_kind_pk" PRIMARY KEY("namespace_id","kind")
);
--> statement-breakpoint
CREATE TABLE "issue_labels" (
	"project_id" bigint NOT NULL,
	"issue_id" bigint NOT NULL,
	"label_id" bigint NOT NULL,
	CONSTRAINT "issue_labels_issue_id_label_id_pk" PRIMARY KEY("issue_id","label_id")
);
--> statement-breakpoint
CREATE TABLE "issues" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "issues_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"iid" integer NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"state" text DEFAULT 'opened' NOT NULL,
	"author_id" bigint NOT NULL,
	"assignee_id" bigint,
	"milestone_id" bigint,
	"confidential" boolean DEFAULT false NOT NULL,
	"discussion_locked" boolean,
	"due_date" date,
	"closed_at" timestamp (3) with time zone,
	"closed_by_id" bigint,
	"moved_to_id" bigint,
	"time_estimate" integer DEFAULT 0 NOT NULL,
	"total_time_spent" integer DEFAULT 0 NOT NULL,
	"task_count" integer DEFAULT 0 NOT NULL,
	"task_completed_count" integer DEFAULT 0 NOT NULL,
	"user_notes_count" integer DEFAULT 0 NOT NULL,
	"upvotes" integer DEFAULT 0 NOT NULL,
	"downvotes" integer DEFAULT 0 NOT NULL,
	"merge_requests_count" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "labels" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "labels_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"namespace_id" bigint,
	"title" text NOT NULL,
	"color" text NOT NULL,
	"description" text,
	"description_html" text DEFAULT '' NOT NULL,
	"priority" integer,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "labels_one_source" CHECK (("labels"."project_id" is null) <> ("labels"."namespace_id" is null))
);
--> statement-breakpoint
CREATE TABLE "mentions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "mentions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"target_type" text NOT NULL,
	"target_id" bigint NOT NULL,
	"note_id" bigint,
	"user_id" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "milestones" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "milestones_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"namespace_id" bigint,
	"iid" integer NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"state" text DEFAULT 'active' NOT NULL,
	"start_date" date,
	"due_date" date,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "milestones_one_source" CHECK (("milestones"."project_id" is null) <> ("milestones"."namespace_id" is null))
);
--> statement-breakpoint
CREATE TABLE "project_list_versions" (
	"project_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"version" bigint NOT NULL,
	CONSTRAINT "project_list_versions_project_id_kind_pk" PRIMARY KEY("project_id","kind")
);
--> statement-breakpoint
CREATE TABLE "subscriptions" (
	"project_id" bigint,
	"target_type" text NOT NULL,
	"target_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	"subscribed" boolean NOT NULL,
	CONSTRAINT "subscriptions_target_type_target_id_user_id_pk" PRIMARY KEY("target_type","target_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "todos" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "todos_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"author_id" bigint NOT NULL,
	"project_id" bigint NOT NULL,
	"target_type" text NOT NULL,
	"target_id" bigint,
	"commit_id" text,
	"note_id" bigint,
	"action" text NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "todos_one_target" CHECK (case "todos"."target_type" when 'Commit' then "todos"."commit_id" is not null else "todos"."target_id" is not null end)
);
--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "open_confidential_issues_count" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "group_iid_counters" ADD CONSTRAINT "group_iid_counters_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issue_labels" ADD CONSTRAINT "issue_labels_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issue_labels" ADD CONSTRAINT "issue_labels_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issue_labels" ADD CONSTRAINT "issue_labels_label_id_labels_id_fk" FOREIGN KEY ("label_id") REFERENCES "public"."labels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_assignee_id_users_id_fk" FOREIGN KEY ("assignee_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_milestone_id_milestones_id_fk" FOREIGN KEY ("milestone_id") REFERENCES "public"."milestones"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_closed_by_id_users_id_fk" FOREIGN KEY ("closed_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_moved_to_id_issues_id_fk" FOREIGN KEY ("moved_to_id") REFERENCES "public"."issues"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "labels" ADD CONSTRAINT "labels_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "labels" ADD CONSTRAINT "labels_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mentions" ADD CONSTRAINT "mentions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mentions" ADD CONSTRAINT "mentions_note_id_notes_id_fk" FOREIGN KEY ("note_id") REFERENCES "public"."notes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mentions" ADD CONSTRAINT "mentions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "milestones" ADD CONSTRAINT "milestones_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "milestones" ADD CONSTRAINT "milestones_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_list_versions" ADD CONSTRAINT "project_list_versions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "todos" ADD CONSTRAINT "todos_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "todos" ADD CONSTRAINT "todos_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "todos" ADD CONSTRAINT "todos_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "todos" ADD CONSTRAINT "todos_note_id_notes_id_fk" FOREIGN KEY ("note_id") REFERENCES "public"."notes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "issue_labels_label_id_idx" ON "issue_labels" USING btree ("label_id","project_id","issue_id");--> statement-breakpoint
CREATE UNIQUE INDEX "issues_project_id_iid_key" ON "issues" USING btree ("project_id","iid");--> statement-breakpoint
CREATE INDEX "issues_project_id_created_at_idx" ON "issues" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "issues_project_id_updated_at_idx" ON "issues" USING btree ("project_id","updated_at","id");--> statement-breakpoint
CREATE INDEX "issues_project_id_state_idx" ON "issues" USING btree ("project_id","state","created_at","id");--> statement-breakpoint
CREATE INDEX "issues_project_id_due_date_idx" ON "issues" USING btree ("project_id","due_date") WHERE "issues"."due_date" is not null;--> statement-breakpoint
CREATE INDEX "issues_project_id_confidential_idx" ON "issues" USING btree ("project_id","author_id","assignee_id") WHERE "issues"."confidential";--> statement-breakpoint
CREATE INDEX "issues_created_at_idx" ON "issues" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "issues_author_id_idx" ON "issues" USING btree ("author_id","created_at","id");--> statement-breakpoint
CREATE INDEX "issues_assignee_id_idx" ON "issues" USING btree ("assignee_id","created_at","id") WHERE "issues"."assignee_id" is not null;--> statement-breakpoint
CREATE INDEX "issues_milestone_id_idx" ON "issues" USING btree ("milestone_id","created_at","id") WHERE "issues"."milestone_id" is not null;--> statement-breakpoint
CREATE INDEX "issues_closed_by_id_idx" ON "issues" USING btree ("closed_by_id") WHERE "issues"."closed_by_id" is not null;--> statement-breakpoint
CREATE INDEX "issues_moved_to_id_idx" ON "issues" USING btree ("moved_to_id") WHERE "issues"."moved_to_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "labels_project_id_title_key" ON "labels" USING btree ("project_id","title") WHERE "labels"."project_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "labels_namespace_id_title_key" ON "labels" USING btree ("namespace_id","title") WHERE "labels"."namespace_id" is not null;--> statement-breakpoint
CREATE INDEX "labels_title_idx" ON "labels" USING btree ("title");--> statement-breakpoint
CREATE INDEX "mentions_target_idx" ON "mentions" USING btree ("project_id","target_type","target_id","user_id");--> statement-breakpoint
CREATE INDEX "mentions_note_id_idx" ON "mentions" USING btree ("note_id") WHERE "mentions"."note_id" is not null;--> statement-breakpoint
CREATE INDEX "mentions_user_id_idx" ON "mentions" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "milestones_project_id_title_key" ON "milestones" USING btree ("project_id","title") WHERE "milestones"."project_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "milestones_namespace_id_title_key" ON "milestones" USING btree ("namespace_id","title") WHERE "milestones"."namespace_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "milestones_project_id_iid_key" ON "milestones" USING btree ("project_id","iid") WHERE "milestones"."project_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "milestones_namespace_id_iid_key" ON "milestones" USING btree ("namespace_id","iid") WHERE "milestones"."namespace_id" is not null;--> statement-breakpoint
CREATE INDEX "milestones_title_idx" ON "milestones" USING btree ("title");--> statement-breakpoint
CREATE INDEX "subscriptions_user_id_idx" ON "subscriptions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "subscriptions_project_id_idx" ON "subscriptions" USING btree ("project_id");--> statement-breakpoint
CREATE UNIQUE INDEX "todos_pending_key" ON "todos" USING btree ("user_id","project_id","target_type",coalesce("target_id", 0),coalesce("commit_id", ''),"action",coalesce("note_id", 0)) WHERE "todos"."state" = 'pending';--> statement-breakpoint
CREATE INDEX "todos_user_id_idx" ON "todos" USING btree ("user_id","state","id");--> statement-breakpoint
CREATE INDEX "todos_target_idx" ON "todos" USING btree ("project_id","target_type","target_id");--> statement-breakpoint
CREATE INDEX "todos_author_id_idx" ON "todos" USING btree ("author_id");--> statement-breakpoint
CREATE INDEX "todos_note_id_idx" ON "todos" USING btree ("note_id") WHERE "todos"."note_id" is not null;--> statement-breakpoint
CREATE INDEX "notes_noteable_idx" ON "notes" USING btree ("project_id","noteable_type","noteable_id","created_at","id") WHERE "notes"."noteable_id" is not null;