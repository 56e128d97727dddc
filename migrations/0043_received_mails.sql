CREATE TABLE "received_mails" (
	"digest" text PRIMARY KEY NOT NULL,
	"done" boolean DEFAULT false NOT NULL,
	"received_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "received_mails_received_at_idx" ON "received_mails" USING btree ("received_at");