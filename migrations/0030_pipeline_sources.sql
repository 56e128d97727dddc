ALTER TABLE "pipelines" ADD COLUMN "merge_request_id" bigint;--> statement-breakpoint
ALTER TABLE "pipelines" ADD COLUMN "auto_cancel" jsonb;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "auto_cancel_pending_pipelines" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "pipelines" ADD CONSTRAINT "pipelines_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "pipelines_merge_request_id_idx" ON "pipelines" USING btree ("merge_request_id","id") WHERE "pipelines"."merge_request_id" is not null;--> statement-breakpoint
CREATE INDEX "pipelines_open_idx" ON "pipelines" USING btree ("project_id","ref") WHERE "pipelines"."status" in ('created', 'waiting_for_resource', 'preparing', 'pending', 'running', 'scheduled');