CREATE TABLE "sign_on_requests" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sign_on_requests_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"digest" text NOT NULL,
	"provider" text NOT NULL,
	"browser_digest" text NOT NULL,
	"address" text NOT NULL,
	"return_to" text NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "provider" text;--> statement-breakpoint
CREATE UNIQUE INDEX "sign_on_requests_digest_key" ON "sign_on_requests" USING btree ("digest");--> statement-breakpoint
CREATE INDEX "sign_on_requests_address_idx" ON "sign_on_requests" USING btree ("address","id");--> statement-breakpoint
CREATE INDEX "sign_on_requests_expires_at_idx" ON "sign_on_requests" USING btree ("expires_at");