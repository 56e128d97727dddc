CREATE TABLE "merge_request_pipelines" (
	"pipeline_id" bigint PRIMARY KEY NOT NULL,
	"project_id" bigint NOT NULL,
	"merge_request_id" bigint NOT NULL
);
--> statement-breakpoint
ALTER TABLE "merge_request_pipelines" ADD CONSTRAINT "merge_request_pipelines_pipeline_id_pipelines_id_fk" FOREIGN KEY ("pipeline_id") REFERENCES "public"."pipelines"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_request_pipelines" ADD CONSTRAINT "merge_request_pipelines_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "merge_request_pipelines_merge_request_id_idx" ON "merge_request_pipelines" USING btree ("merge_request_id","pipeline_id");