-- failures are found again within seconds
DELETE FROM "storage_failures";--> statement-breakpoint
ALTER TABLE "storage_failures" DROP CONSTRAINT "storage_failures_pkey";--> statement-breakpoint
ALTER TABLE "storage_failures" ADD COLUMN "access" text NOT NULL;--> statement-breakpoint
ALTER TABLE "storage_failures" ADD COLUMN "passes" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "storage_failures" ADD COLUMN "passed_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "storage_failures" ADD CONSTRAINT "storage_failures_storage_access_pk" PRIMARY KEY("storage","access");
