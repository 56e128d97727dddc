CREATE TABLE "artifacts" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "artifacts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"job_id" bigint NOT NULL,
	"project_id" bigint NOT NULL,
	"file_type" text NOT NULL,
	"file_format" text NOT NULL,
	"filename" text NOT NULL,
	"size" bigint NOT NULL,
	"oid" text NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "builds" (
	"job_id" bigint PRIMARY KEY NOT NULL,
	"definition" jsonb NOT NULL,
	"needs" text[],
	"retries" integer DEFAULT 0 NOT NULL,
	"scheduled_at" timestamp (3) with time zone,
	"variables" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"runner_id" bigint,
	"digest" text,
	"timeout" integer,
	"seen_at" timestamp (3) with time zone,
	"exit_code" integer,
	"trace_size" bigint DEFAULT 0 NOT NULL,
	"erased_at" timestamp (3) with time zone,
	"erased_by" bigint
);
--> statement-breakpoint
CREATE TABLE "pending_builds" (
	"job_id" bigint PRIMARY KEY NOT NULL,
	"project_id" bigint NOT NULL,
	"protected" boolean NOT NULL,
	"tags" text[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "pipeline_variables" (
	"pipeline_id" bigint NOT NULL,
	"key" text NOT NULL,
	"sealed" text NOT NULL,
	"file" boolean DEFAULT false NOT NULL,
	CONSTRAINT "pipeline_variables_pipeline_id_key_pk" PRIMARY KEY("pipeline_id","key")
);
--> statement-breakpoint
CREATE TABLE "registration_tokens" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "registration_tokens_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"group_id" bigint,
	"project_id" bigint,
	"digest" text NOT NULL,
	"sealed" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "runner_projects" (
	"runner_id" bigint NOT NULL,
	"project_id" bigint NOT NULL,
	CONSTRAINT "runner_projects_runner_id_project_id_pk" PRIMARY KEY("runner_id","project_id")
);
--> statement-breakpoint
CREATE TABLE "runners" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "runners_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"group_id" bigint,
	"creator_id" bigint,
	"digest" text NOT NULL,
	"registered" boolean NOT NULL,
	"description" text,
	"maintenance_note" text,
	"paused" boolean DEFAULT false NOT NULL,
	"locked" boolean DEFAULT false NOT NULL,
	"run_untagged" boolean DEFAULT true NOT NULL,
	"protected" boolean DEFAULT false NOT NULL,
	"maximum_timeout" integer,
	"tags" text[] DEFAULT '{}' NOT NULL,
	"info" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"ip_address" text,
	"contacted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "trace_chunks" (
	"job_id" bigint NOT NULL,
	"first" bigint NOT NULL,
	"bytes" "bytea" NOT NULL,
	CONSTRAINT "trace_chunks_job_id_first_pk" PRIMARY KEY("job_id","first")
);
--> statement-breakpoint
DROP INDEX "pipelines_project_id_sha_ref_key";--> statement-breakpoint
DROP INDEX "commit_statuses_latest_key";--> statement-breakpoint
DROP INDEX "commit_statuses_open_key";--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD COLUMN "kind" text DEFAULT 'status' NOT NULL;--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD COLUMN "stage" text DEFAULT 'external' NOT NULL;--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD COLUMN "stage_index" integer DEFAULT 1000000 NOT NULL;--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD COLUMN "allow_failure" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD COLUMN "failure_reason" text;--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD COLUMN "queued_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "pipelines" ADD COLUMN "before_sha" text;--> statement-breakpoint
ALTER TABLE "pipelines" ADD COLUMN "yaml_errors" text;--> statement-breakpoint
ALTER TABLE "pipelines" ADD COLUMN "stages" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "pipelines" ADD COLUMN "protected" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "pipelines" ADD COLUMN "made_by" bigint;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_job_id_builds_job_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."builds"("job_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "artifacts" ADD CONSTRAINT "artifacts_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "builds" ADD CONSTRAINT "builds_job_id_commit_statuses_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."commit_statuses"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "builds" ADD CONSTRAINT "builds_runner_id_runners_id_fk" FOREIGN KEY ("runner_id") REFERENCES "public"."runners"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "builds" ADD CONSTRAINT "builds_erased_by_users_id_fk" FOREIGN KEY ("erased_by") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pending_builds" ADD CONSTRAINT "pending_builds_job_id_commit_statuses_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."commit_statuses"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pending_builds" ADD CONSTRAINT "pending_builds_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pipeline_variables" ADD CONSTRAINT "pipeline_variables_pipeline_id_pipelines_id_fk" FOREIGN KEY ("pipeline_id") REFERENCES "public"."pipelines"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registration_tokens" ADD CONSTRAINT "registration_tokens_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "registration_tokens" ADD CONSTRAINT "registration_tokens_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runner_projects" ADD CONSTRAINT "runner_projects_runner_id_runners_id_fk" FOREIGN KEY ("runner_id") REFERENCES "public"."runners"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runner_projects" ADD CONSTRAINT "runner_projects_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runners" ADD CONSTRAINT "runners_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "runners" ADD CONSTRAINT "runners_creator_id_users_id_fk" FOREIGN KEY ("creator_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "trace_chunks" ADD CONSTRAINT "trace_chunks_job_id_builds_job_id_fk" FOREIGN KEY ("job_id") REFERENCES "public"."builds"("job_id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "artifacts_job_id_file_type_key" ON "artifacts" USING btree ("job_id","file_type");--> statement-breakpoint
CREATE INDEX "artifacts_project_id_idx" ON "artifacts" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "artifacts_oid_idx" ON "artifacts" USING btree ("oid");--> statement-breakpoint
CREATE INDEX "artifacts_expires_at_idx" ON "artifacts" USING btree ("expires_at") WHERE "artifacts"."expires_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "builds_digest_key" ON "builds" USING btree ("digest");--> statement-breakpoint
CREATE INDEX "builds_runner_id_idx" ON "builds" USING btree ("runner_id","job_id");--> statement-breakpoint
CREATE INDEX "builds_erased_by_idx" ON "builds" USING btree ("erased_by");--> statement-breakpoint
CREATE INDEX "builds_scheduled_at_idx" ON "builds" USING btree ("scheduled_at") WHERE "builds"."scheduled_at" is not null;--> statement-breakpoint
CREATE INDEX "builds_seen_at_idx" ON "builds" USING btree ("seen_at") WHERE "builds"."seen_at" is not null;--> statement-breakpoint
CREATE INDEX "pending_builds_project_id_idx" ON "pending_builds" USING btree ("project_id");--> statement-breakpoint
CREATE UNIQUE INDEX "registration_tokens_digest_key" ON "registration_tokens" USING btree ("digest");--> statement-breakpoint
CREATE UNIQUE INDEX "registration_tokens_source_key" ON "registration_tokens" USING btree (coalesce("group_id", 0),coalesce("project_id", 0));--> statement-breakpoint
CREATE INDEX "registration_tokens_group_id_idx" ON "registration_tokens" USING btree ("group_id");--> statement-breakpoint
CREATE INDEX "registration_tokens_project_id_idx" ON "registration_tokens" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "runner_projects_project_id_idx" ON "runner_projects" USING btree ("project_id");--> statement-breakpoint
CREATE UNIQUE INDEX "runners_digest_key" ON "runners" USING btree ("digest");--> statement-breakpoint
CREATE INDEX "runners_group_id_idx" ON "runners" USING btree ("group_id");--> statement-breakpoint
CREATE INDEX "runners_creator_id_idx" ON "runners" USING btree ("creator_id");--> statement-breakpoint
CREATE UNIQUE INDEX "commit_statuses_latest_job_key" ON "commit_statuses" USING btree ("project_id","pipeline_id","name") WHERE "commit_statuses"."latest" and "commit_statuses"."kind" <> 'status';--> statement-breakpoint
CREATE INDEX "pipelines_project_id_sha_ref_idx" ON "pipelines" USING btree ("project_id","sha","ref","id");--> statement-breakpoint
CREATE UNIQUE INDEX "pipelines_external_key" ON "pipelines" USING btree ("project_id","sha","ref") WHERE "pipelines"."source" = 'external';--> statement-breakpoint
CREATE UNIQUE INDEX "pipelines_made_by_key" ON "pipelines" USING btree ("made_by","ref","tag") WHERE "pipelines"."made_by" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "commit_statuses_latest_key" ON "commit_statuses" USING btree ("project_id","pipeline_id","name") WHERE "commit_statuses"."latest" and "commit_statuses"."kind" = 'status';--> statement-breakpoint
CREATE UNIQUE INDEX "commit_statuses_open_key" ON "commit_statuses" USING btree ("project_id","pipeline_id","name","user_id") WHERE "commit_statuses"."status" in ('pending', 'running') and not "commit_statuses"."orphaned" and "commit_statuses"."kind" = 'status';