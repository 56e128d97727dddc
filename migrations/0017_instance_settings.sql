CREATE TABLE "held_texts" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "held_texts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"project_id" bigint,
	"kind" text NOT NULL,
	"noteable_type" text,
	"noteable_id" bigint,
	"data" jsonb NOT NULL,
	"text" text NOT NULL,
	"address" text NOT NULL,
	"user_agent" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "last_checks" (
	"name" text PRIMARY KEY NOT NULL,
	"good" boolean NOT NULL,
	"message" text NOT NULL,
	"checked_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "request_limits" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "request_limits_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint,
	"address" text,
	"requests" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "sessions" ADD COLUMN "impersonates_id" bigint;--> statement-breakpoint
ALTER TABLE "held_texts" ADD CONSTRAINT "held_texts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "held_texts" ADD CONSTRAINT "held_texts_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "request_limits" ADD CONSTRAINT "request_limits_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "held_texts_user_id_idx" ON "held_texts" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "held_texts_project_id_idx" ON "held_texts" USING btree ("project_id");--> statement-breakpoint
CREATE UNIQUE INDEX "request_limits_user_id_key" ON "request_limits" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "request_limits_address_key" ON "request_limits" USING btree ("address");--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_impersonates_id_users_id_fk" FOREIGN KEY ("impersonates_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "sessions_impersonates_id_idx" ON "sessions" USING btree ("impersonates_id") WHERE "sessions"."impersonates_id" is not null;