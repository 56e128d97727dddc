CREATE TABLE "pipeline_schedule_variables" (
	"schedule_id" bigint NOT NULL,
	"key" text NOT NULL,
	"sealed" text NOT NULL,
	"file" boolean DEFAULT false NOT NULL,
	CONSTRAINT "pipeline_schedule_variables_schedule_id_key_pk" PRIMARY KEY("schedule_id","key")
);
--> statement-breakpoint
CREATE TABLE "pipeline_schedules" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "pipeline_schedules_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"owner_id" bigint,
	"description" text NOT NULL,
	"ref" text NOT NULL,
	"cron" text NOT NULL,
	"cron_timezone" text NOT NULL,
	"active" boolean NOT NULL,
	"next_run_at" timestamp (3) with time zone NOT NULL,
	"last_fault" text,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "pipeline_triggers" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "pipeline_triggers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint NOT NULL,
	"owner_id" bigint NOT NULL,
	"description" text NOT NULL,
	"digest" text NOT NULL,
	"sealed" text,
	"last_used_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "pipelines" ADD COLUMN "schedule_id" bigint;--> statement-breakpoint
ALTER TABLE "pipeline_schedule_variables" ADD CONSTRAINT "pipeline_schedule_variables_schedule_id_pipeline_schedules_id_fk" FOREIGN KEY ("schedule_id") REFERENCES "public"."pipeline_schedules"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pipeline_schedules" ADD CONSTRAINT "pipeline_schedules_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pipeline_schedules" ADD CONSTRAINT "pipeline_schedules_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pipeline_triggers" ADD CONSTRAINT "pipeline_triggers_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "pipeline_triggers" ADD CONSTRAINT "pipeline_triggers_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "pipeline_schedules_project_id_idx" ON "pipeline_schedules" USING btree ("project_id","id");--> statement-breakpoint
CREATE INDEX "pipeline_schedules_owner_id_idx" ON "pipeline_schedules" USING btree ("owner_id");--> statement-breakpoint
CREATE INDEX "pipeline_schedules_due_idx" ON "pipeline_schedules" USING btree ("next_run_at") WHERE "pipeline_schedules"."active";--> statement-breakpoint
CREATE UNIQUE INDEX "pipeline_triggers_digest_key" ON "pipeline_triggers" USING btree ("digest");--> statement-breakpoint
CREATE INDEX "pipeline_triggers_project_id_idx" ON "pipeline_triggers" USING btree ("project_id","id");--> statement-breakpoint
CREATE INDEX "pipeline_triggers_owner_id_idx" ON "pipeline_triggers" USING btree ("owner_id");--> statement-breakpoint
ALTER TABLE "pipelines" ADD CONSTRAINT "pipelines_schedule_id_pipeline_schedules_id_fk" FOREIGN KEY ("schedule_id") REFERENCES "public"."pipeline_schedules"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "pipelines_schedule_id_idx" ON "pipelines" USING btree ("schedule_id","id");