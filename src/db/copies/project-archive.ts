import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { getTableColumns, getTableName, is, sql } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import type { Transaction } from '../client.js'
import * as schema from '../schema/index.js'
import { TRANSACTION_SETTINGS } from '../sql/names.js'

/** What a reference that cannot be kept costs: the reference, the row, or its author. */
type Loss = 'null' | 'row' | 'ghost'
type Target = string | { type: string; of: Record<string, string> }

interface ArchivedTable {
  /** The rows of the project with the id `$`; by default those with this `project_id`. */
  where?: string
  /** Columns that are written otherwise than they are. */
  as?: Record<string, string>
  /** The columns that refer to rows of other tables, and to which. */
  refers?: Record<string, [Target, Loss]>
  /** The columns with the ids of several users, and one that has a time for each of them. */
  people?: Record<string, string | null>
  /** Columns of earlier versions, with their types, and those which have their values as the only ones today. */
  formerly?: Record<string, { type: string; now: string }>
  /** Archives of earlier versions do not have it. */
  isLater?: boolean
}

const OF_TEXTS = { Issue: 'issues', MergeRequest: 'merge_requests', Snippet: 'snippets', Note: 'notes', Milestone: 'milestones', Label: 'labels' }
const author: Record<string, [Target, Loss]> = { author_id: ['users', 'ghost'] }
const ofProject = (alias: string) => `exists (select from issues i where i.project_id = $ and i.${alias}_id = t.id)
  or exists (select from merge_requests m where m.project_id = $ and m.${alias}_id = t.id)`

/**
 * The tables of an archive, those first that others refer to. `users` are those that rows refer to. What belongs to a
 * person's view (todos, drafts, viewed files), to another part of the instance (shares, stars, deploy keys) or is secret
 * (variables, webhooks, deploy tokens) is left out. Labels and milestones of groups become the project's.
 */
