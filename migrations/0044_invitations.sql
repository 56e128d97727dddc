CREATE TABLE "invitations" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "invitations_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"namespace_id" bigint,
	"email" text NOT NULL,
	"digest" text,
	"access_level" integer NOT NULL,
	"expires_at" date,
	"created_by_id" bigint NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp (3) with time zone,
	CONSTRAINT "invitations_digest_unique" UNIQUE("digest"),
	CONSTRAINT "invitations_one_source" CHECK (("invitations"."project_id" is null) <> ("invitations"."namespace_id" is null))
);
--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitations" ADD CONSTRAINT "invitations_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "invitations_project_id_email_key" ON "invitations" USING btree ("project_id","email") WHERE "invitations"."project_id" is not null and "invitations"."ended_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "invitations_namespace_id_email_key" ON "invitations" USING btree ("namespace_id","email") WHERE "invitations"."namespace_id" is not null and "invitations"."ended_at" is null;--> statement-breakpoint
CREATE INDEX "invitations_project_id_idx" ON "invitations" USING btree ("project_id") WHERE "invitations"."project_id" is not null;--> statement-breakpoint
CREATE INDEX "invitations_namespace_id_idx" ON "invitations" USING btree ("namespace_id") WHERE "invitations"."namespace_id" is not null;--> statement-breakpoint
CREATE INDEX "invitations_email_idx" ON "invitations" USING btree ("email");--> statement-breakpoint
CREATE INDEX "invitations_created_by_id_idx" ON "invitations" USING btree ("created_by_id","created_at");--> statement-breakpoint
CREATE INDEX "invitations_created_at_idx" ON "invitations" USING btree ("created_at");