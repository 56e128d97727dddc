ALTER TABLE "tokens" ADD COLUMN "parent_id" bigint;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_parent_id_tokens_id_fk" FOREIGN KEY ("parent_id") REFERENCES "public"."tokens"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "tokens_parent_id_idx" ON "tokens" USING btree ("parent_id") WHERE "tokens"."parent_id" is not null;