export const ARCHIVED: Record<string, ArchivedTable> = {
  projects: { where: 't.id = $', refers: { creator_id: ['users', 'null'] } },
  labels: {
    where: `t.project_id = $ or exists (select from issue_labels l where l.project_id = $ and l.label_id = t.id)
      or exists (select from merge_request_labels l where l.project_id = $ and l.label_id = t.id)`,
    as: {
      project_id: '$',
      namespace_id: 'null',
      title: `case when t.project_id is null and exists (select from labels o where o.project_id = $ and o.title = t.title) then t.title || ' (group)' else t.title end`,
    },
  },
  milestones: {
    where: `t.project_id = $ or ${ofProject('milestone')}`,
    as: {
      project_id: '$',
      namespace_id: 'null',
      title: `case when t.project_id is null and exists (select from milestones o where o.project_id = $ and o.title = t.title) then t.title || ' (group)' else t.title end`,
      iid: `case when t.project_id is null then (select coalesce(max(o.iid), 0) from milestones o where o.project_id = $)
        + row_number() over (partition by t.project_id order by t.id) else t.iid end`,
    },
  },
  issues: {
    refers: {
      ...author,
      closed_by_id: ['users', 'null'],
      milestone_id: ['milestones', 'null'],
      moved_to_id: ['issues', 'null'],
    },
    people: { assignee_ids: null },
    formerly: { assignee_id: { type: 'bigint', now: 'assignee_ids' } },
  },
  // without jobs, which a runner has or waits for, their logs, and what they have deployed: a pipeline of theirs that goes on here has ended there
  // nobody's rights and variables come with them: somebody takes and switches them on
  pipeline_schedules: { as: { active: 'false', last_fault: 'null::text' }, refers: { owner_id: ['users', 'null'] }, isLater: true },
  pipelines: {
    as: {
      made_by: 'null::bigint',
      bridge_id: 'null::bigint',
      root_id: 'null::bigint',
      status: `case when t.source <> 'external' and t.status not in ('success', 'failed', 'canceled', 'skipped') then 'canceled' else t.status end`,
    },
    refers: {
      user_id: ['users', 'null'],
      bridge_id: ['commit_statuses', 'null'],
      root_id: ['pipelines', 'null'],
      schedule_id: ['pipeline_schedules', 'null'],
    },
  },
  commit_statuses: { where: "t.project_id = $ and t.kind = 'status'", refers: { pipeline_id: ['pipelines', 'row'], user_id: ['users', 'ghost'] } },
  merge_requests: {
    as: {
      source_project_id: 'case when t.source_project_id = $ then t.source_project_id end',
      original_source_project_id: '$',
      version_due: 'false',
    },
    people: { assignee_ids: null, reviewer_ids: 'reviews_requested_at' },
    formerly: {
      assignee_id: { type: 'bigint', now: 'assignee_ids' },
      reviewer_id: { type: 'bigint', now: 'reviewer_ids' },
      review_requested_at: { type: 'timestamptz', now: 'reviews_requested_at' },
    },
    refers: {
      ...author,
      closed_by_id: ['users', 'null'],
      merged_by_id: ['users', 'null'],
      merge_user_id: ['users', 'null'],
      rebase_user_id: ['users', 'null'],
      milestone_id: ['milestones', 'null'],
      head_pipeline_id: ['pipelines', 'null'],
      source_project_id: ['projects', 'null'],
      original_source_project_id: ['projects', 'row'],
      version_id: ['merge_request_versions', 'null'],
    },
  },
  merge_request_versions: { refers: { merge_request_id: ['merge_requests', 'row'] } },
  merge_request_commits: { refers: { merge_request_id: ['merge_requests', 'row'] } },
  merge_request_labels: { refers: { merge_request_id: ['merge_requests', 'row'], label_id: ['labels', 'row'] } },
  merge_request_issues: {
    where: 't.project_id = $ and exists (select from issues i where i.id = t.issue_id and i.project_id = $)',
    refers: { merge_request_id: ['merge_requests', 'row'], issue_id: ['issues', 'row'] },
  },
  merge_request_approvals: { refers: { merge_request_id: ['merge_requests', 'row'], user_id: ['users', 'row'] } },
  merge_request_reviews: { as: { note_ids: "'{}'" }, refers: { merge_request_id: ['merge_requests', 'row'], user_id: ['users', 'row'] } },
  merge_request_pipelines: {
    where: 't.project_id = $ and exists (select from pipelines p where p.id = t.pipeline_id and p.project_id = $)',
    refers: { merge_request_id: ['merge_requests', 'row'], pipeline_id: ['pipelines', 'row'] },
  },
  issue_labels: { refers: { issue_id: ['issues', 'row'], label_id: ['labels', 'row'] } },
  issue_links: {
    where: `exists (select from issues i where i.id = t.source_id and i.project_id = $) and exists (select from issues i where i.id = t.target_id and i.project_id = $)`,
    refers: { source_id: ['issues', 'row'], target_id: ['issues', 'row'] },
    isLater: true,
  },
  resource_events: {
    refers: {
      issue_id: ['issues', 'row'],
      merge_request_id: ['merge_requests', 'row'],
      user_id: ['users', 'ghost'],
      label_id: ['labels', 'null'],
      milestone_id: ['milestones', 'row'],
    },
    isLater: true,
  },
  snippets: { refers: author },
  notes: {
    refers: {
      ...author,
      resolved_by_id: ['users', 'null'],
      noteable_id: [{ type: 'noteable_type', of: OF_TEXTS }, 'row'],
      mentioned_in_project_id: ['projects', 'row'],
      mentioned_in_id: [{ type: 'mentioned_in_type', of: OF_TEXTS }, 'row'],
    },
  },
  suggestions: {
    where: 'exists (select from notes n where n.id = t.note_id and n.project_id = $)',
    refers: { note_id: ['notes', 'row'] },
  },
  award_emoji: { refers: { user_id: ['users', 'row'], awardable_id: [{ type: 'awardable_type', of: OF_TEXTS }, 'row'] } },
  mentions: { refers: { user_id: ['users', 'row'], note_id: ['notes', 'row'], target_id: [{ type: 'target_type', of: OF_TEXTS }, 'row'] } },
  subscriptions: { refers: { user_id: ['users', 'row'], target_id: [{ type: 'target_type', of: OF_TEXTS }, 'row'] } },
  releases: { refers: author },
  release_links: {
    where: 'exists (select from releases r where r.id = t.release_id and r.project_id = $)',
    refers: { release_id: ['releases', 'row'] },
  },
  release_milestones: {
    where: `exists (select from releases r where r.id = t.release_id and r.project_id = $)
      and exists (select from milestones m where m.id = t.milestone_id and m.project_id = $)`,
    refers: { release_id: ['releases', 'row'], milestone_id: ['milestones', 'row'] },
  },
  protected_branches: {},
  protected_tags: {},
  members: { where: 't.project_id = $ and t.requested_at is null', refers: { user_id: ['users', 'row'], created_by_id: ['users', 'null'] } },
  events: {
    refers: {
      ...author,
      target_id: [
        { type: 'target_type', of: { ...OF_TEXTS, DiffNote: 'notes', DiscussionNote: 'notes', Project: 'projects', User: 'users' } },
        'row',
      ],
      about_id: [{ type: 'about_type', of: OF_TEXTS }, 'row'],
    },
  },
  feature_flag_user_lists: { isLater: true },
  feature_flags: { isLater: true },
  feature_flag_strategies: {
    where: 'exists (select from feature_flags f where f.id = t.feature_flag_id and f.project_id = $)',
    refers: { feature_flag_id: ['feature_flags', 'row'], user_list_id: ['feature_flag_user_lists', 'row'] },
    isLater: true,
  },
  feature_flag_scopes: {
    where: `exists (select from feature_flag_strategies s join feature_flags f on f.id = s.feature_flag_id where s.id = t.strategy_id and f.project_id = $)`,
    refers: { strategy_id: ['feature_flag_strategies', 'row'] },
    isLater: true,
  },
  freeze_periods: { isLater: true },
  package_protection_rules: { isLater: true },
  protected_environments: { isLater: true },
  // groups are elsewhere; an environment to which nobody may deploy is one that administrators deploy to
  deploy_access_levels: {
    where: `t.namespace_id is null and exists (select from protected_environments e where e.id = t.protected_environment_id and e.project_id = $)`,
    refers: { protected_environment_id: ['protected_environments', 'row'], user_id: ['users', 'row'] },
    isLater: true,
  },
  boards: { isLater: true },
  board_lists: {
    where: 'exists (select from boards b where b.id = t.board_id and b.project_id = $)',
    refers: { board_id: ['boards', 'row'], label_id: ['labels', 'row'], user_id: ['users', 'row'], milestone_id: ['milestones', 'row'] },
    isLater: true,
  },
  badges: { isLater: true },
  project_uploads: { refers: { uploader_id: ['users', 'null'] } },
  project_languages: {},
  iid_counters: {},
  lfs_object_projects: {},
}

