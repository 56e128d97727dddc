DROP INDEX "emails_user_id_idx";--> statement-breakpoint
DROP INDEX "emails_email_key";--> statement-breakpoint
CREATE UNIQUE INDEX "emails_user_id_email_key" ON "emails" USING btree ("user_id",lower("email"));--> statement-breakpoint
CREATE INDEX "emails_email_idx" ON "emails" USING btree (lower("email"));--> statement-breakpoint
CREATE UNIQUE INDEX "emails_email_key" ON "emails" USING btree (lower("email")) WHERE "emails"."confirmed_at" is not null;