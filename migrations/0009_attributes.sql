ALTER TABLE "namespaces" ADD COLUMN "project_creation_level" text DEFAULT 'maintainer' NOT NULL;--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "subgroup_creation_level" text DEFAULT 'owner' NOT NULL;--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "default_branch_protection" integer;--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "emails_disabled" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "mentions_disabled" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "auto_devops_enabled" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "two_factor_grace_period" integer DEFAULT 48 NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "forking_access_level" integer DEFAULT 20 NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "remove_source_branch_after_merge" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "allow_merge_on_skipped_pipeline" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "autoclose_referenced_issues" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "merge_commit_template" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "squash_commit_template" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "issue_branch_template" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "suggestion_commit_message" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "emails_disabled" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "public_email" text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "private_profile" boolean DEFAULT false NOT NULL;