/** Columns of the project that the archive sets; the others belong to the place where it is. */
const PROJECT_COLUMNS_LEFT_OUT = new Set(
  `id namespace_id creator_id name path storage visibility avatar star_count forks_count import_status import_error forked_from_id archived empty_repo has_wiki
   default_branch repository_size commit_count lfs_objects_size job_artifacts_size packages_size container_expiration_policy
   container_expiration_next_run_at job_token_scope_enabled external_services pushes_since_gc pushes_housekept marked_for_deletion_at deletion_due_at`.split(
    /\s+/,
  ),
)

const BATCH = 500
/** The longest line of an archive that is read, in bytes: twice what the longest text of a row takes. */
const MAX_LINE = 16 * 1024 * 1024

const fileOf = (folder: string, table: string) => join(folder, `${table}.jsonl`)

/** What is wrong with an archive; the message becomes the `import_error` of the project. */
export class ArchiveFault extends Error {
  override name = 'ArchiveFault'
}

interface Column {
  name: string
  type: string
  generated: boolean
  serial: string | null
}

async function columnsOf(tx: Transaction, table: string): Promise<Column[]> {
  const { rows } = await tx.execute<{ name: string; type: string; generated: boolean; serial: string | null }>(sql`
    select attname as name, format_type(atttypid, null) as type, attgenerated <> '' as generated, pg_get_serial_sequence('public.' || ${table}::text, attname) as serial
    from pg_attribute where attrelid = ('public.' || ${table}::text)::regclass and attnum > 0 and not attisdropped order by attnum`)
  return rows
}

