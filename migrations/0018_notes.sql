ALTER TABLE "notes" DROP CONSTRAINT "notes_whole_place";--> statement-breakpoint
DROP INDEX "award_emoji_key";--> statement-breakpoint
DROP INDEX "award_emoji_user_id_idx";--> statement-breakpoint
ALTER TABLE "award_emoji" ADD COLUMN "project_id" bigint NOT NULL;--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "type" text;--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "discussion_id" text DEFAULT left(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 40) NOT NULL;--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "position" jsonb;--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "resolved_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "notes" ADD COLUMN "resolved_by_id" bigint;--> statement-breakpoint
ALTER TABLE "award_emoji" ADD CONSTRAINT "award_emoji_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_resolved_by_id_users_id_fk" FOREIGN KEY ("resolved_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "events_target_idx" ON "events" USING btree ("target_type","target_id") WHERE "events"."target_id" is not null;--> statement-breakpoint
CREATE INDEX "notes_unresolved_idx" ON "notes" USING btree ("project_id","noteable_id","discussion_id") WHERE "notes"."noteable_type" = 'MergeRequest' and "notes"."type" is not null and "notes"."resolved_at" is null;--> statement-breakpoint
CREATE INDEX "notes_resolved_by_id_idx" ON "notes" USING btree ("resolved_by_id") WHERE "notes"."resolved_by_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "award_emoji_key" ON "award_emoji" USING btree ("project_id","awardable_type","awardable_id","name","user_id");--> statement-breakpoint
CREATE INDEX "award_emoji_user_id_idx" ON "award_emoji" USING btree ("user_id","awardable_type","name","awardable_id");--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_type_of_position" CHECK (("notes"."position" is not null) = ("notes"."type" is not distinct from 'DiffNote'));--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_whole_place" CHECK (num_nulls("notes"."path", "notes"."line") in (0, 2) and ("notes"."line_type" is null or "notes"."path" is not null));