import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Caller } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import { readableCode, type ViewerKind, viewerKindOf, visibleIssues, visibleMergeRequests, visibleProjects } from '../../access/visible.js'
import type { Context } from '../../context.js'
import type { Sender, Transaction } from '../../db/client.js'
import { issues, type MENTIONERS, mergeRequests, namespaces, notes, projects } from '../../db/schema/index.js'
import { batchStatement } from '../../db/statement.js'
import { type IssueReference, referencesIn } from '../../rules/references.js'
import { projectResolver } from './referenced-issues.js'
import type { Target } from './subscriptions.js'

/** Where something was mentioned: an issue or merge request, including its notes, or a commit. */
export interface Mentioner {
  type: (typeof MENTIONERS)[number]
  project_id: number
  /** Null for a commit, which has a `sha`, and for a row that the statement itself creates. */
  id: number | null
  sha: string | null
}

/** Maximum number of recorded mentions per text; further ones are ignored. */
const MAX_MENTIONS = 100

/** The distinct iids of references of one kind to one project. */
const numbersOf = (references: IssueReference[], kind: IssueReference['kind'], project: string | null) => [
  ...new Set(references.flatMap((each) => (each.kind === kind && each.project === project ? [each.number] : []))),
]

/** The references to issues and merge requests in a text. */
export const issueReferencesIn = async (ctx: Pick<Context, 'cpu' | 'links'>, text: string): Promise<IssueReference[]> =>
  (await referencesIn(ctx.cpu.slices, text, ctx.links.base))
    .filter((each): each is IssueReference => each.kind === 'issue' || each.kind === 'merge_request')
    .slice(0, MAX_MENTIONS)

/**
 * The issues and merge requests that references resolve to for the author: those they may see, in projects that are not
 * archived (IS-23, AC-12).
 */
export async function resolveMentions(
  ctx: Context,
  caller: Pick<Caller, 'user'>,
  subject: ProjectSubject,
  references: IssueReference[],
): Promise<Target[]> {
  if (references.length === 0) return []
  const projectOf = projectResolver(ctx, caller, subject)
  const lookups: { project: number; kind: string; iid: number }[] = []
  for (const name of new Set(references.map(({ project }) => project))) {
    const inProject = await projectOf(name)
    if (!inProject || inProject.project.archived) continue
    for (const kind of ['issue', 'merge_request'] as const)
      for (const iid of numbersOf(references, kind, name)) lookups.push({ project: inProject.project.id, kind, iid })
  }
  if (lookups.length === 0) return []
  const viewerKind = viewerKindOf(caller.user)
  const user = sql`${caller.user?.id ?? 0}::bigint`
  const lookupRows = sql`jsonb_to_recordset(${JSON.stringify(lookups)}::jsonb) as w (project bigint, kind text, iid integer)`
  // in SQL: the rows to look up are a record set of JSON, which the builder does not have
  const { rows } = await ctx.db.write.execute<{ type: Target['type']; id: string; project_id: string }>(sql`
    select 'Issue' as type, ${issues.id}, ${issues.project_id} from ${lookupRows}
      join ${issues} on ${issues.project_id} = w.project and ${issues.iid} = w.iid join ${projects} on ${projects.id} = ${issues.project_id}
      where w.kind = 'issue' and ${visibleIssues(viewerKind, user)}
    union all select 'MergeRequest', ${mergeRequests.id}, ${mergeRequests.project_id} from ${lookupRows}
      join ${mergeRequests} on ${mergeRequests.project_id} = w.project and ${mergeRequests.iid} = w.iid
      join ${projects} on ${projects.id} = ${mergeRequests.project_id}
      where w.kind = 'merge_request' and ${visibleMergeRequests(viewerKind, user)}
    order by 1, 2`)
  return rows.map(({ type, id, project_id }) => ({ type, id: Number(id), project_id: Number(project_id) }))
}

/**
 * The rows for `insertCrossReferences` as JSON. They contain no name of the mentioner: whether a reader may see it is
 * decided when the note is read.
 */
export const crossReferenceRows = (mentioner: Mentioner, targets: Target[]): string =>
  JSON.stringify(
    targets
      .filter(({ type, id }) => type !== mentioner.type || id !== mentioner.id)
      .map(({ type, id, project_id }) => ({
        type,
        id,
        project_id,
        in_type: mentioner.type,
        in_project: mentioner.project_id,
        in_id: mentioner.id,
        sha: mentioner.sha,
      })),
  )