/**
 * Writes the rows of a project into a folder, one file of JSON lines for each table, from one snapshot (EX-2). Of users
 * there are only names.
 */
export async function writeProjectRows(tx: Transaction, projectId: number, folder: string): Promise<void> {
  const literal = String(projectId)
  const users = new Set<string>()
  for (const [table, { where = 't.project_id = $', as = {}, refers = {}, people: several = {} }] of Object.entries(ARCHIVED)) {
    const columns = (await columnsOf(tx, table)).filter(({ generated }) => !generated)
    const list = columns.map(({ name }) => `${as[name] ?? `t.${name}`} as ${name}`).join(', ')
    const order = columns.some(({ name }) => name === 'id') ? 'order by t.id' : ''
    const text = `select row_to_json(r)::text as line from (select ${list} from public.${table} t where ${where} ${order}) r`.replaceAll('$', literal)
    await tx.execute(sql.raw(`declare archived no scroll cursor for ${text}`))
    const people = [...Object.entries(refers).flatMap(([column, [target]]) => (target === 'users' ? [column] : [])), ...Object.keys(several)]
    async function* lines() {
      for (;;) {
        const { rows } = await tx.execute<{ line: string }>(sql.raw(`fetch ${BATCH} from archived`))
        for (const { line } of rows) {
          const row = people.length > 0 ? (JSON.parse(line) as Record<string, unknown>) : {}
          for (const column of people) for (const id of [row[column]].flat()) if (id !== null) users.add(String(id))
          yield `${line}\n`
        }
        if (rows.length < BATCH) return
      }
    }
    await pipeline(Readable.from(lines()), createWriteStream(fileOf(folder, table), { flags: 'wx', mode: 0o600 }))
    await tx.execute(sql`close archived`)
  }
  const { rows } = await tx.execute<{ line: string }>(sql`
    select json_build_object('id', id, 'username', username, 'name', name, 'public_email', nullif(public_email, ''))::text as line
    from users where id = any(${sql.param([...users])}::bigint[]) and kind = 'human' order by id`)
  await pipeline(Readable.from(rows.map(({ line }) => `${line}\n`)), createWriteStream(fileOf(folder, 'users'), { flags: 'wx', mode: 0o600 }))
}

/** The project and people for an import. */
export interface ArchiveTarget {
  projectId: number
  /** Who becomes the author of what others wrote that are not here. */
  ghost: number
  /** The level of the importer on the project, which no member gets more than. */
  level: number
  /** The sizes of the uploaded files that have come, by secret. */
  uploads: ReadonlyMap<string, number>
  now: Date
}

/**
 * Puts the rows of an archive into an empty project, with new ids. People are found by their username or else their
 * public address; what others own is left out, and what they wrote belongs to the ghost user (EX-5). Throws an
 * ArchiveFault for rows that do not fit. What is rendered, and which objects of Git LFS belong to the project, is not
 * read from an archive (EX-67).
 */
