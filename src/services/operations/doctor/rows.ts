import { type SQL, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import {
  artifacts,
  awardEmoji,
  issues,
  lfsObjectProjects,
  lfsObjects,
  mergeRequests,
  notes,
  packageFiles,
  projectStars,
  projects,
} from '../../../db/schema/index.js'
import type { Check } from './fault.js'

interface Counter {
  kind: string
  table: typeof projects | typeof issues | typeof mergeRequests
  column: string
  /** SQL of the right value, for a row with the alias `r`. */
  expected: SQL
}

const openIssues = (confidential: boolean) =>
  sql`(select count(*) from ${issues} i where i.project_id = r.id and i.state = 'opened' and i.confidential = ${confidential})`
const notesOf = (type: string) =>
  sql`(select count(*) from ${notes} n where n.project_id = r.project_id and n.noteable_type = ${type} and n.noteable_id = r.id and not n.system)`
const awards = (type: string, name: string) =>
  sql`(select count(*) from ${awardEmoji} a where a.project_id = r.project_id and a.awardable_type = ${type} and a.awardable_id = r.id and a.name = ${name})`
const noteAndVoteCounters = (kind: string, table: typeof issues | typeof mergeRequests, type: string): Counter[] => [
  { kind, table, column: 'user_notes_count', expected: notesOf(type) },
  { kind, table, column: 'upvotes', expected: awards(type, 'thumbsup') },
  { kind, table, column: 'downvotes', expected: awards(type, 'thumbsdown') },
]

/** Counts of other rows that rows store. */
const COUNTERS: Counter[] = [
  { kind: 'project', table: projects, column: 'star_count', expected: sql`(select count(*) from ${projectStars} s where s.project_id = r.id)` },
  { kind: 'project', table: projects, column: 'forks_count', expected: sql`(select count(*) from ${projects} f where f.forked_from_id = r.id)` },
  {
    kind: 'project',
    table: projects,
    column: 'lfs_objects_size',
    expected: sql`(select coalesce(sum(o.size), 0) from ${lfsObjectProjects} l join ${lfsObjects} o on o.oid = l.oid where l.project_id = r.id)`,
  },
  {
    kind: 'project',
    table: projects,
    column: 'job_artifacts_size',
    expected: sql`(select coalesce(sum(a.size), 0) from ${artifacts} a where a.project_id = r.id)`,
  },
  {
    kind: 'project',
    table: projects,
    column: 'packages_size',
    expected: sql`(select coalesce(sum(f.size), 0) from ${packageFiles} f where f.project_id = r.id)`,
  },
  { kind: 'project', table: projects, column: 'open_issues_count', expected: openIssues(false) },
  { kind: 'project', table: projects, column: 'open_confidential_issues_count', expected: openIssues(true) },
  ...noteAndVoteCounters('issue', issues, 'Issue'),
  ...noteAndVoteCounters('merge request', mergeRequests, 'MergeRequest'),
  {
    kind: 'merge request',
    table: mergeRequests,
    column: 'unresolved_discussions_count',
    expected: sql`(select count(distinct n.discussion_id) from ${notes} n where n.project_id = r.project_id and n.noteable_type = 'MergeRequest'
      and n.noteable_id = r.id and n.type is not null and n.resolved_at is null and not n.system)`,
  },
]

/** Counters with wrong values. */
export async function* counters(ctx: Context): Check {
  for (const { kind, table, column, expected } of COUNTERS) {
    const name = sql.identifier(column)
    const { rows } = await ctx.db.write.execute<{ id: string; stored: number; found: string }>(
      sql`select r.id, r.${name} as stored, t.found from ${table} r cross join lateral (select ${expected} as found) t where r.${name} <> t.found order by r.id`,
    )
    for (const { id, stored, found } of rows) {
      const repair = async () => {
        // recounted under a lock, because the service may be running
        await ctx.db.transaction(async (tx) => {
          await tx.execute(sql`select 1 from ${table} r where r.id = ${id} for update`)
          await tx.execute(sql`update ${table} r set ${name} = ${expected} where r.id = ${id}`)
        })
        return 'counted again'
      }
      yield { kind: 'wrong counter', of: `${kind} ${id}`, text: `${column} is ${stored}, and there are ${found}`, repair }
    }
  }
}
