ALTER TABLE "merge_requests" ADD COLUMN "behind_target" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "squash_commit_message" text;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "squash_commit_sha" text;--> statement-breakpoint
ALTER TABLE "merge_requests" ADD COLUMN "merged_head_sha" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "squash_option" text DEFAULT 'default_off' NOT NULL;--> statement-breakpoint
-- behind_target is computed with merge_status
update merge_requests set merge_status = 'unchecked', merge_checks = merge_checks + 1 where state = 'opened';
