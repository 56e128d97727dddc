CREATE TABLE "events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"author_id" bigint NOT NULL,
	"action" text NOT NULL,
	"target_type" text,
	"target_id" bigint,
	"target_title" text,
	"push" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "events_push_data" CHECK (("events"."action" = 'pushed') = ("events"."push" is not null))
);
--> statement-breakpoint
CREATE TABLE "notes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "notes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"noteable_type" text NOT NULL,
	"noteable_id" bigint,
	"commit_id" text,
	"author_id" bigint NOT NULL,
	"note" text NOT NULL,
	"system" boolean DEFAULT false NOT NULL,
	"path" text,
	"line" integer,
	"line_type" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notes_one_noteable" CHECK (case "notes"."noteable_type" when 'Commit' then "notes"."commit_id" is not null else "notes"."noteable_id" is not null end),
	CONSTRAINT "notes_whole_place" CHECK (num_nulls("notes"."path", "notes"."line", "notes"."line_type") in (0, 3))
);
--> statement-breakpoint
CREATE TABLE "release_links" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "release_links_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"release_id" bigint NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"filepath" text,
	"link_type" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "releases" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "releases_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"tag" text NOT NULL,
	"name" text,
	"description" text NOT NULL,
	"description_html" text NOT NULL,
	"author_id" bigint NOT NULL,
	"released_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "release_links" ADD CONSTRAINT "release_links_release_id_releases_id_fk" FOREIGN KEY ("release_id") REFERENCES "public"."releases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "releases" ADD CONSTRAINT "releases_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "releases" ADD CONSTRAINT "releases_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "events_project_id_created_at_idx" ON "events" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "events_author_id_created_at_idx" ON "events" USING btree ("author_id","created_at","id");--> statement-breakpoint
CREATE INDEX "notes_project_id_commit_id_idx" ON "notes" USING btree ("project_id","commit_id","created_at","id") WHERE "notes"."noteable_type" = 'Commit';--> statement-breakpoint
CREATE INDEX "notes_author_id_idx" ON "notes" USING btree ("author_id");--> statement-breakpoint
CREATE UNIQUE INDEX "release_links_release_id_name_key" ON "release_links" USING btree ("release_id","name");--> statement-breakpoint
CREATE UNIQUE INDEX "release_links_release_id_url_key" ON "release_links" USING btree ("release_id",md5("url"));--> statement-breakpoint
CREATE UNIQUE INDEX "release_links_release_id_filepath_key" ON "release_links" USING btree ("release_id","filepath") WHERE "release_links"."filepath" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "releases_project_id_tag_key" ON "releases" USING btree ("project_id","tag");--> statement-breakpoint
CREATE INDEX "releases_project_id_released_at_idx" ON "releases" USING btree ("project_id","released_at","id");--> statement-breakpoint
CREATE INDEX "releases_project_id_created_at_idx" ON "releases" USING btree ("project_id","created_at","id");--> statement-breakpoint
CREATE INDEX "releases_author_id_idx" ON "releases" USING btree ("author_id");