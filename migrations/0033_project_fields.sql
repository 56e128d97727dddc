ALTER TABLE "projects" ADD COLUMN "operations_access_level" integer DEFAULT 20 NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "analytics_access_level" integer DEFAULT 20 NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "build_timeout" integer DEFAULT 3600 NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "build_git_strategy" text DEFAULT 'fetch' NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "ci_default_git_depth" integer;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "build_coverage_regex" text;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "restrict_user_defined_variables" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "keep_latest_artifact" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "ci_forward_deployment_enabled" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "packages_enabled" boolean;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "pages_access_level" text;