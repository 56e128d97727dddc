CREATE TABLE "integrations" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "integrations_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"slug" text NOT NULL,
	"active" boolean NOT NULL,
	"events" text[] NOT NULL,
	"properties" jsonb NOT NULL,
	"sealed_properties" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "integrations_project_id_slug_unique" UNIQUE("project_id","slug")
);
--> statement-breakpoint
ALTER TABLE "hook_deliveries" ADD COLUMN "request" text;--> statement-breakpoint
ALTER TABLE "web_hooks" ADD COLUMN "integration" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "external_services" jsonb;--> statement-breakpoint
ALTER TABLE "integrations" ADD CONSTRAINT "integrations_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "web_hooks_integration_idx" ON "web_hooks" USING btree ("project_id","integration") WHERE "web_hooks"."integration" is not null;