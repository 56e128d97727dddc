ALTER TABLE "doomed_repositories" RENAME TO "pending_repository_deletions";
--> statement-breakpoint
ALTER TABLE "pending_repository_deletions" RENAME COLUMN "created_at" TO "due_at";
--> statement-breakpoint
ALTER TABLE "pending_repository_deletions" RENAME CONSTRAINT "doomed_repositories_pkey" TO "pending_repository_deletions_pkey";
--> statement-breakpoint
ALTER TABLE "doomed_avatars" RENAME TO "pending_avatar_deletions";
--> statement-breakpoint
ALTER TABLE "pending_avatar_deletions" RENAME CONSTRAINT "doomed_avatars_kind_id_pk" TO "pending_avatar_deletions_kind_id_pk";
