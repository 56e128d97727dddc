CREATE TABLE "project_imports" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"default_branch" text,
	"held_until" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "project_languages" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"commit" text NOT NULL,
	"bytes" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "project_uploads" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "project_uploads_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"uploader_id" bigint,
	"secret" text NOT NULL,
	"filename" text NOT NULL,
	"size" bigint NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "project_imports" ADD CONSTRAINT "project_imports_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_languages" ADD CONSTRAINT "project_languages_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_uploads" ADD CONSTRAINT "project_uploads_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_uploads" ADD CONSTRAINT "project_uploads_uploader_id_users_id_fk" FOREIGN KEY ("uploader_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "project_uploads_project_id_secret_key" ON "project_uploads" USING btree ("project_id","secret");--> statement-breakpoint
CREATE INDEX "project_uploads_uploader_id_idx" ON "project_uploads" USING btree ("uploader_id");