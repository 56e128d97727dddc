ALTER TABLE "issue_labels" DROP CONSTRAINT "issue_labels_project_id_projects_id_fk";
--> statement-breakpoint
ALTER TABLE "merge_request_commits" DROP CONSTRAINT "merge_request_commits_project_id_projects_id_fk";
--> statement-breakpoint
ALTER TABLE "merge_request_issues" DROP CONSTRAINT "merge_request_issues_project_id_projects_id_fk";
--> statement-breakpoint
ALTER TABLE "merge_request_labels" DROP CONSTRAINT "merge_request_labels_project_id_projects_id_fk";
--> statement-breakpoint
ALTER TABLE "merge_request_versions" DROP CONSTRAINT "merge_request_versions_project_id_projects_id_fk";
--> statement-breakpoint
ALTER TABLE "commit_statuses" DROP CONSTRAINT "commit_statuses_pipeline_id_pipelines_id_fk";
--> statement-breakpoint
DROP INDEX "pipelines_project_id_idx";--> statement-breakpoint
DROP INDEX "merge_request_versions_merge_request_id_idx";--> statement-breakpoint
DROP INDEX "notes_noteable_idx";--> statement-breakpoint
CREATE UNIQUE INDEX "pipelines_project_id_id_key" ON "pipelines" USING btree ("project_id","id");--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD CONSTRAINT "commit_statuses_pipeline_fk" FOREIGN KEY ("project_id","pipeline_id") REFERENCES "public"."pipelines"("project_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "merge_request_versions_merge_request_id_idx" ON "merge_request_versions" USING btree ("merge_request_id","id");--> statement-breakpoint
CREATE INDEX "notes_noteable_idx" ON "notes" USING btree ("project_id","noteable_type","noteable_id","created_at","id");