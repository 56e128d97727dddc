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
CREATE TABLE "award_emoji" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "award_emoji_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"awardable_type" text NOT NULL,
	"awardable_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
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
CREATE TABLE "deploy_keys_projects" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "deploy_keys_projects_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"key_id" bigint NOT NULL,
	"project_id" bigint NOT NULL,
	"can_push" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deploy_tokens" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "deploy_tokens_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"group_id" bigint,
	"creator_id" bigint,
	"name" text NOT NULL,
	"username" text NOT NULL,
	"digest" text NOT NULL,
	"scopes" text[] NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "deploy_tokens_one_source" CHECK (num_nonnulls("deploy_tokens"."project_id", "deploy_tokens"."group_id") = 1)
);
--> statement-breakpoint
CREATE TABLE "events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"author_id" bigint NOT NULL,
	"action" text NOT NULL,
	"target_type" text,
	"target_id" bigint,
	"target_title" text,
	"push" jsonb,
	"about_type" text,
	"about_id" bigint,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "events_push_data" CHECK (("events"."action" = 'pushed') = ("events"."push" is not null)),
	CONSTRAINT "events_about" CHECK (case when "events"."action" = 'pushed' then "events"."about_type" is not distinct from 'Commit'
        when "events"."target_type" in ('Issue', 'MergeRequest', 'Snippet') then ("events"."about_type", "events"."about_id") is not distinct from ("events"."target_type", "events"."target_id")
        else true end)
);
--> statement-breakpoint
CREATE TABLE "import_items" (
	"import_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"key" text NOT NULL,
	"here" bigint,
	"fault" text,
	"name" text,
	CONSTRAINT "import_items_import_id_kind_key_pk" PRIMARY KEY("import_id","kind","key"),
	CONSTRAINT "import_items_fault" CHECK (("import_items"."fault" is null) = ("import_items"."name" is null))
);
--> statement-breakpoint
CREATE TABLE "imports" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "imports_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"url" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "group_iid_counters" (
	"namespace_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"last" integer NOT NULL,
	CONSTRAINT "group_iid_counters_namespace_id_kind_pk" PRIMARY KEY("namespace_id","kind")
);
--> statement-breakpoint
CREATE TABLE "issue_labels" (
	"project_id" bigint NOT NULL,
	"issue_id" bigint NOT NULL,
	"label_id" bigint NOT NULL,
	CONSTRAINT "issue_labels_issue_id_label_id_pk" PRIMARY KEY("issue_id","label_id")
);
--> statement-breakpoint
CREATE TABLE "issues" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "issues_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"iid" integer NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"state" text DEFAULT 'opened' NOT NULL,
	"author_id" bigint NOT NULL,
	"assignee_id" bigint,
	"milestone_id" bigint,
	"confidential" boolean DEFAULT false NOT NULL,
	"discussion_locked" boolean,
	"due_date" date,
	"closed_at" timestamp (3) with time zone,
	"closed_by_id" bigint,
	"moved_to_id" bigint,
	"time_estimate" integer DEFAULT 0 NOT NULL,
	"total_time_spent" integer DEFAULT 0 NOT NULL,
	"task_count" integer DEFAULT 0 NOT NULL,
	"task_completed_count" integer DEFAULT 0 NOT NULL,
	"user_notes_count" integer DEFAULT 0 NOT NULL,
	"upvotes" integer DEFAULT 0 NOT NULL,
	"downvotes" integer DEFAULT 0 NOT NULL,
	"merge_requests_count" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "labels" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "labels_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"namespace_id" bigint,
	"title" text NOT NULL,
	"color" text NOT NULL,
	"description" text,
	"description_html" text DEFAULT '' NOT NULL,
	"priority" integer,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "labels_one_source" CHECK (("labels"."project_id" is null) <> ("labels"."namespace_id" is null))
);
--> statement-breakpoint
CREATE TABLE "mentions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "mentions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"target_type" text NOT NULL,
	"target_id" bigint NOT NULL,
	"note_id" bigint,
	"user_id" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "milestones" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "milestones_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"namespace_id" bigint,
	"iid" integer NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"state" text DEFAULT 'active' NOT NULL,
	"start_date" date,
	"due_date" date,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "milestones_one_source" CHECK (("milestones"."project_id" is null) <> ("milestones"."namespace_id" is null))
);
--> statement-breakpoint
CREATE TABLE "subscriptions" (
	"project_id" bigint,
	"target_type" text NOT NULL,
	"target_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	"subscribed" boolean NOT NULL,
	CONSTRAINT "subscriptions_target_type_target_id_user_id_pk" PRIMARY KEY("target_type","target_id","user_id")
);
--> statement-breakpoint
CREATE TABLE "todos" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "todos_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"author_id" bigint NOT NULL,
	"project_id" bigint NOT NULL,
	"target_type" text NOT NULL,
	"target_id" bigint,
	"commit_id" text,
	"note_id" bigint,
	"action" text NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "todos_one_target" CHECK (case "todos"."target_type" when 'Commit' then "todos"."commit_id" is not null else "todos"."target_id" is not null end)
);
--> statement-breakpoint
CREATE TABLE "job_schedules" (
	"kind" text PRIMARY KEY NOT NULL,
	"next_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "jobs" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "jobs_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"key" text,
	"lane" text,
	"lane_limit" smallint DEFAULT 1 NOT NULL,
	"priority" smallint DEFAULT 1 NOT NULL,
	"payload" jsonb NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"run_at" timestamp with time zone DEFAULT now() NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"worker" text,
	"last_error" text,
	"failed_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "processes" (
	"id" text PRIMARY KEY NOT NULL,
	"alive_until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "gpg_keys" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "gpg_keys_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"primary_keyid" text NOT NULL,
	"subkey_ids" text[] NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ssh_keys" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ssh_keys_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint,
	"creator_id" bigint,
	"title" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"fingerprint_sha256" text NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "lfs_locks" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "lfs_locks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	"path" text NOT NULL,
	"locked_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "lfs_object_projects" (
	"project_id" bigint NOT NULL,
	"oid" text NOT NULL,
	"unreferenced_since" timestamp (3) with time zone,
	CONSTRAINT "lfs_object_projects_project_id_oid_pk" PRIMARY KEY("project_id","oid")
);
--> statement-breakpoint
CREATE TABLE "lfs_objects" (
	"oid" text PRIMARY KEY NOT NULL,
	"size" bigint NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "pending_lfs_deletions" (
	"oid" text PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "counters" (
	"key" text PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "list_versions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "list_versions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" text NOT NULL,
	"bucket" integer DEFAULT 0 NOT NULL,
	"version" bigint NOT NULL
);
--> statement-breakpoint
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
CREATE TABLE "merge_request_commits" (
	"project_id" bigint NOT NULL,
	"sha" text NOT NULL,
	"merge_request_id" bigint NOT NULL,
	CONSTRAINT "merge_request_commits_project_id_sha_merge_request_id_pk" PRIMARY KEY("project_id","sha","merge_request_id")
);
--> statement-breakpoint
CREATE TABLE "merge_request_issues" (
	"project_id" bigint NOT NULL,
	"merge_request_id" bigint NOT NULL,
	"issue_id" bigint NOT NULL,
	"closes" boolean NOT NULL,
	CONSTRAINT "merge_request_issues_merge_request_id_issue_id_pk" PRIMARY KEY("merge_request_id","issue_id")
);
--> statement-breakpoint
CREATE TABLE "merge_request_labels" (
	"project_id" bigint NOT NULL,
	"merge_request_id" bigint NOT NULL,
	"label_id" bigint NOT NULL,
	CONSTRAINT "merge_request_labels_merge_request_id_label_id_pk" PRIMARY KEY("merge_request_id","label_id")
);
--> statement-breakpoint
CREATE TABLE "merge_request_versions" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "merge_request_versions_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"merge_request_id" bigint NOT NULL,
	"start_commit_sha" text NOT NULL,
	"base_commit_sha" text,
	"head_commit_sha" text NOT NULL,
	"state" text NOT NULL,
	"real_size" text NOT NULL,
	"commits_count" bigint NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "merge_requests" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "merge_requests_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"iid" integer NOT NULL,
	"source_project_id" bigint,
	"original_source_project_id" bigint NOT NULL,
	"source_branch" text NOT NULL,
	"target_branch" text NOT NULL,
	"title" text NOT NULL,
	"description" text DEFAULT '' NOT NULL,
	"state" text DEFAULT 'opened' NOT NULL,
	"author_id" bigint NOT NULL,
	"assignee_id" bigint,
	"milestone_id" bigint,
	"merge_status" text DEFAULT 'unchecked' NOT NULL,
	"merge_checks" integer DEFAULT 0 NOT NULL,
	"version_due" boolean DEFAULT false NOT NULL,
	"rebase_user_id" bigint,
	"merge_error" text,
	"version_id" bigint,
	"sha" text,
	"changes_count" text DEFAULT '0' NOT NULL,
	"head_pipeline_id" bigint,
	"merge_when_pipeline_succeeds" boolean DEFAULT false NOT NULL,
	"merge_user_id" bigint,
	"merge_commit_message" text,
	"should_remove_source_branch" boolean,
	"force_remove_source_branch" boolean DEFAULT false NOT NULL,
	"squash" boolean DEFAULT false NOT NULL,
	"allow_collaboration" boolean DEFAULT false NOT NULL,
	"links_due" boolean DEFAULT true NOT NULL,
	"discussion_locked" boolean,
	"merge_commit_sha" text,
	"merged_by_id" bigint,
	"merged_at" timestamp (3) with time zone,
	"closed_by_id" bigint,
	"closed_at" timestamp (3) with time zone,
	"time_estimate" integer DEFAULT 0 NOT NULL,
	"total_time_spent" integer DEFAULT 0 NOT NULL,
	"task_count" integer DEFAULT 0 NOT NULL,
	"task_completed_count" integer DEFAULT 0 NOT NULL,
	"user_notes_count" integer DEFAULT 0 NOT NULL,
	"upvotes" integer DEFAULT 0 NOT NULL,
	"downvotes" integer DEFAULT 0 NOT NULL,
	"unresolved_discussions_count" integer DEFAULT 0 NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
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
CREATE TABLE "notes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "notes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"noteable_type" text NOT NULL,
	"noteable_id" bigint,
	"commit_id" text,
	"author_id" bigint NOT NULL,
	"note" text NOT NULL,
	"system" boolean DEFAULT false NOT NULL,
	"type" text,
	"discussion_id" text DEFAULT left(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 40) NOT NULL,
	"position" jsonb,
	"resolved_at" timestamp (3) with time zone,
	"resolved_by_id" bigint,
	"path" text,
	"line" integer,
	"line_type" text,
	"mentioned_in_type" text,
	"mentioned_in_project_id" bigint,
	"mentioned_in_id" bigint,
	"mentioned_in_sha" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notes_one_noteable" CHECK (case "notes"."noteable_type" when 'Commit' then "notes"."commit_id" is not null else "notes"."noteable_id" is not null end),
	CONSTRAINT "notes_whole_place" CHECK (num_nulls("notes"."path", "notes"."line") in (0, 2) and ("notes"."line_type" is null or "notes"."path" is not null)),
	CONSTRAINT "notes_type_of_position" CHECK (("notes"."position" is not null) = ("notes"."type" is not distinct from 'DiffNote')),
	CONSTRAINT "notes_whole_mention" CHECK (case when "notes"."mentioned_in_type" is null then "notes"."mentioned_in_project_id" is null
        else "notes"."system" and "notes"."mentioned_in_project_id" is not null and num_nonnulls("notes"."mentioned_in_id", "notes"."mentioned_in_sha") = 1 end)
);
--> statement-breakpoint
CREATE TABLE "commit_statuses" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "commit_statuses_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"pipeline_id" bigint NOT NULL,
	"user_id" bigint NOT NULL,
	"orphaned" boolean DEFAULT false NOT NULL,
	"name" text NOT NULL,
	"status" text NOT NULL,
	"latest" boolean DEFAULT true NOT NULL,
	"target_url" text,
	"description" text,
	"coverage" double precision,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"started_at" timestamp (3) with time zone,
	"finished_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "iid_counters" (
	"project_id" bigint NOT NULL,
	"kind" text NOT NULL,
	"last" integer NOT NULL,
	CONSTRAINT "iid_counters_project_id_kind_pk" PRIMARY KEY("project_id","kind")
);
--> statement-breakpoint
CREATE TABLE "pipelines" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "pipelines_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"iid" integer NOT NULL,
	"sha" text NOT NULL,
	"ref" text NOT NULL,
	"tag" boolean NOT NULL,
	"status" text DEFAULT 'created' NOT NULL,
	"source" text DEFAULT 'external' NOT NULL,
	"user_id" bigint,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "pending_avatar_deletions" (
	"kind" text NOT NULL,
	"id" bigint NOT NULL,
	CONSTRAINT "pending_avatar_deletions_kind_id_pk" PRIMARY KEY("kind","id")
);
--> statement-breakpoint
CREATE TABLE "pending_repository_deletions" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"storage" text NOT NULL,
	"due_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "former_repositories" (
	"project_id" bigint NOT NULL,
	"storage" text NOT NULL,
	"left_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "former_repositories_project_id_storage_pk" PRIMARY KEY("project_id","storage")
);
--> statement-breakpoint
CREATE TABLE "repository_moves" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"from_storage" text NOT NULL,
	"to_storage" text NOT NULL,
	"run" text
);
--> statement-breakpoint
CREATE TABLE "storage_failures" (
	"storage" text PRIMARY KEY NOT NULL,
	"failures" integer NOT NULL,
	"failed_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "project_imports" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"url" text NOT NULL,
	"default_branch" text
);
--> statement-breakpoint
CREATE TABLE "project_languages" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"commit" text NOT NULL,
	"bytes" jsonb NOT NULL
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
CREATE TABLE "project_uploads" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "project_uploads_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"uploader_id" bigint,
	"secret" text NOT NULL,
	"filename" text NOT NULL,
	"size" bigint NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
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
	"open_confidential_issues_count" integer DEFAULT 0 NOT NULL,
	"import_status" text DEFAULT 'none' NOT NULL,
	"import_error" text,
	"forked_from_id" bigint,
	"commit_count" bigint DEFAULT 0 NOT NULL,
	"repository_size" bigint DEFAULT 0 NOT NULL,
	"lfs_objects_size" bigint DEFAULT 0 NOT NULL,
	"pushes_since_gc" integer DEFAULT 0 NOT NULL,
	"pushes_housekept" integer DEFAULT 0 NOT NULL,
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
CREATE TABLE "repository_checks" (
	"project_id" bigint PRIMARY KEY NOT NULL,
	"checked_at" timestamp (3) with time zone NOT NULL,
	"fault" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "ref_intents" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "ref_intents_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"actor_id" bigint,
	"origin" text NOT NULL,
	"updates" jsonb NOT NULL,
	"merge" jsonb,
	"owner" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "release_links" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "release_links_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"release_id" bigint NOT NULL,
	"name" text NOT NULL,
	"url" text NOT NULL,
	"filepath" text,
	"link_type" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "release_milestones" (
	"release_id" bigint NOT NULL,
	"milestone_id" bigint NOT NULL,
	CONSTRAINT "release_milestones_release_id_milestone_id_pk" PRIMARY KEY("release_id","milestone_id")
);
--> statement-breakpoint
CREATE TABLE "releases" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "releases_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"tag" text NOT NULL,
	"name" text,
	"description" text NOT NULL,
	"description_html" text NOT NULL,
	"author_id" bigint NOT NULL,
	"released_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL
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
CREATE TABLE "snippets" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "snippets_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"author_id" bigint NOT NULL,
	"title" text NOT NULL,
	"file_name" text NOT NULL,
	"description" text,
	"content" text NOT NULL,
	"visibility" integer NOT NULL,
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
	"sealed" text,
	"scopes" text[] NOT NULL,
	"revoked" boolean DEFAULT false NOT NULL,
	"expires_at" date,
	"valid_until" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
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
CREATE TABLE "user_addresses" (
	"user_id" bigint NOT NULL,
	"address" text NOT NULL,
	"seen_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "user_addresses_user_id_address_pk" PRIMARY KEY("user_id","address")
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
CREATE TABLE "users" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "users_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"username" text NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"state" text DEFAULT 'active' NOT NULL,
	"kind" text DEFAULT 'human' NOT NULL,
	"removal" text,
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
	"avatar_file" text,
	"avatar" text GENERATED ALWAYS AS (coalesce(avatar_file, '@' || md5(lower(btrim(email))))) STORED,
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
CREATE TABLE "variables" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "variables_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"group_id" bigint,
	"key" text NOT NULL,
	"sealed" text NOT NULL,
	"protected" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "variables_one_source" CHECK (num_nonnulls("variables"."project_id", "variables"."group_id") = 1)
);
--> statement-breakpoint
CREATE TABLE "hook_attempts" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "hook_attempts_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"delivery_id" bigint NOT NULL,
	"hook_id" bigint NOT NULL,
	"url" text NOT NULL,
	"request_headers" jsonb NOT NULL,
	"response_headers" jsonb NOT NULL,
	"response_body" text NOT NULL,
	"status" integer,
	"fault" text,
	"duration" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "hook_changes" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "hook_changes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"transaction" bigint DEFAULT pg_current_xact_id()::text::bigint NOT NULL,
	"source" text NOT NULL,
	"operation" text NOT NULL,
	"project_id" bigint,
	"actor_id" bigint,
	"before" jsonb,
	"after" jsonb,
	"hooks" boolean DEFAULT true NOT NULL,
	"mail" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "hook_deliveries" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "hook_deliveries_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"hook_id" bigint NOT NULL,
	"uuid" text NOT NULL,
	"key" text NOT NULL,
	"trigger" text NOT NULL,
	"event" text NOT NULL,
	"body" text NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "web_hooks" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "web_hooks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"group_id" bigint,
	"url" text NOT NULL,
	"sealed_url" text,
	"sealed_token" text,
	"name" text,
	"description" text,
	"events" text[] NOT NULL,
	"push_events_branch_filter" text,
	"enable_ssl_verification" boolean DEFAULT true NOT NULL,
	"recent_failures" integer DEFAULT 0 NOT NULL,
	"disabled_until" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "web_hooks_one_source" CHECK (num_nonnulls("web_hooks"."project_id", "web_hooks"."group_id") < 2)
);
--> statement-breakpoint
CREATE TABLE "account_links" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "account_links_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"digest" text NOT NULL,
	"purpose" text NOT NULL,
	"user_id" bigint NOT NULL,
	"email" text NOT NULL,
	"job_id" bigint NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mail_service" (
	"id" bigint PRIMARY KEY NOT NULL
);
--> statement-breakpoint
CREATE TABLE "notification_settings" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "notification_settings_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" bigint NOT NULL,
	"project_id" bigint,
	"namespace_id" bigint,
	"level" text NOT NULL,
	"events" text[] NOT NULL,
	"email" text,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "notification_settings_one_source" CHECK (num_nonnulls("notification_settings"."project_id", "notification_settings"."namespace_id") < 2)
);
--> statement-breakpoint
CREATE INDEX "audit_events_created_at_idx" ON "audit_events" USING btree ("created_at","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "award_emoji_key" ON "award_emoji" USING btree ("project_id","awardable_type","awardable_id","name","user_id");
--> statement-breakpoint
CREATE INDEX "award_emoji_user_id_idx" ON "award_emoji" USING btree ("user_id","awardable_type","name","awardable_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "custom_attributes_user_id_key" ON "custom_attributes" USING btree ("user_id","key") WHERE "custom_attributes"."user_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "custom_attributes_group_id_key" ON "custom_attributes" USING btree ("group_id","key") WHERE "custom_attributes"."group_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "custom_attributes_project_id_key" ON "custom_attributes" USING btree ("project_id","key") WHERE "custom_attributes"."project_id" is not null;
--> statement-breakpoint
CREATE INDEX "custom_attributes_key_idx" ON "custom_attributes" USING btree ("key",md5("value"));
--> statement-breakpoint
CREATE UNIQUE INDEX "deploy_keys_projects_project_id_key_id_key" ON "deploy_keys_projects" USING btree ("project_id","key_id");
--> statement-breakpoint
CREATE INDEX "deploy_keys_projects_key_id_idx" ON "deploy_keys_projects" USING btree ("key_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "deploy_tokens_digest_key" ON "deploy_tokens" USING btree ("digest");
--> statement-breakpoint
CREATE INDEX "deploy_tokens_project_id_idx" ON "deploy_tokens" USING btree ("project_id","id") WHERE "deploy_tokens"."project_id" is not null;
--> statement-breakpoint
CREATE INDEX "deploy_tokens_group_id_idx" ON "deploy_tokens" USING btree ("group_id","id") WHERE "deploy_tokens"."group_id" is not null;
--> statement-breakpoint
CREATE INDEX "deploy_tokens_creator_id_idx" ON "deploy_tokens" USING btree ("creator_id");
--> statement-breakpoint
CREATE INDEX "events_project_id_created_at_idx" ON "events" USING btree ("project_id","created_at","id","about_type","about_id");
--> statement-breakpoint
CREATE INDEX "events_target_idx" ON "events" USING btree ("target_type","target_id") WHERE "events"."target_id" is not null;
--> statement-breakpoint
CREATE INDEX "events_author_id_created_at_idx" ON "events" USING btree ("author_id","created_at","id","project_id","about_type","about_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "imports_url_key" ON "imports" USING btree ("url");
--> statement-breakpoint
CREATE INDEX "issue_labels_label_id_idx" ON "issue_labels" USING btree ("label_id","project_id","issue_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "issues_project_id_iid_key" ON "issues" USING btree ("project_id","iid");
--> statement-breakpoint
CREATE INDEX "issues_project_id_created_at_idx" ON "issues" USING btree ("project_id","created_at","id");
--> statement-breakpoint
CREATE INDEX "issues_project_id_updated_at_idx" ON "issues" USING btree ("project_id","updated_at","id");
--> statement-breakpoint
CREATE INDEX "issues_project_id_state_idx" ON "issues" USING btree ("project_id","state","created_at","id");
--> statement-breakpoint
CREATE INDEX "issues_project_id_due_date_idx" ON "issues" USING btree ("project_id","due_date") WHERE "issues"."due_date" is not null;
--> statement-breakpoint
CREATE INDEX "issues_project_id_confidential_idx" ON "issues" USING btree ("project_id","author_id","assignee_id") WHERE "issues"."confidential";
--> statement-breakpoint
CREATE INDEX "issues_created_at_idx" ON "issues" USING btree ("created_at","id");
--> statement-breakpoint
CREATE INDEX "issues_updated_at_idx" ON "issues" USING btree ("updated_at","id");
--> statement-breakpoint
CREATE INDEX "issues_author_id_idx" ON "issues" USING btree ("author_id","created_at","id");
--> statement-breakpoint
CREATE INDEX "issues_assignee_id_idx" ON "issues" USING btree ("assignee_id","created_at","id") WHERE "issues"."assignee_id" is not null;
--> statement-breakpoint
CREATE INDEX "issues_milestone_id_idx" ON "issues" USING btree ("milestone_id","created_at","id") WHERE "issues"."milestone_id" is not null;
--> statement-breakpoint
CREATE INDEX "issues_closed_by_id_idx" ON "issues" USING btree ("closed_by_id") WHERE "issues"."closed_by_id" is not null;
--> statement-breakpoint
CREATE INDEX "issues_moved_to_id_idx" ON "issues" USING btree ("moved_to_id") WHERE "issues"."moved_to_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "labels_project_id_title_key" ON "labels" USING btree ("project_id","title") WHERE "labels"."project_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "labels_namespace_id_title_key" ON "labels" USING btree ("namespace_id","title") WHERE "labels"."namespace_id" is not null;
--> statement-breakpoint
CREATE INDEX "labels_title_idx" ON "labels" USING btree ("title");
--> statement-breakpoint
CREATE INDEX "mentions_target_idx" ON "mentions" USING btree ("project_id","target_type","target_id","user_id");
--> statement-breakpoint
CREATE INDEX "mentions_note_id_idx" ON "mentions" USING btree ("note_id") WHERE "mentions"."note_id" is not null;
--> statement-breakpoint
CREATE INDEX "mentions_user_id_idx" ON "mentions" USING btree ("user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "milestones_project_id_title_key" ON "milestones" USING btree ("project_id","title") WHERE "milestones"."project_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "milestones_namespace_id_title_key" ON "milestones" USING btree ("namespace_id","title") WHERE "milestones"."namespace_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "milestones_project_id_iid_key" ON "milestones" USING btree ("project_id","iid") WHERE "milestones"."project_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "milestones_namespace_id_iid_key" ON "milestones" USING btree ("namespace_id","iid") WHERE "milestones"."namespace_id" is not null;
--> statement-breakpoint
CREATE INDEX "milestones_title_idx" ON "milestones" USING btree ("title");
--> statement-breakpoint
CREATE INDEX "milestones_updated_at_idx" ON "milestones" USING btree ("updated_at","id") WHERE "milestones"."project_id" is not null;
--> statement-breakpoint
CREATE INDEX "subscriptions_user_id_idx" ON "subscriptions" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX "subscriptions_project_id_idx" ON "subscriptions" USING btree ("project_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "todos_pending_key" ON "todos" USING btree ("user_id","project_id","target_type",coalesce("target_id", 0),coalesce("commit_id", ''),"action",coalesce("note_id", 0)) WHERE "todos"."state" = 'pending';
--> statement-breakpoint
CREATE INDEX "todos_user_id_idx" ON "todos" USING btree ("user_id","state","id");
--> statement-breakpoint
CREATE INDEX "todos_target_idx" ON "todos" USING btree ("project_id","target_type","target_id");
--> statement-breakpoint
CREATE INDEX "todos_author_id_idx" ON "todos" USING btree ("author_id");
--> statement-breakpoint
CREATE INDEX "todos_note_id_idx" ON "todos" USING btree ("note_id") WHERE "todos"."note_id" is not null;
--> statement-breakpoint
CREATE INDEX "jobs_due_idx" ON "jobs" USING btree ("priority","run_at","id") WHERE "jobs"."failed_at" is null;
--> statement-breakpoint
CREATE INDEX "jobs_key_idx" ON "jobs" USING btree ("kind","key") WHERE "jobs"."key" is not null and "jobs"."failed_at" is null;
--> statement-breakpoint
CREATE INDEX "jobs_running_idx" ON "jobs" USING btree ("lane") WHERE "jobs"."worker" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "gpg_keys_key_key" ON "gpg_keys" USING btree (md5("key"));
--> statement-breakpoint
CREATE UNIQUE INDEX "gpg_keys_fingerprint_key" ON "gpg_keys" USING btree ("fingerprint");
--> statement-breakpoint
CREATE UNIQUE INDEX "gpg_keys_primary_keyid_key" ON "gpg_keys" USING btree ("primary_keyid");
--> statement-breakpoint
CREATE INDEX "gpg_keys_user_id_idx" ON "gpg_keys" USING btree ("user_id","id");
--> statement-breakpoint
CREATE INDEX "gpg_keys_subkey_ids_idx" ON "gpg_keys" USING gin ("subkey_ids");
--> statement-breakpoint
CREATE UNIQUE INDEX "ssh_keys_fingerprint_key" ON "ssh_keys" USING btree ("fingerprint");
--> statement-breakpoint
CREATE UNIQUE INDEX "ssh_keys_fingerprint_sha256_key" ON "ssh_keys" USING btree ("fingerprint_sha256");
--> statement-breakpoint
CREATE INDEX "ssh_keys_user_id_idx" ON "ssh_keys" USING btree ("user_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "lfs_locks_project_id_path_key" ON "lfs_locks" USING btree ("project_id","path");
--> statement-breakpoint
CREATE INDEX "lfs_locks_user_id_idx" ON "lfs_locks" USING btree ("user_id");
--> statement-breakpoint
CREATE INDEX "lfs_object_projects_oid_idx" ON "lfs_object_projects" USING btree ("oid");
--> statement-breakpoint
CREATE INDEX "lfs_object_projects_unreferenced_idx" ON "lfs_object_projects" USING btree ("unreferenced_since") WHERE "lfs_object_projects"."unreferenced_since" is not null;
--> statement-breakpoint
CREATE INDEX "counters_until_idx" ON "counters" USING btree ("until");--> statement-breakpoint
CREATE INDEX "list_versions_kind_bucket_idx" ON "list_versions" USING btree ("kind","bucket");
--> statement-breakpoint
CREATE INDEX "ssh_keys_creator_id_idx" ON "ssh_keys" USING btree ("creator_id") WHERE "ssh_keys"."creator_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "members_user_id_project_id_key" ON "members" USING btree ("user_id","project_id") WHERE "members"."project_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "members_user_id_namespace_id_key" ON "members" USING btree ("user_id","namespace_id") WHERE "members"."namespace_id" is not null;
--> statement-breakpoint
CREATE INDEX "members_project_id_idx" ON "members" USING btree ("project_id") WHERE "members"."project_id" is not null;
--> statement-breakpoint
CREATE INDEX "members_namespace_id_idx" ON "members" USING btree ("namespace_id") WHERE "members"."namespace_id" is not null;
--> statement-breakpoint
CREATE INDEX "merge_request_commits_merge_request_id_idx" ON "merge_request_commits" USING btree ("merge_request_id","sha");
--> statement-breakpoint
CREATE INDEX "merge_request_issues_issue_id_idx" ON "merge_request_issues" USING btree ("issue_id","closes");
--> statement-breakpoint
CREATE INDEX "merge_request_labels_label_id_idx" ON "merge_request_labels" USING btree ("label_id","project_id","merge_request_id");
--> statement-breakpoint
CREATE INDEX "merge_request_versions_merge_request_id_idx" ON "merge_request_versions" USING btree ("merge_request_id","id");
--> statement-breakpoint
CREATE INDEX "merge_request_versions_head_idx" ON "merge_request_versions" USING btree ("project_id","head_commit_sha");
--> statement-breakpoint
CREATE UNIQUE INDEX "merge_requests_project_id_iid_key" ON "merge_requests" USING btree ("project_id","iid");
--> statement-breakpoint
CREATE UNIQUE INDEX "merge_requests_open_key" ON "merge_requests" USING btree ("project_id","target_branch","source_project_id","source_branch") WHERE "merge_requests"."state" = 'opened' and "merge_requests"."deleted_at" is null;
--> statement-breakpoint
CREATE INDEX "merge_requests_project_id_created_at_idx" ON "merge_requests" USING btree ("project_id","created_at","id") WHERE "merge_requests"."deleted_at" is null;
--> statement-breakpoint
CREATE INDEX "merge_requests_project_id_updated_at_idx" ON "merge_requests" USING btree ("project_id","updated_at","id") WHERE "merge_requests"."deleted_at" is null;
--> statement-breakpoint
CREATE INDEX "merge_requests_project_id_state_idx" ON "merge_requests" USING btree ("project_id","state","created_at","id") WHERE "merge_requests"."deleted_at" is null;
--> statement-breakpoint
CREATE INDEX "merge_requests_deleted_idx" ON "merge_requests" USING btree ("project_id","id") WHERE "merge_requests"."deleted_at" is not null;
--> statement-breakpoint
CREATE INDEX "merge_requests_source_idx" ON "merge_requests" USING btree ("source_project_id","source_branch");
--> statement-breakpoint
CREATE INDEX "merge_requests_created_at_idx" ON "merge_requests" USING btree ("created_at","id") WHERE "merge_requests"."deleted_at" is null;
--> statement-breakpoint
CREATE INDEX "merge_requests_updated_at_idx" ON "merge_requests" USING btree ("updated_at","id") WHERE "merge_requests"."deleted_at" is null;
--> statement-breakpoint
CREATE INDEX "merge_requests_author_id_idx" ON "merge_requests" USING btree ("author_id","created_at","id");
--> statement-breakpoint
CREATE INDEX "merge_requests_assignee_id_idx" ON "merge_requests" USING btree ("assignee_id","created_at","id") WHERE "merge_requests"."assignee_id" is not null;
--> statement-breakpoint
CREATE INDEX "merge_requests_milestone_id_idx" ON "merge_requests" USING btree ("milestone_id","created_at","id") WHERE "merge_requests"."milestone_id" is not null;
--> statement-breakpoint
CREATE INDEX "merge_requests_head_pipeline_id_idx" ON "merge_requests" USING btree ("head_pipeline_id") WHERE "merge_requests"."head_pipeline_id" is not null;
--> statement-breakpoint
CREATE INDEX "merge_requests_version_id_idx" ON "merge_requests" USING btree ("version_id") WHERE "merge_requests"."version_id" is not null;
--> statement-breakpoint
CREATE INDEX "merge_requests_merge_user_id_idx" ON "merge_requests" USING btree ("merge_user_id") WHERE "merge_requests"."merge_user_id" is not null;
--> statement-breakpoint
CREATE INDEX "merge_requests_merged_by_id_idx" ON "merge_requests" USING btree ("merged_by_id") WHERE "merge_requests"."merged_by_id" is not null;
--> statement-breakpoint
CREATE INDEX "merge_requests_unchecked_idx" ON "merge_requests" USING btree ("project_id","id") WHERE "merge_requests"."merge_status" = 'unchecked' and "merge_requests"."state" = 'opened';
--> statement-breakpoint
CREATE INDEX "merge_requests_links_due_idx" ON "merge_requests" USING btree ("id") WHERE "merge_requests"."links_due";
--> statement-breakpoint
CREATE INDEX "merge_requests_deferred_idx" ON "merge_requests" USING btree ("id") WHERE "merge_requests"."merge_when_pipeline_succeeds" and "merge_requests"."state" = 'opened';
--> statement-breakpoint
CREATE INDEX "merge_requests_rebase_user_id_idx" ON "merge_requests" USING btree ("rebase_user_id") WHERE "merge_requests"."rebase_user_id" is not null;
--> statement-breakpoint
CREATE INDEX "merge_requests_head_idx" ON "merge_requests" USING btree ("source_project_id","sha") WHERE "merge_requests"."state" = 'opened';
--> statement-breakpoint
CREATE INDEX "merge_requests_merge_commit_sha_idx" ON "merge_requests" USING btree ("project_id","merge_commit_sha") WHERE "merge_requests"."merge_commit_sha" is not null;
--> statement-breakpoint
CREATE INDEX "merge_requests_closed_by_id_idx" ON "merge_requests" USING btree ("closed_by_id") WHERE "merge_requests"."closed_by_id" is not null;
--> statement-breakpoint
CREATE INDEX "namespace_ancestry_ancestor_id_idx" ON "namespace_ancestry" USING btree ("ancestor_id","descendant_id");
--> statement-breakpoint
CREATE INDEX "namespaces_parent_id_idx" ON "namespaces" USING btree ("parent_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "namespaces_owner_id_key" ON "namespaces" USING btree ("owner_id");
--> statement-breakpoint
CREATE INDEX "namespaces_visibility_idx" ON "namespaces" USING btree ("visibility") WHERE "namespaces"."kind" = 'group';
--> statement-breakpoint
CREATE INDEX "notes_project_id_commit_id_idx" ON "notes" USING btree ("project_id","commit_id","created_at","id") WHERE "notes"."noteable_type" = 'Commit';
--> statement-breakpoint
CREATE INDEX "notes_noteable_idx" ON "notes" USING btree ("project_id","noteable_type","noteable_id","created_at","id");
--> statement-breakpoint
CREATE INDEX "notes_unresolved_idx" ON "notes" USING btree ("project_id","noteable_id","discussion_id") WHERE "notes"."noteable_type" = 'MergeRequest' and "notes"."type" is not null and "notes"."resolved_at" is null;
--> statement-breakpoint
CREATE INDEX "notes_resolved_by_id_idx" ON "notes" USING btree ("resolved_by_id") WHERE "notes"."resolved_by_id" is not null;
--> statement-breakpoint
CREATE INDEX "notes_author_id_idx" ON "notes" USING btree ("author_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "notes_mention_key" ON "notes" USING btree ("mentioned_in_project_id","mentioned_in_type",coalesce("mentioned_in_id", 0),coalesce("mentioned_in_sha", ''),"noteable_type","noteable_id") WHERE "notes"."mentioned_in_project_id" is not null;
--> statement-breakpoint
CREATE INDEX "notes_system_idx" ON "notes" USING btree ("project_id","noteable_type","noteable_id") WHERE "notes"."system" and "notes"."noteable_id" is not null;
--> statement-breakpoint
CREATE INDEX "notes_project_id_created_at_idx" ON "notes" USING btree ("project_id","created_at","id") WHERE not "notes"."system";
--> statement-breakpoint
CREATE UNIQUE INDEX "commit_statuses_latest_key" ON "commit_statuses" USING btree ("project_id","pipeline_id","name") WHERE "commit_statuses"."latest";
--> statement-breakpoint
CREATE UNIQUE INDEX "commit_statuses_open_key" ON "commit_statuses" USING btree ("project_id","pipeline_id","name","user_id") WHERE "commit_statuses"."status" in ('pending', 'running') and not "commit_statuses"."orphaned";
--> statement-breakpoint
CREATE INDEX "commit_statuses_status_idx" ON "commit_statuses" USING btree ("project_id","pipeline_id","status") WHERE "commit_statuses"."latest";
--> statement-breakpoint
CREATE INDEX "commit_statuses_pipeline_id_idx" ON "commit_statuses" USING btree ("project_id","pipeline_id","latest","id");
--> statement-breakpoint
CREATE INDEX "commit_statuses_project_id_idx" ON "commit_statuses" USING btree ("project_id","id") WHERE "commit_statuses"."latest";
--> statement-breakpoint
CREATE INDEX "commit_statuses_user_id_idx" ON "commit_statuses" USING btree ("user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "pipelines_project_id_sha_ref_key" ON "pipelines" USING btree ("project_id","sha","ref");
--> statement-breakpoint
CREATE UNIQUE INDEX "pipelines_project_id_iid_key" ON "pipelines" USING btree ("project_id","iid");
--> statement-breakpoint
CREATE INDEX "pipelines_project_id_sha_idx" ON "pipelines" USING btree ("project_id","sha","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "pipelines_project_id_id_key" ON "pipelines" USING btree ("project_id","id");
--> statement-breakpoint
CREATE INDEX "pipelines_user_id_idx" ON "pipelines" USING btree ("user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "project_shares_project_id_group_id_key" ON "project_shares" USING btree ("project_id","group_id");
--> statement-breakpoint
CREATE INDEX "project_shares_group_id_idx" ON "project_shares" USING btree ("group_id");
--> statement-breakpoint
CREATE INDEX "project_stars_user_id_idx" ON "project_stars" USING btree ("user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "project_uploads_project_id_secret_key" ON "project_uploads" USING btree ("project_id","secret");
--> statement-breakpoint
CREATE INDEX "project_uploads_uploader_id_idx" ON "project_uploads" USING btree ("uploader_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "projects_namespace_id_name_key" ON "projects" USING btree ("namespace_id",lower("name"));
--> statement-breakpoint
CREATE UNIQUE INDEX "projects_namespace_id_path_key" ON "projects" USING btree ("namespace_id",lower("path"));
--> statement-breakpoint
CREATE INDEX "projects_creator_id_idx" ON "projects" USING btree ("creator_id");
--> statement-breakpoint
CREATE INDEX "projects_created_at_idx" ON "projects" USING btree ("created_at","id");
--> statement-breakpoint
CREATE INDEX "projects_visibility_idx" ON "projects" USING btree ("visibility","created_at","id");
--> statement-breakpoint
CREATE INDEX "projects_forked_from_id_idx" ON "projects" USING btree ("forked_from_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "protected_branches_project_id_name_key" ON "protected_branches" USING btree ("project_id","name");
--> statement-breakpoint
CREATE UNIQUE INDEX "protected_tags_project_id_name_key" ON "protected_tags" USING btree ("project_id","name");
--> statement-breakpoint
CREATE INDEX "repository_checks_checked_at_idx" ON "repository_checks" USING btree ("checked_at");
--> statement-breakpoint
CREATE INDEX "ref_intents_project_id_idx" ON "ref_intents" USING btree ("project_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "release_links_release_id_name_key" ON "release_links" USING btree ("release_id","name");
--> statement-breakpoint
CREATE UNIQUE INDEX "release_links_release_id_url_key" ON "release_links" USING btree ("release_id",md5("url"));
--> statement-breakpoint
CREATE UNIQUE INDEX "release_links_release_id_filepath_key" ON "release_links" USING btree ("release_id","filepath") WHERE "release_links"."filepath" is not null;
--> statement-breakpoint
CREATE INDEX "release_milestones_milestone_id_idx" ON "release_milestones" USING btree ("milestone_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "releases_project_id_tag_key" ON "releases" USING btree ("project_id","tag");
--> statement-breakpoint
CREATE INDEX "releases_project_id_released_at_idx" ON "releases" USING btree ("project_id","released_at","id");
--> statement-breakpoint
CREATE INDEX "releases_project_id_created_at_idx" ON "releases" USING btree ("project_id","created_at","id");
--> statement-breakpoint
CREATE INDEX "releases_author_id_idx" ON "releases" USING btree ("author_id");
--> statement-breakpoint
CREATE INDEX "redirects_project_id_idx" ON "redirects" USING btree ("project_id");
--> statement-breakpoint
CREATE INDEX "routes_namespace_id_idx" ON "routes" USING btree ("namespace_id");
--> statement-breakpoint
CREATE INDEX "routes_project_id_idx" ON "routes" USING btree ("project_id");
--> statement-breakpoint
CREATE INDEX "snippets_project_id_idx" ON "snippets" USING btree ("project_id","id");
--> statement-breakpoint
CREATE INDEX "snippets_author_id_idx" ON "snippets" USING btree ("author_id","id");
--> statement-breakpoint
CREATE INDEX "snippets_created_at_idx" ON "snippets" USING btree ("created_at","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "tokens_digest_key" ON "tokens" USING btree ("digest");
--> statement-breakpoint
CREATE UNIQUE INDEX "tokens_refresh_digest_key" ON "tokens" USING btree ("refresh_digest") WHERE "tokens"."refresh_digest" is not null;
--> statement-breakpoint
CREATE INDEX "tokens_user_id_idx" ON "tokens" USING btree ("user_id","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "user_agent_details_issue_id_key" ON "user_agent_details" USING btree ("issue_id") WHERE "user_agent_details"."issue_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "user_agent_details_snippet_id_key" ON "user_agent_details" USING btree ("snippet_id") WHERE "user_agent_details"."snippet_id" is not null;
--> statement-breakpoint
CREATE INDEX "user_agent_details_user_id_idx" ON "user_agent_details" USING btree ("user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "emails_email_key" ON "emails" USING btree (lower("email"));
--> statement-breakpoint
CREATE INDEX "emails_user_id_idx" ON "emails" USING btree ("user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "identities_provider_extern_uid_key" ON "identities" USING btree ("provider",lower("extern_uid"));
--> statement-breakpoint
CREATE INDEX "identities_user_id_idx" ON "identities" USING btree ("user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "users_username_key" ON "users" USING btree (lower("username"));
--> statement-breakpoint
CREATE UNIQUE INDEX "users_email_key" ON "users" USING btree (lower("email"));
--> statement-breakpoint
CREATE UNIQUE INDEX "users_ghost_key" ON "users" USING btree ("kind") WHERE "users"."kind" = 'ghost';
--> statement-breakpoint
CREATE INDEX "users_removal_idx" ON "users" USING btree ("id") WHERE "users"."removal" is not null;
--> statement-breakpoint
CREATE INDEX "users_not_external_idx" ON "users" USING btree ("id") WHERE not "users"."external";
--> statement-breakpoint
CREATE INDEX "users_last_activity_on_idx" ON "users" USING btree ("last_activity_on","id");
--> statement-breakpoint
CREATE UNIQUE INDEX "variables_project_id_key_key" ON "variables" USING btree ("project_id","key") WHERE "variables"."project_id" is not null;
--> statement-breakpoint
CREATE UNIQUE INDEX "variables_group_id_key_key" ON "variables" USING btree ("group_id","key") WHERE "variables"."group_id" is not null;
--> statement-breakpoint
CREATE INDEX "hook_attempts_hook_id_idx" ON "hook_attempts" USING btree ("hook_id","id");
--> statement-breakpoint
CREATE INDEX "hook_attempts_delivery_id_idx" ON "hook_attempts" USING btree ("delivery_id");
--> statement-breakpoint
CREATE INDEX "hook_changes_transaction_idx" ON "hook_changes" USING btree ("transaction","id");
--> statement-breakpoint
CREATE INDEX "hook_deliveries_hook_id_idx" ON "hook_deliveries" USING btree ("hook_id","id");
--> statement-breakpoint
CREATE INDEX "web_hooks_project_id_idx" ON "web_hooks" USING btree ("project_id","id") WHERE "web_hooks"."project_id" is not null;
--> statement-breakpoint
CREATE INDEX "web_hooks_group_id_idx" ON "web_hooks" USING btree ("group_id","id") WHERE "web_hooks"."group_id" is not null;
--> statement-breakpoint
CREATE INDEX "web_hooks_system_idx" ON "web_hooks" USING btree ("id") WHERE "web_hooks"."project_id" is null and "web_hooks"."group_id" is null;
--> statement-breakpoint
CREATE UNIQUE INDEX "account_links_digest_key" ON "account_links" USING btree ("digest");
--> statement-breakpoint
CREATE INDEX "account_links_user_id_idx" ON "account_links" USING btree ("user_id","purpose");
--> statement-breakpoint
CREATE UNIQUE INDEX "notification_settings_key" ON "notification_settings" USING btree ("user_id",coalesce("project_id", 0),coalesce("namespace_id", 0));
--> statement-breakpoint
CREATE INDEX "notification_settings_project_id_idx" ON "notification_settings" USING btree ("project_id","user_id") WHERE "notification_settings"."project_id" is not null;
--> statement-breakpoint
CREATE INDEX "notification_settings_namespace_id_idx" ON "notification_settings" USING btree ("namespace_id","user_id") WHERE "notification_settings"."namespace_id" is not null;
--> statement-breakpoint
ALTER TABLE "award_emoji" ADD CONSTRAINT "award_emoji_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "award_emoji" ADD CONSTRAINT "award_emoji_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "custom_attributes" ADD CONSTRAINT "custom_attributes_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "custom_attributes" ADD CONSTRAINT "custom_attributes_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "custom_attributes" ADD CONSTRAINT "custom_attributes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "deploy_keys_projects" ADD CONSTRAINT "deploy_keys_projects_key_id_ssh_keys_id_fk" FOREIGN KEY ("key_id") REFERENCES "public"."ssh_keys"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "deploy_keys_projects" ADD CONSTRAINT "deploy_keys_projects_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "deploy_tokens" ADD CONSTRAINT "deploy_tokens_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "deploy_tokens" ADD CONSTRAINT "deploy_tokens_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "deploy_tokens" ADD CONSTRAINT "deploy_tokens_creator_id_users_id_fk" FOREIGN KEY ("creator_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "import_items" ADD CONSTRAINT "import_items_import_id_imports_id_fk" FOREIGN KEY ("import_id") REFERENCES "public"."imports"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "group_iid_counters" ADD CONSTRAINT "group_iid_counters_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "issue_labels" ADD CONSTRAINT "issue_labels_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "issue_labels" ADD CONSTRAINT "issue_labels_label_id_labels_id_fk" FOREIGN KEY ("label_id") REFERENCES "public"."labels"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_assignee_id_users_id_fk" FOREIGN KEY ("assignee_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_milestone_id_milestones_id_fk" FOREIGN KEY ("milestone_id") REFERENCES "public"."milestones"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_closed_by_id_users_id_fk" FOREIGN KEY ("closed_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "issues" ADD CONSTRAINT "issues_moved_to_id_issues_id_fk" FOREIGN KEY ("moved_to_id") REFERENCES "public"."issues"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "labels" ADD CONSTRAINT "labels_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "labels" ADD CONSTRAINT "labels_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "mentions" ADD CONSTRAINT "mentions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "mentions" ADD CONSTRAINT "mentions_note_id_notes_id_fk" FOREIGN KEY ("note_id") REFERENCES "public"."notes"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "mentions" ADD CONSTRAINT "mentions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "milestones" ADD CONSTRAINT "milestones_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "milestones" ADD CONSTRAINT "milestones_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "todos" ADD CONSTRAINT "todos_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "todos" ADD CONSTRAINT "todos_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "todos" ADD CONSTRAINT "todos_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "todos" ADD CONSTRAINT "todos_note_id_notes_id_fk" FOREIGN KEY ("note_id") REFERENCES "public"."notes"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "gpg_keys" ADD CONSTRAINT "gpg_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ssh_keys" ADD CONSTRAINT "ssh_keys_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ssh_keys" ADD CONSTRAINT "ssh_keys_creator_id_users_id_fk" FOREIGN KEY ("creator_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "lfs_locks" ADD CONSTRAINT "lfs_locks_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "lfs_locks" ADD CONSTRAINT "lfs_locks_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "lfs_object_projects" ADD CONSTRAINT "lfs_object_projects_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "lfs_object_projects" ADD CONSTRAINT "lfs_object_projects_oid_lfs_objects_oid_fk" FOREIGN KEY ("oid") REFERENCES "public"."lfs_objects"("oid") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_created_by_id_users_id_fk" FOREIGN KEY ("created_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_request_commits" ADD CONSTRAINT "merge_request_commits_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_request_issues" ADD CONSTRAINT "merge_request_issues_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_request_issues" ADD CONSTRAINT "merge_request_issues_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_request_labels" ADD CONSTRAINT "merge_request_labels_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_request_labels" ADD CONSTRAINT "merge_request_labels_label_id_labels_id_fk" FOREIGN KEY ("label_id") REFERENCES "public"."labels"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_request_versions" ADD CONSTRAINT "merge_request_versions_merge_request_id_merge_requests_id_fk" FOREIGN KEY ("merge_request_id") REFERENCES "public"."merge_requests"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_source_project_id_projects_id_fk" FOREIGN KEY ("source_project_id") REFERENCES "public"."projects"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_assignee_id_users_id_fk" FOREIGN KEY ("assignee_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_milestone_id_milestones_id_fk" FOREIGN KEY ("milestone_id") REFERENCES "public"."milestones"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_rebase_user_id_users_id_fk" FOREIGN KEY ("rebase_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_version_id_merge_request_versions_id_fk" FOREIGN KEY ("version_id") REFERENCES "public"."merge_request_versions"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_head_pipeline_id_pipelines_id_fk" FOREIGN KEY ("head_pipeline_id") REFERENCES "public"."pipelines"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_merge_user_id_users_id_fk" FOREIGN KEY ("merge_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_merged_by_id_users_id_fk" FOREIGN KEY ("merged_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "merge_requests" ADD CONSTRAINT "merge_requests_closed_by_id_users_id_fk" FOREIGN KEY ("closed_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "namespace_ancestry" ADD CONSTRAINT "namespace_ancestry_ancestor_id_namespaces_id_fk" FOREIGN KEY ("ancestor_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "namespace_ancestry" ADD CONSTRAINT "namespace_ancestry_descendant_id_namespaces_id_fk" FOREIGN KEY ("descendant_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "namespaces" ADD CONSTRAINT "namespaces_parent_id_namespaces_id_fk" FOREIGN KEY ("parent_id") REFERENCES "public"."namespaces"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "namespaces" ADD CONSTRAINT "namespaces_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_resolved_by_id_users_id_fk" FOREIGN KEY ("resolved_by_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "notes" ADD CONSTRAINT "notes_mentioned_in_project_id_projects_id_fk" FOREIGN KEY ("mentioned_in_project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD CONSTRAINT "commit_statuses_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "commit_statuses" ADD CONSTRAINT "commit_statuses_pipeline_fk" FOREIGN KEY ("project_id","pipeline_id") REFERENCES "public"."pipelines"("project_id","id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "iid_counters" ADD CONSTRAINT "iid_counters_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "pipelines" ADD CONSTRAINT "pipelines_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "pipelines" ADD CONSTRAINT "pipelines_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "project_imports" ADD CONSTRAINT "project_imports_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "project_languages" ADD CONSTRAINT "project_languages_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "project_shares" ADD CONSTRAINT "project_shares_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "project_shares" ADD CONSTRAINT "project_shares_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "project_stars" ADD CONSTRAINT "project_stars_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "project_stars" ADD CONSTRAINT "project_stars_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "project_uploads" ADD CONSTRAINT "project_uploads_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "project_uploads" ADD CONSTRAINT "project_uploads_uploader_id_users_id_fk" FOREIGN KEY ("uploader_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_creator_id_users_id_fk" FOREIGN KEY ("creator_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "projects" ADD CONSTRAINT "projects_forked_from_id_projects_id_fk" FOREIGN KEY ("forked_from_id") REFERENCES "public"."projects"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "protected_branches" ADD CONSTRAINT "protected_branches_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "protected_tags" ADD CONSTRAINT "protected_tags_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "repository_checks" ADD CONSTRAINT "repository_checks_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "ref_intents" ADD CONSTRAINT "ref_intents_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "release_links" ADD CONSTRAINT "release_links_release_id_releases_id_fk" FOREIGN KEY ("release_id") REFERENCES "public"."releases"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "release_milestones" ADD CONSTRAINT "release_milestones_release_id_releases_id_fk" FOREIGN KEY ("release_id") REFERENCES "public"."releases"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "release_milestones" ADD CONSTRAINT "release_milestones_milestone_id_milestones_id_fk" FOREIGN KEY ("milestone_id") REFERENCES "public"."milestones"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "releases" ADD CONSTRAINT "releases_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "releases" ADD CONSTRAINT "releases_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE no action ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "redirects" ADD CONSTRAINT "redirects_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "routes" ADD CONSTRAINT "routes_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "routes" ADD CONSTRAINT "routes_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "snippets" ADD CONSTRAINT "snippets_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "snippets" ADD CONSTRAINT "snippets_author_id_users_id_fk" FOREIGN KEY ("author_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "tokens" ADD CONSTRAINT "tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "user_agent_details" ADD CONSTRAINT "user_agent_details_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "user_agent_details" ADD CONSTRAINT "user_agent_details_issue_id_issues_id_fk" FOREIGN KEY ("issue_id") REFERENCES "public"."issues"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "user_agent_details" ADD CONSTRAINT "user_agent_details_snippet_id_snippets_id_fk" FOREIGN KEY ("snippet_id") REFERENCES "public"."snippets"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "emails" ADD CONSTRAINT "emails_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "identities" ADD CONSTRAINT "identities_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "user_addresses" ADD CONSTRAINT "user_addresses_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "user_statuses" ADD CONSTRAINT "user_statuses_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "variables" ADD CONSTRAINT "variables_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "variables" ADD CONSTRAINT "variables_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "hook_attempts" ADD CONSTRAINT "hook_attempts_delivery_id_hook_deliveries_id_fk" FOREIGN KEY ("delivery_id") REFERENCES "public"."hook_deliveries"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "hook_attempts" ADD CONSTRAINT "hook_attempts_hook_id_web_hooks_id_fk" FOREIGN KEY ("hook_id") REFERENCES "public"."web_hooks"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "hook_deliveries" ADD CONSTRAINT "hook_deliveries_hook_id_web_hooks_id_fk" FOREIGN KEY ("hook_id") REFERENCES "public"."web_hooks"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "web_hooks" ADD CONSTRAINT "web_hooks_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "web_hooks" ADD CONSTRAINT "web_hooks_group_id_namespaces_id_fk" FOREIGN KEY ("group_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "account_links" ADD CONSTRAINT "account_links_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "notification_settings" ADD CONSTRAINT "notification_settings_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "notification_settings" ADD CONSTRAINT "notification_settings_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "notification_settings" ADD CONSTRAINT "notification_settings_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
-- Written by hand from here on: what the schema files cannot say.
-- Searches for parts of words read an index where Postgres has pg_trgm, and the rows themselves where it has not.
DO $$ BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
EXCEPTION WHEN OTHERS THEN
  RAISE NOTICE 'pg_trgm is not available: %', SQLERRM;
END $$;
--> statement-breakpoint
DO $$ BEGIN
  IF EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_trgm') THEN
    CREATE INDEX users_name_trgm_idx ON users USING gin (name gin_trgm_ops);
    CREATE INDEX users_username_trgm_idx ON users USING gin (username gin_trgm_ops);
    CREATE INDEX users_email_trgm_idx ON users USING gin (email gin_trgm_ops);
    CREATE INDEX issues_title_trgm_idx ON issues USING gin (title gin_trgm_ops);
    CREATE INDEX issues_description_trgm_idx ON issues USING gin (description gin_trgm_ops);
    CREATE INDEX merge_requests_title_trgm_idx ON merge_requests USING gin (title gin_trgm_ops);
    CREATE INDEX merge_requests_description_trgm_idx ON merge_requests USING gin (description gin_trgm_ops);
    CREATE INDEX projects_name_trgm_idx ON projects USING gin (name gin_trgm_ops);
    CREATE INDEX projects_path_trgm_idx ON projects USING gin (path gin_trgm_ops);
    CREATE INDEX projects_description_trgm_idx ON projects USING gin (description gin_trgm_ops);
    CREATE INDEX namespaces_name_trgm_idx ON namespaces USING gin (name gin_trgm_ops);
    CREATE INDEX namespaces_path_trgm_idx ON namespaces USING gin (path gin_trgm_ops);
    CREATE INDEX milestones_title_trgm_idx ON milestones USING gin (title gin_trgm_ops);
    CREATE INDEX milestones_description_trgm_idx ON milestones USING gin (description gin_trgm_ops);
    CREATE INDEX snippets_title_trgm_idx ON snippets USING gin (title gin_trgm_ops);
    CREATE INDEX snippets_file_name_trgm_idx ON snippets USING gin (file_name gin_trgm_ops);
    CREATE INDEX snippets_content_trgm_idx ON snippets USING gin (content gin_trgm_ops);
    CREATE INDEX notes_note_trgm_idx ON notes USING gin (note gin_trgm_ops);
  END IF;
END $$;
--> statement-breakpoint
-- Counts that a crash of Postgres may forget, and rows that are updated all the time.
ALTER TABLE counters SET UNLOGGED;
--> statement-breakpoint
ALTER TABLE counters SET (fillfactor = 50);
--> statement-breakpoint
-- Versions of lists (docs/adr/0007-list-totals.md). Every transaction that changes what lists filter or sort by raises
-- their version once. It takes a row that no other transaction holds, or adds one: no writer waits for another, and
-- there are never more rows than there were transactions at once. For transactions at the level read committed.
ALTER TABLE list_versions SET (fillfactor = 50);
--> statement-breakpoint
CREATE FUNCTION raise_list_version(list text, part integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  raised text := 'roost.raised_' || list || '_' || part;
  slot bigint;
BEGIN
  IF current_setting(raised, true) = 'yes' THEN RETURN; END IF;
  SELECT id INTO slot FROM list_versions WHERE kind = list AND bucket = part ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF FOUND THEN
    UPDATE list_versions SET version = version + 1 WHERE id = slot;
  ELSE
    INSERT INTO list_versions (kind, bucket, version) VALUES (list, part, 1);
  END IF;
  -- until the end of the transaction, or of the savepoint that is rolled back
  PERFORM set_config(raised, 'yes', true);
END $$;
--> statement-breakpoint
CREATE FUNCTION list_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  FOR i IN 0 .. TG_NARGS - 1 LOOP
    PERFORM raise_list_version(TG_ARGV[i], 0);
  END LOOP;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION project_list_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN PERFORM raise_list_version(TG_ARGV[0], (OLD.project_id % 256)::integer); END IF;
  IF TG_OP <> 'DELETE' THEN PERFORM raise_list_version(TG_ARGV[0], (NEW.project_id % 256)::integer); END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Per table: the function, the kinds of lists, and the columns that these filter or sort by.
DO $$
DECLARE
  dependency record;
BEGIN
  FOR dependency IN SELECT * FROM (VALUES
    ('users', 'list_changed', 'users', 'username name email state kind external created_at'),
    ('identities', 'list_changed', 'users', 'user_id provider extern_uid'),
    ('projects', 'list_changed', 'projects groups', 'namespace_id name path description visibility archived tag_list issues_access_level
      merge_requests_access_level repository_access_level created_at'),
    ('namespaces', 'list_changed', 'projects groups', 'kind name path parent_id owner_id visibility'),
    ('namespace_ancestry', 'list_changed', 'projects groups', 'ancestor_id descendant_id'),
    ('members', 'list_changed', 'projects groups', 'user_id project_id namespace_id access_level expires_at requested_at'),
    ('project_shares', 'list_changed', 'projects groups', 'project_id group_id group_access expires_at'),
    ('issues', 'project_list_changed', 'issues', 'project_id iid title description state author_id assignee_id milestone_id confidential due_date
      created_at'),
    ('issue_labels', 'project_list_changed', 'issues', 'project_id issue_id label_id'),
    ('merge_requests', 'project_list_changed', 'merge_requests', 'project_id iid title description state author_id assignee_id milestone_id
      source_branch target_branch created_at deleted_at'),
    ('merge_request_labels', 'project_list_changed', 'merge_requests', 'project_id merge_request_id label_id')
  ) AS d (of, function, kinds, columns) LOOP
    EXECUTE format('CREATE TRIGGER list_versions_rows AFTER INSERT OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION %I(%s)',
      dependency.of, dependency.function, (SELECT string_agg(quote_literal(k), ', ') FROM regexp_split_to_table(dependency.kinds, ' ') k));
    -- a column that is only named in an update has not changed
    EXECUTE (SELECT format('CREATE TRIGGER list_versions_values AFTER UPDATE OF %s ON %I FOR EACH ROW WHEN ((%s) IS DISTINCT FROM (%s)) EXECUTE FUNCTION %I(%s)',
        string_agg(quote_ident(c), ', '), dependency.of, string_agg('OLD.' || quote_ident(c), ', '), string_agg('NEW.' || quote_ident(c), ', '),
        dependency.function, (SELECT string_agg(quote_literal(k), ', ') FROM regexp_split_to_table(dependency.kinds, ' ') k))
      FROM regexp_split_to_table(dependency.columns, '\s+') c);
  END LOOP;
END $$;
--> statement-breakpoint
-- A deploy key that opens no project any more is removed (DK-6), also when the project was.
CREATE FUNCTION drop_deploy_key() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  DELETE FROM ssh_keys WHERE id = OLD.key_id AND user_id IS NULL AND NOT EXISTS (SELECT FROM deploy_keys_projects WHERE key_id = OLD.key_id);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER deploy_keys_projects_drop_key AFTER DELETE ON deploy_keys_projects FOR EACH ROW EXECUTE FUNCTION drop_deploy_key();
--> statement-breakpoint
-- Webhooks and mail (docs/adr/0017-webhook-outbox.md, 0018-mail.md): whoever listens is told of a change by a row of
-- hook_changes, which is written in the transaction of the change. Where nobody listens and no mail is sent, that costs
-- a look at two empty tables.
CREATE FUNCTION has_hook(project bigint, wanted text[]) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM web_hooks) THEN RETURN false; END IF;
  RETURN EXISTS (SELECT FROM web_hooks h WHERE h.project_id IS NULL AND h.group_id IS NULL AND h.events && wanted)
    OR project IS NOT NULL AND (EXISTS (SELECT FROM web_hooks h WHERE h.project_id = project AND h.events && wanted)
      OR EXISTS (SELECT FROM projects p JOIN namespace_ancestry a ON a.descendant_id = p.namespace_id JOIN web_hooks h ON h.group_id = a.ancestor_id
        WHERE p.id = project AND h.events && wanted));
END $$;
--> statement-breakpoint
CREATE FUNCTION tell_hooks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  project bigint;
  actor bigint;
  told boolean;
  mailed boolean := false;
BEGIN
  IF NOT EXISTS (SELECT FROM web_hooks) AND NOT EXISTS (SELECT FROM mail_service) THEN RETURN NULL; END IF;
  -- what an import brings happened elsewhere, long ago
  IF current_setting('roost.silent', true) = 'yes' THEN RETURN NULL; END IF;
  -- who acts is set for the transaction; without them it is no change of its own, but the effect of another
  actor := nullif(current_setting('roost.actor', true), '')::bigint;
  IF actor IS NULL AND TG_ARGV[1] = 'in a name' THEN RETURN NULL; END IF;
  IF TG_ARGV[0] <> 'system' OR TG_TABLE_NAME = 'members' THEN project := coalesce(NEW.project_id, OLD.project_id); END IF;
  told := has_hook(project, string_to_array(TG_ARGV[0], ' '));
  -- a hook of a group tells of its subgroups
  IF NOT told AND TG_TABLE_NAME = 'namespaces' THEN
    told := EXISTS (SELECT FROM namespace_ancestry a JOIN web_hooks h ON h.group_id = a.ancestor_id
      WHERE a.descendant_id = coalesce(NEW.parent_id, OLD.parent_id) AND 'subgroup' = ANY (h.events));
  END IF;
  -- what somebody may be mailed about (ML-4, ML-6)
  IF TG_OP <> 'DELETE' AND EXISTS (SELECT FROM mail_service) THEN
    IF TG_TABLE_NAME IN ('issue_labels', 'merge_request_labels') THEN
      mailed := EXISTS (SELECT FROM subscriptions s WHERE s.target_type = 'Label' AND s.target_id = NEW.label_id AND s.subscribed);
    ELSIF TG_OP = 'INSERT' THEN
      mailed := TG_TABLE_NAME IN ('issues', 'merge_requests', 'notes', 'releases');
    ELSIF TG_TABLE_NAME IN ('issues', 'merge_requests') THEN
      mailed := (OLD.state, OLD.assignee_id, OLD.title, OLD.description) IS DISTINCT FROM (NEW.state, NEW.assignee_id, NEW.title, NEW.description);
    ELSIF TG_TABLE_NAME = 'pipelines' THEN
      mailed := NEW.status IN ('success', 'failed');
    END IF;
  END IF;
  IF told OR mailed THEN
    INSERT INTO hook_changes (source, operation, project_id, actor_id, before, after, hooks, mail)
    VALUES (TG_TABLE_NAME, TG_OP, project, actor, CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) - 'password_hash' END,
      CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) - 'password_hash' END, told, mailed);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Per table: what listens, which operations are told, whether only those in somebody's name are, the columns whose
-- changes are told, and the rows that are not.
DO $$
DECLARE
  told record;
BEGIN
  FOR told IN SELECT * FROM (VALUES
    ('issues', 'issues confidential_issues', 'INSERT', '', 'true'),
    ('issues', 'issues confidential_issues', 'UPDATE', 'title description state assignee_id milestone_id confidential due_date discussion_locked
      time_estimate total_time_spent moved_to_id', 'true'),
    ('issue_labels', 'issues confidential_issues', 'INSERT OR DELETE', '', 'true'),
    ('merge_requests', 'merge_requests', 'INSERT', '', 'true'),
    ('merge_requests', 'merge_requests', 'UPDATE', 'title description state assignee_id milestone_id target_branch discussion_locked time_estimate
      total_time_spent sha', 'NEW.deleted_at IS NULL'),
    ('merge_request_labels', 'merge_requests', 'INSERT OR DELETE', '', 'true'),
    ('notes', 'note confidential_note', 'INSERT', '', 'NOT NEW.system'),
    ('notes', 'note confidential_note', 'UPDATE', 'note', 'NOT NEW.system'),
    ('pipelines', 'pipeline', 'UPDATE', 'status', 'true'),
    ('releases', 'releases', 'INSERT OR DELETE', '', 'true'),
    ('releases', 'releases', 'UPDATE', 'name description released_at', 'true'),
    ('members', 'system', 'INSERT', '', 'NEW.requested_at IS NULL'),
    ('members', 'system', 'DELETE', '', 'OLD.requested_at IS NULL'),
    ('members', 'system', 'UPDATE', 'access_level requested_at', 'NEW.requested_at IS NULL'),
    ('users', 'system', 'INSERT', '', 'NEW.kind = ''human'''),
    ('users', 'system', 'DELETE', '', 'OLD.kind = ''human'''),
    ('users', 'system', 'UPDATE', 'username', 'true'),
    ('namespaces', 'system', 'INSERT', '', 'NEW.kind = ''group'''),
    ('namespaces', 'system', 'DELETE', '', 'OLD.kind = ''group'''),
    ('namespaces', 'system', 'UPDATE', 'path', 'NEW.kind = ''group'''),
    ('projects', 'system', 'INSERT OR DELETE', '', 'true'),
    ('projects', 'system', 'UPDATE', 'name path namespace_id description visibility archived', 'true'),
    ('ssh_keys', 'system', 'INSERT OR DELETE', '', 'true')
  ) AS t (of, events, operations, columns, condition) LOOP
    EXECUTE (SELECT format('CREATE TRIGGER tell_hooks_%s AFTER %s%s ON %I FOR EACH ROW WHEN (%s AND %s) EXECUTE FUNCTION tell_hooks(%L, %L)',
        lower(replace(told.operations, ' ', '_')), told.operations, CASE WHEN told.columns = '' THEN '' ELSE ' OF ' || string_agg(quote_ident(c), ', ') END,
        told.of, told.condition,
        -- a column that is only named in an update has not changed
        CASE WHEN told.columns = '' THEN 'true'
          ELSE format('(%s) IS DISTINCT FROM (%s)', string_agg('OLD.' || quote_ident(c), ', '), string_agg('NEW.' || quote_ident(c), ', ')) END,
        told.events,
        CASE WHEN told.of IN ('issue_labels', 'merge_request_labels') OR told.of IN ('issues', 'merge_requests') AND told.operations = 'UPDATE'
          THEN 'in a name' ELSE '' END)
      FROM regexp_split_to_table(told.columns, '\s+') c);
  END LOOP;
END $$;
--> statement-breakpoint
-- What has been written down is told by a job of the same transaction. Moves of a wiki that are only about to happen
-- are judged when whoever makes them must be done or dead.
CREATE FUNCTION enqueue_hooks() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  enqueued boolean := false;
BEGIN
  IF NEW.hooks AND current_setting('roost.hooks_queued', true) IS DISTINCT FROM NEW.transaction::text THEN
    INSERT INTO jobs (kind, payload, run_at) VALUES ('hooks: dispatch', jsonb_build_object('transaction', NEW.transaction::text),
      pg_catalog.now() + CASE NEW.source WHEN 'wiki_intents' THEN interval '1 minute' ELSE interval '0' END);
    PERFORM set_config('roost.hooks_queued', NEW.transaction::text, true);
    enqueued := true;
  END IF;
  IF NEW.mail AND current_setting('roost.mail_queued', true) IS DISTINCT FROM NEW.transaction::text THEN
    INSERT INTO jobs (kind, payload, run_at) VALUES ('mail: dispatch', jsonb_build_object('transaction', NEW.transaction::text), pg_catalog.now());
    PERFORM set_config('roost.mail_queued', NEW.transaction::text, true);
    enqueued := true;
  END IF;
  IF enqueued THEN
    -- the process that makes the change wakes its worker when it has been committed
    RAISE NOTICE USING MESSAGE = 'roost: a job was enqueued', ERRCODE = '00R01';
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER hook_changes_enqueue AFTER INSERT OR UPDATE OF source ON hook_changes FOR EACH ROW EXECUTE FUNCTION enqueue_hooks();
