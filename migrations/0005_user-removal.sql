DROP INDEX "commit_statuses_open_key";--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD COLUMN "orphaned" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "removal" text;--> statement-breakpoint
CREATE INDEX "projects_creator_id_idx" ON "projects" USING btree ("creator_id");--> statement-breakpoint
CREATE UNIQUE INDEX "users_ghost_key" ON "users" USING btree ("kind") WHERE "users"."kind" = 'ghost';--> statement-breakpoint
CREATE INDEX "users_removal_idx" ON "users" USING btree ("id") WHERE "users"."removal" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "commit_statuses_open_key" ON "commit_statuses" USING btree ("project_id","pipeline_id","name","user_id") WHERE "commit_statuses"."status" in ('pending', 'running') and not "commit_statuses"."orphaned";