CREATE TABLE "award_emoji" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "award_emoji_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"awardable_type" text NOT NULL,
	"awardable_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "merge_request_labels" (
	"project_id" bigint NOT NULL,
	"merge_request_id" bigint NOT NULL,
	"label_id" bigint NOT NULL,
	CONSTRAINT "merge_request_labels_merge_request_id_label_id_pk" PRIMARY KEY("merge_request_id","label_id")
);
--> statement-breakpoint
CREATE TABLE "merge_request_versions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "merge_request_versions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"merge_request_id" bigint NOT NULL,
	"start_commit_sha" text NOT NULL,
	"base_commit_sha" text,
	"head_commit_sha" text NOT NULL,
	"state" text NOT NULL,
	"real_size" text NOT NULL,
	"commits_count" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "merge_requests" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "merge_requests_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"iid" integer NOT NULL,
	"source_project_id" bigint,
	"source_branch" text NOT NULL,
	"target_branch" text NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"state" text DEFAULT 'opened' NOT NULL,
	"author_id" bigint NOT NULL,
	"assignee_id" bigint,
	"milestone_id" bigint,
	"merge_status" text DEFAULT 'unchecked' NOT NULL,
	"merge_error" text,
	"version_id" bigint,
	"sha" text,
	"changes_count" text DEFAULT '0' NOT NULL,
	"head_pipeline_id" bigint,
	"merge_when_pipeline_succeeds" boolean DEFAULT false NOT NULL,
	"merge_user_id" bigint,
	"merge_commit_message" text,
	"should_remove_source_branch" boolean,
	"force_remove_source_branch" boolean DEFAULT false NOT NULL,
	"squash" boolean DEFAULT false NOT NULL,
	"allow_collaboration" boolean DEFAULT false NOT NULL,
	"discussion_locked" boolean,
	"merge_commit_sha" text,
	"merged_by_id" bigint,
	"merged_at" timestamp (3) with time zone,
	"closed_by_id" bigint,
	"closed_at" timestamp (3) with time zone,
	"time_estimate" integer DEFAULT 0 NOT NULL,
	"total_time_spent" integer DEFAULT 0 NOT NULL,
	"task_count" integer DEFAULT 0 NOT NULL,
	"task_completed_count" integer DEFAULT 0 NOT NULL,
	"user_notes_count" integer DEFAULT 0 NOT NULL,
	"upvotes" integer DEFAULT 0 NOT NULL,
	"downvotes" integer DEFAULT 0 NOT NULL,
	"unresolved_discussions_count" integer DEFAULT 0 NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "award_emoji" ADD CONSTRAINT "award_emoji_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_request_labels" ADD CONSTRAINT "merge_request_labels_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_request_labels" ADD CONSTRAINT "merge_request_labels_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_request_labels" ADD CONSTRAINT "merge_request_labels_label_id_labels_id_fk" FOREIGN KEY ("label_id") REFERENCES "public"."labels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_request_versions" ADD CONSTRAINT "merge_request_versions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_request_versions" ADD CONSTRAINT "merge_request_versions_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_source_project_id_projects_id_fk" FOREIGN KEY ("source_project_id") REFERENCES "public"."projects"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_assignee_id_users_id_fk" FOREIGN KEY ("assignee_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_milestone_id_milestones_id_fk" FOREIGN KEY ("milestone_id") REFERENCES "public"."milestones"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_version_id_merge_request_versions_id_fk" FOREIGN KEY ("version_id") REFERENCES "public"."merge_request_versions"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_head_pipeline_id_pipelines_id_fk" FOREIGN KEY ("head_pipeline_id") REFERENCES "public"."pipelines"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_merge_user_id_users_id_fk" FOREIGN KEY ("merge_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_merged_by_id_users_id_fk" FOREIGN KEY ("merged_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_closed_by_id_users_id_fk" FOREIGN KEY ("closed_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "award_emoji_key" ON "award_emoji" USING btree ("awardable_type","awardable_id","name","user_id");--> statement-breakpoint
CREATE INDEX "award_emoji_user_id_idx" ON "award_emoji" USING btree ("user_id","awardable_type","name");--> statement-breakpoint
CREATE INDEX "merge_request_labels_label_id_idx" ON "merge_request_labels" USING btree ("label_id","project_id","merge_request_id");--> statement-breakpoint
CREATE INDEX "merge_request_versions_merge_request_id_idx" ON "merge_request_versions" USING btree ("project_id","merge_request_id","id");--> statement-breakpoint
CREATE INDEX "merge_request_versions_head_idx" ON "merge_request_versions" USING btree ("project_id","head_commit_sha");--> statement-breakpoint
CREATE UNIQUE INDEX "merge_requests_project_id_iid_key" ON "merge_requests" USING btree ("project_id","iid");--> statement-breakpoint
CREATE UNIQUE INDEX "merge_requests_open_key" ON "merge_requests" USING btree ("project_id","target_branch","source_project_id","source_branch") WHERE "merge_requests"."state" = 'opened' and "merge_requests"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "merge_requests_project_id_created_at_idx" ON "merge_requests" USING btree ("project_id","created_at","id") WHERE "merge_requests"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "merge_requests_project_id_updated_at_idx" ON "merge_requests" USING btree ("project_id","updated_at","id") WHERE "merge_requests"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "merge_requests_project_id_state_idx" ON "merge_requests" USING btree ("project_id","state","created_at","id") WHERE "merge_requests"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "merge_requests_source_idx" ON "merge_requests" USING btree ("source_project_id","source_branch");--> statement-breakpoint
CREATE INDEX "merge_requests_created_at_idx" ON "merge_requests" USING btree ("created_at","id") WHERE "merge_requests"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "merge_requests_author_id_idx" ON "merge_requests" USING btree ("author_id","created_at","id");--> statement-breakpoint
CREATE INDEX "merge_requests_assignee_id_idx" ON "merge_requests" USING btree ("assignee_id","created_at","id") WHERE "merge_requests"."assignee_id" is not null;--> statement-breakpoint
CREATE INDEX "merge_requests_milestone_id_idx" ON "merge_requests" USING btree ("milestone_id","created_at","id") WHERE "merge_requests"."milestone_id" is not null;--> statement-breakpoint
CREATE INDEX "merge_requests_head_pipeline_id_idx" ON "merge_requests" USING btree ("head_pipeline_id") WHERE "merge_requests"."head_pipeline_id" is not null;--> statement-breakpoint
CREATE INDEX "merge_requests_version_id_idx" ON "merge_requests" USING btree ("version_id") WHERE "merge_requests"."version_id" is not null;--> statement-breakpoint
CREATE INDEX "merge_requests_merge_user_id_idx" ON "merge_requests" USING btree ("merge_user_id") WHERE "merge_requests"."merge_user_id" is not null;--> statement-breakpoint
CREATE INDEX "merge_requests_merged_by_id_idx" ON "merge_requests" USING btree ("merged_by_id") WHERE "merge_requests"."merged_by_id" is not null;--> statement-breakpoint
CREATE INDEX "merge_requests_closed_by_id_idx" ON "merge_requests" USING btree ("closed_by_id") WHERE "merge_requests"."closed_by_id" is not null;