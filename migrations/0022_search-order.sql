CREATE INDEX "issues_updated_at_idx" ON "issues" USING btree ("updated_at","id");--> statement-breakpoint
CREATE INDEX "milestones_updated_at_idx" ON "milestones" USING btree ("updated_at","id") WHERE "milestones"."project_id" is not null;--> statement-breakpoint
CREATE INDEX "merge_requests_updated_at_idx" ON "merge_requests" USING btree ("updated_at","id") WHERE "merge_requests"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "notes_project_id_created_at_idx" ON "notes" USING btree ("project_id","created_at","id") WHERE not "notes"."system";--> statement-breakpoint
CREATE INDEX "snippets_created_at_idx" ON "snippets" USING btree ("created_at","id");