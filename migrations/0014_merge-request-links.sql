CREATE TABLE "merge_request_issues" (
	"project_id" bigint NOT NULL,
	"merge_request_id" bigint NOT NULL,
	"issue_id" bigint NOT NULL,
	"closes" boolean NOT NULL,
	CONSTRAINT "merge_request_issues_merge_request_id_issue_id_pk" PRIMARY KEY("merge_request_id","issue_id")
);
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "original_source_project_id" bigint NOT NULL;--> statement-breakpoint
ALTER TABLE "merge_request_issues" ADD CONSTRAINT "merge_request_issues_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_request_issues" ADD CONSTRAINT "merge_request_issues_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "merge_request_issues" ADD CONSTRAINT "merge_request_issues_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "merge_request_issues_issue_id_idx" ON "merge_request_issues" USING btree ("issue_id","closes");