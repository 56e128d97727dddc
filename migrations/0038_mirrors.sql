CREATE TABLE "mirrors" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "mirrors_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"direction" text NOT NULL,
	"url" text NOT NULL,
	"sealed_url" text,
	"enabled" boolean NOT NULL,
	"only_protected_branches" boolean DEFAULT false NOT NULL,
	"overwrites_diverged" boolean NOT NULL,
	"trigger_builds" boolean DEFAULT false NOT NULL,
	"user_id" bigint,
	"update_status" text DEFAULT 'none' NOT NULL,
	"last_error" text,
	"last_update_at" timestamp (3) with time zone,
	"last_update_started_at" timestamp (3) with time zone,
	"last_successful_update_at" timestamp (3) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"next_update_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "import_url" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "mirror" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "mirrors" ADD CONSTRAINT "mirrors_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mirrors" ADD CONSTRAINT "mirrors_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "mirrors_project_id_idx" ON "mirrors" USING btree ("project_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "mirrors_pull_key" ON "mirrors" USING btree ("project_id") WHERE "mirrors"."direction" = 'pull';--> statement-breakpoint
CREATE INDEX "mirrors_next_update_at_idx" ON "mirrors" USING btree ("next_update_at") WHERE "mirrors"."next_update_at" is not null;--> statement-breakpoint
CREATE INDEX "mirrors_user_id_idx" ON "mirrors" USING btree ("user_id");