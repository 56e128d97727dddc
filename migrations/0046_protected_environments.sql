CREATE TABLE "deploy_access_levels" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "deploy_access_levels_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"protected_environment_id" bigint NOT NULL,
	"access_level" integer,
	"user_id" bigint,
	"namespace_id" bigint,
	"group_inheritance_type" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "protected_environments" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "protected_environments_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "default_branch" text;--> statement-breakpoint
ALTER TABLE "deploy_access_levels" ADD CONSTRAINT "deploy_access_levels_protected_environment_id_protected_environments_id_fk" FOREIGN KEY ("protected_environment_id") REFERENCES "public"."protected_environments"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deploy_access_levels" ADD CONSTRAINT "deploy_access_levels_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "deploy_access_levels" ADD CONSTRAINT "deploy_access_levels_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "protected_environments" ADD CONSTRAINT "protected_environments_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "deploy_access_levels_protected_environment_id_idx" ON "deploy_access_levels" USING btree ("protected_environment_id","id");--> statement-breakpoint
CREATE INDEX "deploy_access_levels_user_id_idx" ON "deploy_access_levels" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "deploy_access_levels_namespace_id_idx" ON "deploy_access_levels" USING btree ("namespace_id");--> statement-breakpoint
CREATE UNIQUE INDEX "protected_environments_project_id_name_key" ON "protected_environments" USING btree ("project_id","name");