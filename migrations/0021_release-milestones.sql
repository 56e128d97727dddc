CREATE TABLE "release_milestones" (
	"release_id" bigint NOT NULL,
	"milestone_id" bigint NOT NULL,
	CONSTRAINT "release_milestones_release_id_milestone_id_pk" PRIMARY KEY("release_id","milestone_id")
);
--> statement-breakpoint
ALTER TABLE "release_milestones" ADD CONSTRAINT "release_milestones_release_id_releases_id_fk" FOREIGN KEY ("release_id") REFERENCES "public"."releases"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "release_milestones" ADD CONSTRAINT "release_milestones_milestone_id_milestones_id_fk" FOREIGN KEY ("milestone_id") REFERENCES "public"."milestones"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "release_milestones_milestone_id_idx" ON "release_milestones" USING btree ("milestone_id");