CREATE TABLE "commit_statuses" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "commit_statuses_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"pipeline_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	"name" text NOT NULL,
	"status" text NOT NULL,
	"latest" boolean DEFAULT true NOT NULL,
	"target_url" text,
	"description" text,
	"coverage" double precision,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "iid_counters" (
	"project_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"last" integer NOT NULL,
	CONSTRAINT "iid_counters_project_id_kind_pk" PRIMARY KEY("project_id","kind")
);
--> statement-breakpoint
CREATE TABLE "pipelines" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "pipelines_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"iid" integer NOT NULL,
	"sha" text NOT NULL,
	"ref" text NOT NULL,
	"tag" boolean NOT NULL,
	"status" text DEFAULT 'created' NOT NULL,
	"source" text DEFAULT 'external' NOT NULL,
	"user_id" bigint,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD CONSTRAINT "commit_statuses_pipeline_id_pipelines_id_fk" FOREIGN KEY ("pipeline_id") REFERENCES "public"."pipelines"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD CONSTRAINT "commit_statuses_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "iid_counters" ADD CONSTRAINT "iid_counters_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pipelines" ADD CONSTRAINT "pipelines_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pipelines" ADD CONSTRAINT "pipelines_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "commit_statuses_latest_key" ON "commit_statuses" USING btree ("project_id","pipeline_id","name") WHERE "commit_statuses"."latest";--> statement-breakpoint
CREATE UNIQUE INDEX "commit_statuses_open_key" ON "commit_statuses" USING btree ("project_id","pipeline_id","name","user_id") WHERE "commit_statuses"."status" in ('pending', 'running');--> statement-breakpoint
CREATE INDEX "commit_statuses_status_idx" ON "commit_statuses" USING btree ("project_id","pipeline_id","status") WHERE "commit_statuses"."latest";--> statement-breakpoint
CREATE INDEX "commit_statuses_pipeline_id_idx" ON "commit_statuses" USING btree ("project_id","pipeline_id","latest","id");--> statement-breakpoint
CREATE INDEX "commit_statuses_project_id_idx" ON "commit_statuses" USING btree ("project_id","id") WHERE "commit_statuses"."latest";--> statement-breakpoint
CREATE INDEX "commit_statuses_user_id_idx" ON "commit_statuses" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "pipelines_project_id_sha_ref_key" ON "pipelines" USING btree ("project_id","sha","ref");--> statement-breakpoint
CREATE UNIQUE INDEX "pipelines_project_id_iid_key" ON "pipelines" USING btree ("project_id","iid");--> statement-breakpoint
CREATE INDEX "pipelines_project_id_sha_idx" ON "pipelines" USING btree ("project_id","sha","id");--> statement-breakpoint
CREATE INDEX "pipelines_project_id_idx" ON "pipelines" USING btree ("project_id","id");--> statement-breakpoint
CREATE INDEX "pipelines_user_id_idx" ON "pipelines" USING btree ("user_id");