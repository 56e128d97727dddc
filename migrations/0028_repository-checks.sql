CREATE TABLE "repository_checks" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"checked_at" timestamp (3) with time zone NOT NULL,
	"fault" text NOT NULL
);
--> statement-breakpoint
ALTER TABLE "repository_checks" ADD CONSTRAINT "repository_checks_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "repository_checks_checked_at_idx" ON "repository_checks" USING btree ("checked_at");