/**
 * Inserts one note per target and mentioner, however often it is mentioned. The target row does not change, so that
 * users who may not see the mentioner notice nothing. `mentioner` is the mentioner's id.
 */
export const insertCrossReferences = (
  rows: SQL,
  author: SQL,
  now: SQL,
  mentioner: SQL = sql`m.in_id`,
): SQL => sql`insert into ${notes} (project_id, noteable_type, noteable_id, author_id, note, system,
    mentioned_in_type, mentioned_in_project_id, mentioned_in_id, mentioned_in_sha, created_at, updated_at)
  select m.project_id, m.type, m.id, ${author}, 'mentioned elsewhere', true, m.in_type, m.in_project, ${mentioner}, m.sha, ${now}, ${now}
  from jsonb_to_recordset(${rows}::jsonb) as m (project_id bigint, type text, id bigint, in_type text, in_project bigint, in_id bigint, sha text)
  order by m.in_project, m.in_type, m.in_id, m.sha, m.type, m.id
  on conflict do nothing`

/** Records on each target where it was mentioned (IS-23, NT-6). */
export async function recordCrossReferences(
  tx: Pick<Transaction, 'execute'>,
  mentioner: Mentioner,
  targets: Target[],
  authorId: number,
  now: Date,
): Promise<void> {
  if (targets.length > 0)
    await tx.execute(
      insertCrossReferences(sql`${crossReferenceRows(mentioner, targets)}`, sql`${authorId}::bigint`, sql`${now.toISOString()}::timestamptz`),
    )
}

const insertStep = batchStatement('tell of mentions', (db) =>
  db
    .with(
      db
        .$with('inserted', {})
        .as(
          insertCrossReferences(
            sql`${sql.placeholder('rows')}`,
            sql`${sql.placeholder('author')}::bigint`,
            sql`${sql.placeholder('now')}::timestamptz`,
          ),
        ),
    )
    .select({ one: sql<number>`1` })
    .from(sql`(select 1) one`),
)

/** `recordCrossReferences` as part of a batch. */
export const insertCrossReferencesOn = (on: Sender, mentioner: Mentioner, targets: Target[], authorId: number, now: Date) =>
  targets.length === 0
    ? []
    : [insertStep(on, null).execute({ rows: crossReferenceRows(mentioner, targets), author: authorId, now: now.toISOString() })]

/**
 * SQL condition on `notes`: whether a user may see the mentioner of a note; true for notes without one (SEC-35, SEC-36,
 * SEC-122).
 */
export const canSeeMentioner = (viewerKind: ViewerKind, userId: SQLWrapper): SQL => sql`case ${notes.mentioned_in_type}
    when 'Issue' then exists (select 1 from ${issues} join ${projects} on ${projects.id} = ${issues.project_id}
      where ${issues.id} = ${notes.mentioned_in_id} and ${visibleIssues(viewerKind, userId)})
    when 'MergeRequest' then exists (select 1 from ${mergeRequests} join ${projects} on ${projects.id} = ${mergeRequests.project_id}
      where ${mergeRequests.id} = ${notes.mentioned_in_id} and ${visibleMergeRequests(viewerKind, userId)})
    when 'Commit' then exists (select 1 from ${projects}
      where ${projects.id} = ${notes.mentioned_in_project_id} and ${visibleProjects(viewerKind, userId)} and ${readableCode(viewerKind, userId)})
    else true end`

/** SQL over `notes`: the text of a note, with the current name of its mentioner. */
export const textOfNote = (): SQL<string> => {
  const project = sql`(select case when p.id = ${notes.project_id} then '' else n.full_path || '/' || p.path end
    from ${projects} p join ${namespaces} n on n.id = p.namespace_id where p.id = ${notes.mentioned_in_project_id})`
  return sql<string>`case ${notes.mentioned_in_type}
    when 'Issue' then 'mentioned in issue ' || ${project} || (select '#' || i.iid from ${issues} i where i.id = ${notes.mentioned_in_id})
    when 'MergeRequest' then 'mentioned in merge request ' || ${project} || (select '!' || r.iid from ${mergeRequests} r where r.id = ${notes.mentioned_in_id})
    when 'Commit' then 'mentioned in commit ' || coalesce(nullif(${project}, '') || '@', '') || ${notes.mentioned_in_sha}
    else ${notes.note} end`
}
