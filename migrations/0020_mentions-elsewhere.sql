ALTER TABLE "notes" ADD COLUMN "mentioned_in_type" text;--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "mentioned_in_project_id" bigint;--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "mentioned_in_id" bigint;--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "mentioned_in_sha" text;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_mentioned_in_project_id_projects_id_fk" FOREIGN KEY ("mentioned_in_project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "notes_mention_key" ON "notes" USING btree ("mentioned_in_project_id","mentioned_in_type",coalesce("mentioned_in_id", 0),coalesce("mentioned_in_sha", ''),"noteable_type","noteable_id") WHERE "notes"."mentioned_in_project_id" is not null;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_whole_mention" CHECK (case when "notes"."mentioned_in_type" is null then "notes"."mentioned_in_project_id" is null
        else "notes"."system" and "notes"."mentioned_in_project_id" is not null and num_nonnulls("notes"."mentioned_in_id", "notes"."mentioned_in_sha") = 1 end);