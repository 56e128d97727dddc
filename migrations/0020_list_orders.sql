CREATE INDEX "projects_last_activity_at_idx" ON "projects" USING btree ("last_activity_at","id","marked_for_deletion_at","visibility");--> statement-breakpoint
CREATE INDEX "projects_tag_list_idx" ON "projects" USING gin ("tag_list");--> statement-breakpoint
CREATE INDEX "projects_storage_size_idx" ON "projects" USING btree (("repository_size" + "lfs_objects_size"),"id","marked_for_deletion_at");