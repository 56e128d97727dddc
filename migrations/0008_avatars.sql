ALTER TABLE "users" RENAME COLUMN "avatar" TO "avatar_file";--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "avatar" text GENERATED ALWAYS AS (coalesce(avatar_file, '@' || md5(lower(btrim(email))))) STORED;
