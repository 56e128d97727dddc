ALTER TABLE "pipelines" ADD COLUMN "auto_cancel" jsonb;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "auto_cancel_pending_pipelines" boolean DEFAULT true NOT NULL;--> statement-breakpoint
CREATE INDEX "pipelines_open_idx" ON "pipelines" USING btree ("project_id","ref") WHERE "pipelines"."status" in ('created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled');