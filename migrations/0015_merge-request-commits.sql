CREATE TABLE "merge_request_commits" (
	"project_id" bigint NOT NULL,
	"sha" text NOT NULL,
	"merge_request_id" bigint NOT NULL,
	CONSTRAINT "merge_request_commits_project_id_sha_merge_request_id_pk" PRIMARY KEY("project_id","sha","merge_request_id")
);
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "merge_checks" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "version_due" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "rebase_user_id" bigint;--> statement-breakpoint
ALTER TABLE "ref_intents" ADD COLUMN "merge" jsonb;--> statement-breakpoint
ALTER TABLE "merge_request_commits" ADD CONSTRAINT "merge_request_commits_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_request_commits" ADD CONSTRAINT "merge_request_commits_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "merge_request_commits_merge_request_id_idx" ON "merge_request_commits" USING btree ("merge_request_id","sha");--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_rebase_user_id_users_id_fk" FOREIGN KEY ("rebase_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "merge_requests_unchecked_idx" ON "merge_requests" USING btree ("project_id","id") WHERE "merge_requests"."merge_status" = 'unchecked' and "merge_requests"."state" = 'opened';--> statement-breakpoint
CREATE INDEX "merge_requests_deferred_idx" ON "merge_requests" USING btree ("id") WHERE "merge_requests"."merge_when_pipeline_succeeds" and "merge_requests"."state" = 'opened';--> statement-breakpoint
CREATE INDEX "merge_requests_rebase_user_id_idx" ON "merge_requests" USING btree ("rebase_user_id") WHERE "merge_requests"."rebase_user_id" is not null;--> statement-breakpoint
CREATE INDEX "merge_requests_head_idx" ON "merge_requests" USING btree ("source_project_id","sha") WHERE "merge_requests"."state" = 'opened';--> statement-breakpoint
CREATE INDEX "merge_requests_merge_commit_sha_idx" ON "merge_requests" USING btree ("project_id","merge_commit_sha") WHERE "merge_requests"."merge_commit_sha" is not null;