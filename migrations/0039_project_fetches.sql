CREATE TABLE "project_fetches" (
	"project_id" bigint NOT NULL,
	"day" date NOT NULL,
	"fetches" integer NOT NULL,
	CONSTRAINT "project_fetches_project_id_day_pk" PRIMARY KEY("project_id","day")
);
--> statement-breakpoint
ALTER TABLE "project_fetches" ADD CONSTRAINT "project_fetches_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;