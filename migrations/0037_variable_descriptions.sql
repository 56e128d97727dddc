ALTER TABLE "variables" ADD COLUMN "description" text;--> statement-breakpoint
ALTER TABLE "variables" ADD COLUMN "hidden" boolean DEFAULT false NOT NULL;