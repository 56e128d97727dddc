CREATE TABLE "members" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "members_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"project_id" bigint,
	"namespace_id" bigint,
	"access_level" integer NOT NULL,
	"expires_at" date,
	"requested_at" timestamp (3) with time zone,
	"created_by_id" bigint,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "members_one_source" CHECK (("members"."project_id" is null) <> ("members"."namespace_id" is null))
);
--> statement-breakpoint
CREATE TABLE "namespace_ancestry" (
	"ancestor_id" bigint NOT NULL,
	"descendant_id" bigint NOT NULL,
	CONSTRAINT "namespace_ancestry_descendant_id_ancestor_id_pk" PRIMARY KEY("descendant_id","ancestor_id")
);
--> statement-breakpoint
CREATE TABLE "namespaces" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "namespaces_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"path" text NOT NULL,
	"full_path" text NOT NULL,
	"full_name" text NOT NULL,
	"parent_id" bigint,
	"owner_id" bigint,
	"description" text DEFAULT '' NOT NULL,
	"visibility" integer NOT NULL,
	"lfs_enabled" boolean DEFAULT true NOT NULL,
	"request_access_enabled" boolean DEFAULT false NOT NULL,
	"share_with_group_lock" boolean DEFAULT false NOT NULL,
	"avatar" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "doomed_repositories" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"storage" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "project_shares" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "project_shares_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"group_id" bigint NOT NULL,
	"group_access" integer NOT NULL,
	"expires_at" date,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "project_stars" (
	"project_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	CONSTRAINT "project_stars_project_id_user_id_pk" PRIMARY KEY("project_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "projects" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "projects_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"namespace_id" bigint NOT NULL,
	"creator_id" bigint,
	"name" text NOT NULL,
	"path" text NOT NULL,
	"description" text,
	"visibility" integer NOT NULL,
	"storage" text NOT NULL,
	"default_branch" text NOT NULL,
	"empty_repo" boolean DEFAULT true NOT NULL,
	"archived" boolean DEFAULT false NOT NULL,
	"issues_access_level" integer DEFAULT 20 NOT NULL,
	"merge_requests_access_level" integer DEFAULT 20 NOT NULL,
	"wiki_access_level" integer DEFAULT 20 NOT NULL,
	"snippets_access_level" integer DEFAULT 20 NOT NULL,
	"builds_access_level" integer DEFAULT 20 NOT NULL,
	"repository_access_level" integer DEFAULT 20 NOT NULL,
	"container_registry_enabled" boolean DEFAULT true NOT NULL,
	"lfs_enabled" boolean DEFAULT true NOT NULL,
	"shared_runners_enabled" boolean DEFAULT true NOT NULL,
	"public_jobs" boolean DEFAULT true NOT NULL,
	"request_access_enabled" boolean DEFAULT false NOT NULL,
	"only_allow_merge_if_pipeline_succeeds" boolean DEFAULT false NOT NULL,
	"only_allow_merge_if_all_discussions_are_resolved" boolean DEFAULT false NOT NULL,
	"printing_merge_request_link_enabled" boolean DEFAULT true NOT NULL,
	"resolve_outdated_diff_discussions" boolean DEFAULT false NOT NULL,
	"merge_method" text DEFAULT 'merge' NOT NULL,
	"ci_config_path" text,
	"tag_list" text[] DEFAULT '{}' NOT NULL,
	"avatar" text,
	"star_count" integer DEFAULT 0 NOT NULL,
	"forks_count" integer DEFAULT 0 NOT NULL,
	"open_issues_count" integer DEFAULT 0 NOT NULL,
	"import_status" text DEFAULT 'none' NOT NULL,
	"import_error" text,
	"forked_from_id" bigint,
	"commit_count" bigint DEFAULT 0 NOT NULL,
	"repository_size" bigint DEFAULT 0 NOT NULL,
	"last_activity_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "protected_branches" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "protected_branches_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"name" text NOT NULL,
	"push_level" integer NOT NULL,
	"merge_level" integer NOT NULL,
	"allow_force_push" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "protected_tags" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "protected_tags_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"name" text NOT NULL,
	"create_level" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ref_intents" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ref_intents_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"actor_id" bigint,
	"origin" text NOT NULL,
	"updates" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "redirects" (
	"key" text PRIMARY KEY NOT NULL,
	"project_id" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "routes" (
	"key" text PRIMARY KEY NOT NULL,
	"namespace_id" bigint,
	"project_id" bigint
);
--> statement-breakpoint
CREATE TABLE "application_settings" (
	"id" bigint PRIMARY KEY NOT NULL,
	"values" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "tokens" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "tokens_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"name" text NOT NULL,
	"description" text,
	"digest" text NOT NULL,
	"refresh_digest" text,
	"scopes" text[] NOT NULL,
	"revoked" boolean DEFAULT false NOT NULL,
	"expires_at" date,
	"valid_until" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "emails" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "emails_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"email" text NOT NULL,
	"confirmed_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "identities" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "identities_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"provider" text NOT NULL,
	"extern_uid" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "users_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"username" text NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"state" text DEFAULT 'active' NOT NULL,
	"kind" text DEFAULT 'human' NOT NULL,
	"admin" boolean DEFAULT false NOT NULL,
	"external" boolean DEFAULT false NOT NULL,
	"password_hash" text,
	"password_expired" boolean DEFAULT false NOT NULL,
	"two_factor_enabled" boolean DEFAULT false NOT NULL,
	"projects_limit" integer NOT NULL,
	"can_create_group" boolean DEFAULT true NOT NULL,
	"bio" text,
	"location" text,
	"messenger" text DEFAULT '' NOT NULL,
	"jobsnet" text DEFAULT '' NOT NULL,
	"microblog" text DEFAULT '' NOT NULL,
	"website_url" text DEFAULT '' NOT NULL,
	"organization" text DEFAULT '' NOT NULL,
	"avatar" text,
	"theme_id" integer DEFAULT 1 NOT NULL,
	"color_scheme_id" integer DEFAULT 1 NOT NULL,
	"confirmed_at" timestamp (3) with time zone,
	"last_sign_in_at" timestamp (3) with time zone,
	"current_sign_in_at" timestamp (3) with time zone,
	"last_activity_on" date,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "namespace_ancestry" ADD CONSTRAINT "namespace_ancestry_ancestor_id_namespaces_id_fk" FOREIGN KEY ("ancestor_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "namespace_ancestry" ADD CONSTRAINT "namespace_ancestry_descendant_id_namespaces_id_fk" FOREIGN KEY ("descendant_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "namespaces" ADD CONSTRAINT "namespaces_parent_id_namespaces_id_fk" FOREIGN KEY ("parent_id") REFERENCES "public"."namespaces"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "namespaces" ADD CONSTRAINT "namespaces_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_shares" ADD CONSTRAINT "project_shares_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_shares" ADD CONSTRAINT "project_shares_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_stars" ADD CONSTRAINT "project_stars_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "project_stars" ADD CONSTRAINT "project_stars_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_creator_id_users_id_fk" FOREIGN KEY ("creator_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_forked_from_id_projects_id_fk" FOREIGN KEY ("forked_from_id") REFERENCES "public"."projects"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "protected_branches" ADD CONSTRAINT "protected_branches_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "protected_tags" ADD CONSTRAINT "protected_tags_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ref_intents" ADD CONSTRAINT "ref_intents_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "redirects" ADD CONSTRAINT "redirects_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "routes" ADD CONSTRAINT "routes_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "routes" ADD CONSTRAINT "routes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "emails" ADD CONSTRAINT "emails_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "members_user_id_project_id_key" ON "members" USING btree ("user_id","project_id") WHERE "members"."project_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "members_user_id_namespace_id_key" ON "members" USING btree ("user_id","namespace_id") WHERE "members"."namespace_id" is not null;--> statement-breakpoint
CREATE INDEX "members_project_id_idx" ON "members" USING btree ("project_id") WHERE "members"."project_id" is not null;--> statement-breakpoint
CREATE INDEX "members_namespace_id_idx" ON "members" USING btree ("namespace_id") WHERE "members"."namespace_id" is not null;--> statement-breakpoint
CREATE INDEX "namespace_ancestry_ancestor_id_idx" ON "namespace_ancestry" USING btree ("ancestor_id","descendant_id");--> statement-breakpoint
CREATE INDEX "namespaces_parent_id_idx" ON "namespaces" USING btree ("parent_id");--> statement-breakpoint
CREATE UNIQUE INDEX "namespaces_owner_id_key" ON "namespaces" USING btree ("owner_id") WHERE "namespaces"."kind" = 'user';--> statement-breakpoint
CREATE INDEX "namespaces_visibility_idx" ON "namespaces" USING btree ("visibility") WHERE "namespaces"."kind" = 'group';--> statement-breakpoint
CREATE UNIQUE INDEX "project_shares_project_id_group_id_key" ON "project_shares" USING btree ("project_id","group_id");--> statement-breakpoint
CREATE INDEX "project_shares_group_id_idx" ON "project_shares" USING btree ("group_id");--> statement-breakpoint
CREATE INDEX "project_stars_user_id_idx" ON "project_stars" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "projects_namespace_id_name_key" ON "projects" USING btree ("namespace_id",lower("name"));--> statement-breakpoint
CREATE UNIQUE INDEX "projects_namespace_id_path_key" ON "projects" USING btree ("namespace_id",lower("path"));--> statement-breakpoint
CREATE INDEX "projects_created_at_idx" ON "projects" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "projects_visibility_idx" ON "projects" USING btree ("visibility","created_at","id");--> statement-breakpoint
CREATE INDEX "projects_forked_from_id_idx" ON "projects" USING btree ("forked_from_id");--> statement-breakpoint
CREATE UNIQUE INDEX "protected_branches_project_id_name_key" ON "protected_branches" USING btree ("project_id","name");--> statement-breakpoint
CREATE UNIQUE INDEX "protected_tags_project_id_name_key" ON "protected_tags" USING btree ("project_id","name");--> statement-breakpoint
CREATE INDEX "ref_intents_project_id_idx" ON "ref_intents" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "redirects_project_id_idx" ON "redirects" USING btree ("project_id");--> statement-breakpoint
CREATE INDEX "routes_namespace_id_idx" ON "routes" USING btree ("namespace_id");--> statement-breakpoint
CREATE INDEX "routes_project_id_idx" ON "routes" USING btree ("project_id");--> statement-breakpoint
CREATE UNIQUE INDEX "tokens_digest_key" ON "tokens" USING btree ("digest");--> statement-breakpoint
CREATE UNIQUE INDEX "tokens_refresh_digest_key" ON "tokens" USING btree ("refresh_digest") WHERE "tokens"."refresh_digest" is not null;--> statement-breakpoint
CREATE INDEX "tokens_user_id_idx" ON "tokens" USING btree ("user_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "emails_email_key" ON "emails" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "emails_user_id_idx" ON "emails" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "identities_provider_extern_uid_key" ON "identities" USING btree ("provider",lower("extern_uid"));--> statement-breakpoint
CREATE INDEX "identities_user_id_idx" ON "identities" USING btree ("user_id");--> statement-breakpoint
CREATE UNIQUE INDEX "users_username_key" ON "users" USING btree (lower("username"));--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_key" ON "users" USING btree (lower("email"));--> statement-breakpoint
CREATE INDEX "users_last_activity_on_idx" ON "users" USING btree ("last_activity_on","id");