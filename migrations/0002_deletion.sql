DROP INDEX "projects_created_at_idx";--> statement-breakpoint
DROP INDEX "projects_visibility_idx";--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "marked_for_deletion_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "namespaces" ADD COLUMN "deletion_due_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "project_shares" ADD COLUMN "suspended" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "marked_for_deletion_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "projects" ADD COLUMN "deletion_due_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "audit_events_target_idx" ON "audit_events" USING btree ("target_type","target_id","created_at","id");--> statement-breakpoint
CREATE INDEX "namespaces_deletion_due_at_idx" ON "namespaces" USING btree ("deletion_due_at") WHERE "namespaces"."deletion_due_at" is not null;--> statement-breakpoint
CREATE INDEX "projects_deletion_due_at_idx" ON "projects" USING btree ("deletion_due_at") WHERE "projects"."deletion_due_at" is not null;--> statement-breakpoint
CREATE INDEX "projects_created_at_idx" ON "projects" USING btree ("created_at","id","marked_for_deletion_at");--> statement-breakpoint
CREATE INDEX "projects_visibility_idx" ON "projects" USING btree ("visibility","created_at","id","marked_for_deletion_at");
--> statement-breakpoint
-- What lists filter by has changed: their versions are raised by these columns too (docs/adr/0007-list-totals.md).
DO $$
DECLARE
  dependency record;
BEGIN
  FOR dependency IN SELECT * FROM (VALUES
    ('projects', 'namespace_id name path description visibility archived tag_list issues_access_level merge_requests_access_level
      repository_access_level created_at marked_for_deletion_at'),
    ('namespaces', 'kind name path parent_id owner_id visibility marked_for_deletion_at'),
    ('project_shares', 'project_id group_id group_access expires_at suspended')
  ) AS d (of, columns) LOOP
    EXECUTE format('DROP TRIGGER list_versions_values ON %I', dependency.of);
    EXECUTE (SELECT format('CREATE TRIGGER list_versions_values AFTER UPDATE OF %s ON %I FOR EACH ROW WHEN ((%s) IS DISTINCT FROM (%s)) EXECUTE FUNCTION list_changed(''projects'', ''groups'')',
        string_agg(quote_ident(c), ', '), dependency.of, string_agg('OLD.' || quote_ident(c), ', '), string_agg('NEW.' || quote_ident(c), ', '))
      FROM regexp_split_to_table(dependency.columns, '\s+') c);
  END LOOP;
END $$;