export async function readProjectRows(tx: Transaction, folder: string, target: ArchiveTarget): Promise<void> {
  const { projectId, ghost } = target
  await tx.execute(sql`select set_config(${TRANSACTION_SETTINGS.silent}, 'yes', true)`)
  await stageUsers(tx, folder)
  const staged: Record<string, Column[]> = {}
  for (const table of Object.keys(ARCHIVED)) {
    staged[table] = await stage(tx, folder, table)
    await checkValues(tx, table, staged[table])
  }
  await mapProject(tx, projectId)
  for (const [table, columns] of Object.entries(staged)) if (table !== 'projects') await renumber(tx, table, columns)
  for (const [table, columns] of Object.entries(staged)) await redirect(tx, table, columns, ghost)
  for (const [table, columns] of Object.entries(staged)) await confine(tx, table, columns, target)
  await updateProject(tx, staged['projects'] ?? [], projectId)
  for (const [table, columns] of Object.entries(staged)) if (table !== 'projects') await insert(tx, table, columns, projectId)
  await tx.execute(sql.raw(`update public.merge_requests m set version_id = s.version_id from staged_merge_requests s where s.id = m.id`))
  await recount(tx, projectId)
}

async function* batches(folder: string, table: string): AsyncGenerator<string[]> {
  let batch: string[] = []
  const file = await open(fileOf(folder, table)).catch(() => {
    if (ARCHIVED[table]?.isLater) return null
    throw new ArchiveFault(`the rows of ${table} are missing`)
  })
  if (!file) return
  for await (const line of createInterface({ input: file.createReadStream(), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.length > MAX_LINE) throw new ArchiveFault('a row is too long')
    if (line !== '') batch.push(line)
    if (batch.length === BATCH) {
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}

/** Turns what Postgres says about a value into a fault of the archive. */
async function fitting<T>(table: string, work: () => PromiseLike<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const cause = (error as { cause?: { code?: string; message?: string } }).cause ?? (error as { code?: string; message?: string })
    // classes 22 and 23: values that do not fit, and rows that break a rule
    if (!/^2[23]/.test(cause.code ?? '')) throw error
    throw new ArchiveFault(`${table}: ${cause.message}`)
  }
}

async function stageUsers(tx: Transaction, folder: string): Promise<void> {
  await tx.execute(sql`create temp table map_users (old bigint primary key, new bigint) on commit drop`)
  for await (const lines of batches(folder, 'users'))
    await fitting('users', () =>
      tx.execute(sql`insert into map_users
        select e.id, coalesce(
          (select u.id from users u where lower(u.username) = lower(e.username) and u.kind = 'human'),
          (select u.id from users u where lower(u.public_email) = lower(e.public_email) and u.kind = 'human' order by u.id limit 1))
        from jsonb_to_recordset(${`[${lines.join(',')}]`}::jsonb) as e (id bigint, username text, public_email text)`),
    )
  await tx.execute(sql`delete from map_users where new is null`)
}

/** Reads a file into a temporary table; returns the columns that the file has. */
async function stage(tx: Transaction, folder: string, table: string): Promise<Column[]> {
  const known = (await columnsOf(tx, table)).filter(({ generated }) => !generated)
  await tx.execute(sql.raw(`create temp table staged_${table} on commit drop as select * from public.${table} limit 0`))
  const formerly = Object.entries(ARCHIVED[table]?.formerly ?? {})
  for (const [name, { type }] of formerly) await tx.execute(sql.raw(`alter table staged_${table} add column ${name} ${type}`))
  const seen = new Set<string>()
  for await (const lines of batches(folder, table)) {
    const text = `[${lines.join(',')}]`
    const { rows } = await fitting(table, () =>
      tx.execute<{ name: string }>(sql`select distinct k as name from jsonb_array_elements(${text}::jsonb) e, jsonb_object_keys(e) k`),
    )
    for (const { name } of rows) seen.add(name)
    const unknown = rows.find(({ name }) => ![...known, ...formerly.map(([former]) => ({ name: former }))].some((column) => column.name === name))
    if (unknown) throw new ArchiveFault(`${table} has the column ${JSON.stringify(unknown.name).slice(0, 100)}: a newer version has made the archive`)
    await fitting(table, () =>
      tx.execute(
        sql`insert into ${sql.raw(`staged_${table}`)} select r.* from jsonb_array_elements(${text}::jsonb) e, jsonb_populate_record(null::${sql.raw(`staged_${table}`)}, e) r`,
      ),
    )
  }
  for (const [name, { now }] of formerly)
    if (seen.has(name)) {
      seen.add(now)
      await tx.execute(sql.raw(`update staged_${table} set ${now} = array_remove(array[${name}], null)`))
    }
  return known.filter(({ name }) => seen.has(name))
}

async function mapProject(tx: Transaction, projectId: number): Promise<void> {
  const { rows } = await tx.execute<{ id: string }>(sql`select id from staged_projects`)
  if (rows.length !== 1) throw new ArchiveFault('the archive has no project')
  await tx.execute(sql`create temp table map_projects on commit drop as select id as old, ${projectId}::bigint as new from staged_projects`)
}

/** Gives the rows of a table new ids, in their order. */
async function renumber(tx: Transaction, table: string, columns: Column[]): Promise<void> {
  const sequence = columns.find(({ name }) => name === 'id')?.serial
  // a table without rows is still referred to
  if (!sequence) return void (await tx.execute(sql.raw(`create temp table map_${table} (old bigint, new bigint) on commit drop`)))
  const made = `with numbered as materialized (select id as old, nextval('${sequence}') as new from (select id from staged_${table} order by id) s)`
  await fitting(table, () => tx.execute(sql.raw(`create temp table map_${table} on commit drop as ${made} select * from numbered`)))
  await tx.execute(sql.raw(`create unique index on map_${table} (old)`))
  await tx.execute(sql.raw(`update staged_${table} t set id = m.new from map_${table} m where m.old = t.id`))
}

/** Makes the references of a table lead to the new rows. */
async function redirect(tx: Transaction, table: string, columns: Column[], ghost: number): Promise<void> {
  const refers: [string, [Target, Loss]][] = Object.entries(ARCHIVED[table]?.refers ?? {})
  if (columns.some(({ name }) => name === 'project_id')) refers.push(['project_id', ['projects', 'row']])
  for (const [column, [target, loss]] of refers) {
    if (!columns.some(({ name }) => name === column)) continue
    const mapped = (to: string, condition = '') => `(select m.new from map_${to} m where m.old = t.${column}${condition})`
    const found =
      typeof target === 'string' ? [mapped(target)] : Object.entries(target.of).map(([kind, to]) => mapped(to, ` and t.${target.type} = '${kind}'`))
    await tx.execute(sql.raw(`alter table staged_${table} add column was_${column} boolean`))
    await tx.execute(
      sql.raw(`update staged_${table} t set was_${column} = true, ${column} = coalesce(${found.join(', ')}) where t.${column} is not null`),
    )
    const lost = `was_${column} and ${column} is null`
    if (loss === 'row') await tx.execute(sql.raw(`delete from staged_${table} where ${lost}`))
    if (loss === 'ghost') await tx.execute(sql.raw(`update staged_${table} set ${column} = ${ghost} where ${lost}`))
  }
  for (const [column, times] of Object.entries(ARCHIVED[table]?.people ?? {}))
    if (columns.some(({ name }) => name === column)) await redirectPeople(tx, table, column, times)
}

/** Makes a column with several users lead to those who are here, each once, with their times. */
async function redirectPeople(tx: Transaction, table: string, column: string, times: string | null): Promise<void> {
  const given = times ? `unnest(t.${column}, t.${times})` : `unnest(t.${column}, '{}'::timestamptz[])`
  const found = `select m.new, min(p.place) as place, min(p.at) as at from ${given} with ordinality as p (id, at, place)
    join map_users m on m.old = p.id where p.place <= ${MAX_PEOPLE} group by m.new`
  // a time that the service would not write is that of the last change
  const time = `coalesce(case when f.at between '0001-01-02' and t.updated_at then f.at end, t.updated_at)`
  await tx.execute(
    sql.raw(`update staged_${table} t set (${times ? `${column}, ${times}` : column}) = (select coalesce(array_agg(f.new order by f.place), '{}')
      ${times ? `, coalesce(array_agg(${time} order by f.place), '{}')` : ''} from (${found}) f)`),
  )
}

/** The most users that a column has (MR-620). */
const MAX_PEOPLE = 200

/** Levels that numbers of a table may be. */
const LEVELS: Record<string, { columns: RegExp; levels: string }> = {
  projects: { columns: /_access_level$/, levels: '0, 10, 20' },
  snippets: { columns: /^visibility$/, levels: '0, 10, 20' },
  members: { columns: /^access_level$/, levels: '10, 20, 30, 40, 50' },
  protected_branches: { columns: /_level$/, levels: '0, 30, 40' },
  protected_tags: { columns: /_level$/, levels: '0, 30, 40' },
}

/** The texts that columns are limited to, by table. */
const TEXTS = new Map<string, Map<string, readonly string[]>>(
  Object.values<unknown>(schema)
    .filter((each): each is PgTable => is(each, PgTable))
    .map((table) => [getTableName(table), new Map(Object.values(getTableColumns(table)).map(({ name, enumValues }) => [name, enumValues ?? []]))]),
)

/** Refuses values that the service never writes, and that Postgres would take. */
async function checkValues(tx: Transaction, table: string, columns: Column[]): Promise<void> {
  const { columns: leveled, levels } = LEVELS[table] ?? {}
  const wrong = columns.flatMap(({ name, type }) => {
    const texts = TEXTS.get(table)?.get(name) ?? []
    if (texts.length > 0) return [[name, `${name} not in (${texts.map((text) => `'${text}'`).join(', ')})`]]
    if (leveled?.test(name)) return [[name, `${name} not in (${levels})`]]
    if (type === 'jsonb') return [[name, `jsonb_typeof(${name}) <> 'object'`]]
    return /^(?:date|timestamp)[^[]*$/.test(type) ? [[name, `${name} not between '0001-01-02' and '9999-12-30'`]] : []
  })
  if (wrong.length === 0) return
  const found = wrong.map(([name, condition]) => `case when bool_or(${condition}) then '${name}' end`).join(', ')
  const { rows } = await tx.execute<{ name: string | null }>(sql.raw(`select coalesce(${found}) as name from staged_${table}`))
  if (rows[0]?.name) throw new ArchiveFault(`${table}: a value of ${rows[0].name} is none that the service writes`)
}

/** Takes away what is not the project's, and what its importer could not give it. */
async function confine(tx: Transaction, table: string, columns: Column[], { projectId, level, uploads, now }: ArchiveTarget): Promise<void> {
  const staged = sql.raw(`staged_${table}`)
  for (const { name } of columns)
    if (/^(?:created|updated|last_activity)_at$/.test(name))
      await tx.execute(
        sql`update ${staged} set ${sql.raw(name)} = ${now.toISOString()}::timestamptz where ${sql.raw(name)} > ${now.toISOString()}::timestamptz`,
      )
  // also a row without a project, which would be one of a group, or of a person
  if (TEXTS.get(table)?.has('project_id')) await tx.execute(sql`delete from ${staged} where project_id is distinct from ${projectId}::bigint`)
  switch (table) {
    case 'members':
      await tx.execute(sql`delete from ${staged} where requested_at is not null or ${level} < 10`)
      return void (await tx.execute(sql`update ${staged} set access_level = least(access_level, ${level})`))
    case 'project_uploads': {
      const files = JSON.stringify([...uploads].map(([secret, size]) => ({ secret, size })))
      const came = sql`jsonb_to_recordset(${files}::jsonb) as f (secret text, size bigint)`
      await tx.execute(sql`delete from ${staged} t where t.filename ~ '[/[:cntrl:]]' or not exists (select from ${came} where f.secret = t.secret)`)
      return void (await tx.execute(sql`update ${staged} t set size = f.size from ${came} where f.secret = t.secret`))
    }
    case 'commit_statuses':
      return void (await tx.execute(sql`update ${staged} set target_url = null where target_url !~* ${LINK}`))
    case 'release_links':
      return void (await tx.execute(sql`delete from ${staged} where url !~* ${LINK}`))
  }
}

/** An address that a page may link to. */
const LINK = '^(https?|ftp)://'

async function updateProject(tx: Transaction, columns: Column[], projectId: number): Promise<void> {
  const set = columns.filter(({ name }) => !PROJECT_COLUMNS_LEFT_OUT.has(name)).map(({ name }) => `${name} = s.${name}`)
  set.push('creator_id = coalesce(s.creator_id, p.creator_id)')
  await fitting('projects', () =>
    tx.execute(sql.raw(`update public.projects p set ${set.join(', ')} from staged_projects s where p.id = ${projectId}`)),
  )
}

/** Tables in which a new project has rows, which those of the archive replace. */
const REPLACED = new Set(['protected_branches', 'protected_tags', 'project_languages', 'events', 'iid_counters'])
/** Tables in which a new project has rows that stay beside those of the archive. */
const JOINED = new Set(['members'])

async function insert(tx: Transaction, table: string, columns: Column[], projectId: number): Promise<void> {
  // the objects whose files have come are the project's already
  if (columns.length === 0 || table === 'lfs_object_projects') return
  if (REPLACED.has(table)) await tx.execute(sql.raw(`delete from public.${table} where project_id = ${projectId}`))
  const names = columns.map(({ name }) => name).filter((name) => name !== 'namespace_id')
  // versions are set when they are there, and rendered texts by the service that reads the archive
  const values = names.map((name) => (table === 'merge_requests' && name === 'version_id' ? 'null' : name.endsWith('_html') ? `''` : name))
  const text = `insert into public.${table} (${names.join(', ')}) overriding system value select ${values.join(', ')} from staged_${table}${JOINED.has(table) ? ' on conflict do nothing' : ''}`
  await fitting(table, () => tx.execute(sql.raw(text)))
}

/** Counts again what depends on people who are not here, and numbers, also of milestones that were those of groups. */
async function recount(tx: Transaction, projectId: number): Promise<void> {
  const numbered = {
    issue: 'issues',
    merge_request: 'merge_requests',
    milestone: 'milestones',
    pipeline: 'pipelines',
    feature_flag: 'feature_flags',
    feature_flag_user_list: 'feature_flag_user_lists',
  }
  for (const [kind, table] of Object.entries(numbered))
    await tx.execute(sql`insert into iid_counters (project_id, kind, last)
      select project_id, ${kind}, max(iid) from ${sql.raw(table)} where project_id = ${projectId} group by 1
      on conflict (project_id, kind) do update set last = greatest(iid_counters.last, excluded.last)`)
  for (const [table, type] of [
    ['issues', 'Issue'],
    ['merge_requests', 'MergeRequest'],
  ] as const) {
    const votes = (name: string) => `(select count(*) from award_emoji a where a.project_id = t.project_id and a.awardable_type = '${type}'
      and a.awardable_id = t.id and a.name = '${name}')`
    await tx.execute(
      sql.raw(`update public.${table} t set upvotes = ${votes('thumbsup')}, downvotes = ${votes('thumbsdown')}
        where t.project_id = ${projectId} and (upvotes > 0 or downvotes > 0)`),
    )
  }
}
