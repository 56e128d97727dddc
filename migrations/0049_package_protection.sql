CREATE TABLE "package_protection_rules" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "package_protection_rules_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"package_type" text NOT NULL,
	"package_name_pattern" text NOT NULL,
	"minimum_push_level" integer,
	"minimum_delete_level" integer,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "package_protection_rules" ADD CONSTRAINT "package_protection_rules_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "package_protection_rules_pattern_key" ON "package_protection_rules" USING btree ("project_id","package_type","package_name_pattern");--> statement-breakpoint
CREATE INDEX "package_protection_rules_project_id_idx" ON "package_protection_rules" USING btree ("project_id","id");--> statement-breakpoint
CREATE INDEX "packages_nuget_name_idx" ON "packages" USING btree (lower("name"),"project_id") WHERE "packages"."type" = 'nuget';