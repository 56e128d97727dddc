ALTER TABLE "sessions" ADD COLUMN "second_factor_skipped" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "require_two_factor_authentication" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "second_factor_asked_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "namespaces_require_two_factor_authentication_idx" ON "namespaces" USING btree ("id") WHERE "namespaces"."require_two_factor_authentication";