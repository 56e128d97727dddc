CREATE TABLE "variables" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "variables_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"group_id" bigint,
	"key" text NOT NULL,
	"sealed" text NOT NULL,
	"protected" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "variables_one_source" CHECK (num_nonnulls("variables"."project_id", "variables"."group_id") = 1)
);
--> statement-breakpoint
ALTER TABLE "variables" ADD CONSTRAINT "variables_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "variables" ADD CONSTRAINT "variables_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "variables_project_id_key_key" ON "variables" USING btree ("project_id","key") WHERE "variables"."project_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "variables_group_id_key_key" ON "variables" USING btree ("group_id","key") WHERE "variables"."group_id" is not null;