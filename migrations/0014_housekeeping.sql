ALTER TABLE "projects" ADD COLUMN "pushes_since_gc" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "pushes_housekept" integer DEFAULT 0 NOT NULL;