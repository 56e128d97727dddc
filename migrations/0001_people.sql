CREATE TABLE "audit_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor_id" bigint,
	"actor" text,
	"sudoer_id" bigint,
	"sudoer" text,
	"action" text NOT NULL,
	"target_type" text NOT NULL,
	"target_id" bigint,
	"target" text NOT NULL,
	"changes" jsonb NOT NULL,
	"address" text,
	"request_id" text
);
--> statement-breakpoint
CREATE TABLE "custom_attributes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "custom_attributes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint,
	"group_id" bigint,
	"project_id" bigint,
	"key" text NOT NULL,
	"value" text NOT NULL,
	CONSTRAINT "custom_attributes_one_source" CHECK (num_nonnulls("custom_attributes"."user_id", "custom_attributes"."group_id", "custom_attributes"."project_id") = 1)
);
--> statement-breakpoint
CREATE TABLE "gpg_keys" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "gpg_keys_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"primary_keyid" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ssh_keys" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ssh_keys_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"title" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"fingerprint_sha256" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "list_versions" (
	"kind" text PRIMARY KEY NOT NULL,
	"version" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_statuses" (
	"user_id" bigint PRIMARY KEY NOT NULL,
	"emoji" text NOT NULL,
	"message" text,
	"availability" text NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
DROP INDEX "namespaces_owner_id_key";--> statement-breakpoint
ALTER TABLE "tokens" ADD COLUMN "sealed" text;--> statement-breakpoint
ALTER TABLE "custom_attributes" ADD CONSTRAINT "custom_attributes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "custom_attributes" ADD CONSTRAINT "custom_attributes_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "custom_attributes" ADD CONSTRAINT "custom_attributes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "gpg_keys" ADD CONSTRAINT "gpg_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ssh_keys" ADD CONSTRAINT "ssh_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_statuses" ADD CONSTRAINT "user_statuses_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "audit_events_created_at_idx" ON "audit_events" USING btree ("created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "custom_attributes_user_id_key" ON "custom_attributes" USING btree ("user_id","key") WHERE "custom_attributes"."user_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "custom_attributes_group_id_key" ON "custom_attributes" USING btree ("group_id","key") WHERE "custom_attributes"."group_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "custom_attributes_project_id_key" ON "custom_attributes" USING btree ("project_id","key") WHERE "custom_attributes"."project_id" is not null;--> statement-breakpoint
CREATE INDEX "custom_attributes_key_idx" ON "custom_attributes" USING btree ("key",md5("value"));--> statement-breakpoint
CREATE UNIQUE INDEX "gpg_keys_key_key" ON "gpg_keys" USING btree (md5("key"));--> statement-breakpoint
CREATE UNIQUE INDEX "gpg_keys_fingerprint_key" ON "gpg_keys" USING btree ("fingerprint");--> statement-breakpoint
CREATE UNIQUE INDEX "gpg_keys_primary_keyid_key" ON "gpg_keys" USING btree ("primary_keyid");--> statement-breakpoint
CREATE INDEX "gpg_keys_user_id_idx" ON "gpg_keys" USING btree ("user_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "ssh_keys_fingerprint_key" ON "ssh_keys" USING btree ("fingerprint");--> statement-breakpoint
CREATE UNIQUE INDEX "ssh_keys_fingerprint_sha256_key" ON "ssh_keys" USING btree ("fingerprint_sha256");--> statement-breakpoint
CREATE INDEX "ssh_keys_user_id_idx" ON "ssh_keys" USING btree ("user_id","id");--> statement-breakpoint
CREATE INDEX "users_not_external_idx" ON "users" USING btree ("id") WHERE not "users"."external";--> statement-breakpoint
CREATE UNIQUE INDEX "namespaces_owner_id_key" ON "namespaces" USING btree ("owner_id");