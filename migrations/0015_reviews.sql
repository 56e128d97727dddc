CREATE TABLE "draft_notes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "draft_notes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"merge_request_id" bigint NOT NULL,
	"author_id" bigint NOT NULL,
	"note" text NOT NULL,
	"discussion_id" text,
	"resolve_discussion" boolean,
	"position" jsonb,
	"path" text,
	"line" integer,
	"line_type" text,
	"excerpt" text,
	"sending_since" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "draft_notes_thread_or_position" CHECK ("draft_notes"."discussion_id" is null or "draft_notes"."position" is null)
);
--> statement-breakpoint
CREATE TABLE "seen_versions" (
	"merge_request_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	"version_id" bigint NOT NULL,
	CONSTRAINT "seen_versions_merge_request_id_user_id_pk" PRIMARY KEY("merge_request_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "sent_forms" (
	"user_id" bigint NOT NULL,
	"key" text NOT NULL,
	"location" text,
	"sent_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "sent_forms_user_id_key_pk" PRIMARY KEY("user_id","key")
);
--> statement-breakpoint
CREATE TABLE "suggestions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "suggestions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"note_id" bigint NOT NULL,
	"place" integer NOT NULL,
	"lines_above" integer NOT NULL,
	"lines_below" integer NOT NULL,
	"content" text NOT NULL,
	"applied_at" timestamp (3) with time zone,
	"commit_id" text
);
--> statement-breakpoint
CREATE TABLE "viewed_files" (
	"merge_request_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	"file" text NOT NULL,
	"change" text NOT NULL,
	CONSTRAINT "viewed_files_merge_request_id_user_id_file_pk" PRIMARY KEY("merge_request_id","user_id","file")
);
--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "excerpt" text;--> statement-breakpoint
ALTER TABLE "draft_notes" ADD CONSTRAINT "draft_notes_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "draft_notes" ADD CONSTRAINT "draft_notes_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "seen_versions" ADD CONSTRAINT "seen_versions_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "seen_versions" ADD CONSTRAINT "seen_versions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "seen_versions" ADD CONSTRAINT "seen_versions_version_id_merge_request_versions_id_fk" FOREIGN KEY ("version_id") REFERENCES "public"."merge_request_versions"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sent_forms" ADD CONSTRAINT "sent_forms_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "suggestions" ADD CONSTRAINT "suggestions_note_id_notes_id_fk" FOREIGN KEY ("note_id") REFERENCES "public"."notes"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "viewed_files" ADD CONSTRAINT "viewed_files_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "viewed_files" ADD CONSTRAINT "viewed_files_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "draft_notes_merge_request_id_idx" ON "draft_notes" USING btree ("merge_request_id","author_id","id");--> statement-breakpoint
CREATE INDEX "draft_notes_author_id_idx" ON "draft_notes" USING btree ("author_id");--> statement-breakpoint
CREATE INDEX "seen_versions_user_id_idx" ON "seen_versions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "seen_versions_version_id_idx" ON "seen_versions" USING btree ("version_id");--> statement-breakpoint
CREATE INDEX "sent_forms_sent_at_idx" ON "sent_forms" USING btree ("sent_at");--> statement-breakpoint
CREATE INDEX "suggestions_note_id_idx" ON "suggestions" USING btree ("note_id","place");--> statement-breakpoint
CREATE INDEX "viewed_files_user_id_idx" ON "viewed_files" USING btree ("user_id");