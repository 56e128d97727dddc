CREATE TABLE "package_files" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "package_files_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"package_id" bigint NOT NULL,
	"project_id" bigint NOT NULL,
	"file_name" text NOT NULL,
	"size" bigint NOT NULL,
	"oid" text NOT NULL,
	"md5" text,
	"sha1" text,
	"sha512" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "package_tags" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "package_tags_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"package_id" bigint NOT NULL,
	"package_name" text NOT NULL,
	"name" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "packages" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "packages_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"type" text NOT NULL,
	"name" text NOT NULL,
	"version" text NOT NULL,
	"status" text DEFAULT 'default' NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"creator_id" bigint,
	"pipeline_id" bigint,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
DROP INDEX "projects_storage_size_idx";--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "packages_size" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "package_files" ADD CONSTRAINT "package_files_package_id_packages_id_fk" FOREIGN KEY ("package_id") REFERENCES "public"."packages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "package_files" ADD CONSTRAINT "package_files_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "package_tags" ADD CONSTRAINT "package_tags_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "package_tags" ADD CONSTRAINT "package_tags_package_id_packages_id_fk" FOREIGN KEY ("package_id") REFERENCES "public"."packages"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "packages" ADD CONSTRAINT "packages_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "packages" ADD CONSTRAINT "packages_creator_id_users_id_fk" FOREIGN KEY ("creator_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "packages" ADD CONSTRAINT "packages_pipeline_id_pipelines_id_fk" FOREIGN KEY ("pipeline_id") REFERENCES "public"."pipelines"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "package_files_package_id_idx" ON "package_files" USING btree ("package_id","file_name","id");--> statement-breakpoint
CREATE INDEX "package_files_project_id_idx" ON "package_files" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "package_files_oid_idx" ON "package_files" USING btree ("oid");--> statement-breakpoint
CREATE UNIQUE INDEX "package_tags_project_id_package_name_name_key" ON "package_tags" USING btree ("project_id","package_name","name");--> statement-breakpoint
CREATE INDEX "package_tags_package_id_idx" ON "package_tags" USING btree ("package_id");--> statement-breakpoint
CREATE UNIQUE INDEX "packages_project_id_type_name_version_key" ON "packages" USING btree ("project_id","type","name","version");--> statement-breakpoint
CREATE INDEX "packages_project_id_created_at_idx" ON "packages" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "packages_type_name_idx" ON "packages" USING btree ("type","name");--> statement-breakpoint
CREATE INDEX "packages_pypi_name_idx" ON "packages" USING btree (lower(regexp_replace("name", '[-_.]+', '-', 'g')),"project_id") WHERE "packages"."type" = 'pypi';--> statement-breakpoint
CREATE INDEX "packages_creator_id_idx" ON "packages" USING btree ("creator_id");--> statement-breakpoint
CREATE INDEX "packages_pipeline_id_idx" ON "packages" USING btree ("pipeline_id");--> statement-breakpoint
CREATE INDEX "projects_storage_size_idx" ON "projects" USING btree (("repository_size" + "lfs_objects_size" + "job_artifacts_size" + "packages_size"),"id","marked_for_deletion_at","repository_size","lfs_objects_size","job_artifacts_size","packages_size");
--> statement-breakpoint
-- The size of the files of a project's packages (PK-8): each statement that adds, replaces or removes some changes the sum.
DROP FUNCTION IF EXISTS count_package_files() CASCADE;

CREATE FUNCTION count_package_files() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    UPDATE projects p SET packages_size = p.packages_size + d.bytes
    FROM (SELECT project_id, sum(size) AS bytes FROM added GROUP BY 1) d WHERE p.id = d.project_id;
  ELSIF TG_OP = 'UPDATE' THEN
    UPDATE projects p SET packages_size = p.packages_size + d.bytes
    FROM (SELECT project_id, sum(bytes) AS bytes FROM (
      SELECT project_id, size AS bytes FROM added UNION ALL SELECT project_id, -size FROM removed) c GROUP BY 1) d
    WHERE p.id = d.project_id AND d.bytes <> 0;
  ELSE
    UPDATE projects p SET packages_size = p.packages_size - d.bytes
    FROM (SELECT project_id, sum(size) AS bytes FROM removed GROUP BY 1) d WHERE p.id = d.project_id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER count_package_files_insert AFTER INSERT ON package_files REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION count_package_files();
CREATE TRIGGER count_package_files_update AFTER UPDATE ON package_files REFERENCING NEW TABLE AS added OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_package_files();
CREATE TRIGGER count_package_files_delete AFTER DELETE ON package_files REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION count_package_files();
