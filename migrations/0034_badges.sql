CREATE TABLE "badges" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "badges_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"namespace_id" bigint,
	"name" text,
	"link_url" text NOT NULL,
	"image_url" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "badges_one_source" CHECK (num_nonnulls("badges"."project_id", "badges"."namespace_id") = 1),
	CONSTRAINT "badges_web_urls" CHECK ("badges"."link_url" ~* '^https?://' and "badges"."image_url" ~* '^https?://'),
	CONSTRAINT "badges_lengths" CHECK (length("badges"."name") <= 255 and length("badges"."link_url") <= 2048 and length("badges"."image_url") <= 2048)
);
--> statement-breakpoint
ALTER TABLE "badges" ADD CONSTRAINT "badges_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "badges" ADD CONSTRAINT "badges_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "badges_project_id_idx" ON "badges" USING btree ("project_id","id");--> statement-breakpoint
CREATE INDEX "badges_namespace_id_idx" ON "badges" USING btree ("namespace_id","id");