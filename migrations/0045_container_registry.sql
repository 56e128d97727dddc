CREATE TABLE "container_blobs" (
	"repository_id" bigint NOT NULL,
	"project_id" bigint NOT NULL,
	"oid" text NOT NULL,
	"size" bigint NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "container_blobs_repository_id_oid_pk" PRIMARY KEY("repository_id","oid")
);
--> statement-breakpoint
CREATE TABLE "container_manifests" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "container_manifests_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"repository_id" bigint NOT NULL,
	"oid" text NOT NULL,
	"media_type" text NOT NULL,
	"content" "bytea" NOT NULL,
	"config" text,
	"total_size" bigint NOT NULL,
	"subject" text,
	"artifact_type" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "container_references" (
	"manifest_id" bigint NOT NULL,
	"oid" text NOT NULL,
	CONSTRAINT "container_references_manifest_id_oid_pk" PRIMARY KEY("manifest_id","oid")
);
--> statement-breakpoint
CREATE TABLE "container_repositories" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "container_repositories_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "container_tags" (
	"repository_id" bigint NOT NULL,
	"name" text NOT NULL,
	"manifest_id" bigint NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "container_tags_repository_id_name_pk" PRIMARY KEY("repository_id","name")
);
--> statement-breakpoint
ALTER TABLE "container_blobs" ADD CONSTRAINT "container_blobs_repository_id_container_repositories_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."container_repositories"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "container_blobs" ADD CONSTRAINT "container_blobs_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "container_manifests" ADD CONSTRAINT "container_manifests_repository_id_container_repositories_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."container_repositories"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "container_references" ADD CONSTRAINT "container_references_manifest_id_container_manifests_id_fk" FOREIGN KEY ("manifest_id") REFERENCES "public"."container_manifests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "container_repositories" ADD CONSTRAINT "container_repositories_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "container_tags" ADD CONSTRAINT "container_tags_repository_id_container_repositories_id_fk" FOREIGN KEY ("repository_id") REFERENCES "public"."container_repositories"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "container_tags" ADD CONSTRAINT "container_tags_manifest_id_container_manifests_id_fk" FOREIGN KEY ("manifest_id") REFERENCES "public"."container_manifests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "container_blobs_oid_idx" ON "container_blobs" USING btree ("oid");--> statement-breakpoint
CREATE INDEX "container_blobs_project_id_idx" ON "container_blobs" USING btree ("project_id","oid");--> statement-breakpoint
CREATE UNIQUE INDEX "container_manifests_repository_id_oid_key" ON "container_manifests" USING btree ("repository_id","oid");--> statement-breakpoint
CREATE INDEX "container_manifests_repository_id_subject_idx" ON "container_manifests" USING btree ("repository_id","subject");--> statement-breakpoint
CREATE INDEX "container_references_oid_idx" ON "container_references" USING btree ("oid");--> statement-breakpoint
CREATE UNIQUE INDEX "container_repositories_project_id_name_key" ON "container_repositories" USING btree ("project_id","name");--> statement-breakpoint
CREATE INDEX "container_tags_manifest_id_idx" ON "container_tags" USING btree ("manifest_id");