CREATE TABLE "board_lists" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "board_lists_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"board_id" bigint NOT NULL,
	"label_id" bigint,
	"user_id" bigint,
	"milestone_id" bigint,
	"position" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "board_lists_one_kind" CHECK (num_nonnulls("board_lists"."label_id", "board_lists"."user_id", "board_lists"."milestone_id") = 1)
);
--> statement-breakpoint
CREATE TABLE "boards" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "boards_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"project_id" bigint,
	"namespace_id" bigint,
	"name" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "boards_one_source" CHECK (("boards"."project_id" is null) <> ("boards"."namespace_id" is null))
);
--> statement-breakpoint
ALTER TABLE "board_lists" ADD CONSTRAINT "board_lists_board_id_boards_id_fk" FOREIGN KEY ("board_id") REFERENCES "public"."boards"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_lists" ADD CONSTRAINT "board_lists_label_id_labels_id_fk" FOREIGN KEY ("label_id") REFERENCES "public"."labels"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_lists" ADD CONSTRAINT "board_lists_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "board_lists" ADD CONSTRAINT "board_lists_milestone_id_milestones_id_fk" FOREIGN KEY ("milestone_id") REFERENCES "public"."milestones"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "boards" ADD CONSTRAINT "boards_project_id_projects_id_fk" FOREIGN KEY ("project_id") REFERENCES "public"."projects"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "boards" ADD CONSTRAINT "boards_namespace_id_namespaces_id_fk" FOREIGN KEY ("namespace_id") REFERENCES "public"."namespaces"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "board_lists_board_id_idx" ON "board_lists" USING btree ("board_id","position","id");--> statement-breakpoint
CREATE UNIQUE INDEX "board_lists_label_id_key" ON "board_lists" USING btree ("label_id","board_id") WHERE "board_lists"."label_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "board_lists_user_id_key" ON "board_lists" USING btree ("user_id","board_id") WHERE "board_lists"."user_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "board_lists_milestone_id_key" ON "board_lists" USING btree ("milestone_id","board_id") WHERE "board_lists"."milestone_id" is not null;--> statement-breakpoint
CREATE INDEX "boards_project_id_idx" ON "boards" USING btree ("project_id","id") WHERE "boards"."project_id" is not null;--> statement-breakpoint
CREATE INDEX "boards_namespace_id_idx" ON "boards" USING btree ("namespace_id","id") WHERE "boards"."namespace_id" is not null;