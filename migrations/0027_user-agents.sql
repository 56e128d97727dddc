CREATE TABLE "user_agent_details" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "user_agent_details_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"issue_id" bigint,
	"snippet_id" bigint,
	"user_agent" text NOT NULL,
	"ip_address" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "user_agent_details_one_subject" CHECK (("user_agent_details"."issue_id" is null) <> ("user_agent_details"."snippet_id" is null))
);
--> statement-breakpoint
ALTER TABLE "user_agent_details" ADD CONSTRAINT "user_agent_details_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_agent_details" ADD CONSTRAINT "user_agent_details_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "user_agent_details" ADD CONSTRAINT "user_agent_details_snippet_id_snippets_id_fk" FOREIGN KEY ("snippet_id") REFERENCES "public"."snippets"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "user_agent_details_issue_id_key" ON "user_agent_details" USING btree ("issue_id") WHERE "user_agent_details"."issue_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "user_agent_details_snippet_id_key" ON "user_agent_details" USING btree ("snippet_id") WHERE "user_agent_details"."snippet_id" is not null;--> statement-breakpoint
CREATE INDEX "user_agent_details_user_id_idx" ON "user_agent_details" USING btree ("user_id");