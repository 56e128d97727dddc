ALTER TABLE "project_languages" ADD COLUMN "names" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
CREATE INDEX "merge_requests_project_id_title_idx" ON "merge_requests" USING btree ("project_id",lower("title"),"id") WHERE "merge_requests"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "merge_requests_project_id_merged_at_idx" ON "merge_requests" USING btree ("project_id",coalesce("merged_at", '-infinity'::timestamptz),"id") WHERE "merge_requests"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "project_languages_names_idx" ON "project_languages" USING gin ("names");--> statement-breakpoint
CREATE INDEX "projects_star_count_idx" ON "projects" USING btree ("star_count","id","marked_for_deletion_at");--> statement-breakpoint
UPDATE project_languages SET names = ARRAY(SELECT lower(k) FROM jsonb_object_keys(bytes) k);
