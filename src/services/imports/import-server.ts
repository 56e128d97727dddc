import { and, eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { namespaces } from '../../db/schema/index.js'
import { StartFault } from '../../lib/start-fault.js'
import { bringHooks, bringProjectMembers, bringProtections, bringVariables } from './belongings.js'
import { bringReleases, bringSnippets } from './content.js'
import { bringGroups } from './groups.js'
import { bringIssues } from './issues.js'
import { dryLedger, type LeftOut, openLedger } from './ledger.js'
import { bringMergeRequests } from './merge-requests.js'
import { bringUsers } from './people.js'
import { bringPlan } from './planning.js'
import { placeProject, relateProject, subjectOf, wantedProjects } from './projects.js'
import { bringRepositories } from './repositories.js'
import type { ImportOptions, Place, Run } from './run.js'
import { SourceFailed } from './source/client.js'
import type { ProjectRecord } from './source/records.js'
import { openSource, type SourceName } from './source/source.js'

/** What an import has brought, this run and all before it. */
export interface ImportReport {
  url: string
  from: SourceName
  dry_run: boolean
  /** Whether it came to its end. */
  finished: boolean
  /** Why not. */
  fault: string | null
  /** How many of each kind. */
  came: Record<string, number>
  left_out: LeftOut[]
  left_out_count: number
  /** What no import from such a server brings. */
  never: { kind: string; reason: string }[]
}

/**
 * Brings what another server has, beside a running service or without one. What has come already stays as it is, so a
 * run continues one that ended early. It sends no mail, calls no webhook and makes no event.
 */
export async function importServer(ctx: Context, options: ImportOptions): Promise<ImportReport> {
  const signal = options.signal ? AbortSignal.any([options.signal, ctx.stopping]) : ctx.stopping
  const into = options.into === undefined ? null : await groupNamed(ctx, options.into)
  const source = await openSource({ ...options, signal }).catch((error: unknown) => {
    throw error instanceof SourceFailed ? new StartFault(error.message) : error
  })
  const ledger = options.dryRun ? dryLedger() : await openLedger(ctx, source.client.base)
  const maps = { people: new Map(), userIds: new Map(), groups: new Map(), refusedGroups: new Set<string>(), projects: new Map(), teams: new Map() }
  const run: Run = { ctx, options, source, ledger, signal, into, ...maps }
  let fault: string | null = null
  try {
    await bringEverything(run)
  } catch (error) {
    if (!(error instanceof SourceFailed)) throw error
    fault = error.message
  }
  const { name, lacks } = source.dialect
  const summary = { url: source.client.base, from: name, dry_run: ledger.dry, finished: fault === null, fault }
  return { ...summary, ...(await ledger.totals()), never: lacks }
}

async function groupNamed(ctx: Context, path: string): Promise<number> {
  const [group] = await ctx.db.write
    .select({ id: namespaces.id })
    .from(namespaces)
    .where(and(eq(namespaces.kind, 'group'), eq(namespaces.full_path, path)))
  if (!group) throw new StartFault(`there is no group ${path} to import into`)
  return group.id
}

async function bringEverything(run: Run): Promise<void> {
  const { groups = [], projects = [], onProgress = () => undefined } = run.options
  const all = groups.length === 0 && projects.length === 0
  const users = all ? await bringUsers(run) : []
  const paths = await bringGroups(run, users)
  const found = await wantedProjects(run, paths)
  const steps = found.length * 2
  let done = 0
  const step = () => onProgress(++done, steps)
  onProgress(0, steps)
  for (const record of found) {
    const place = await placeProject(run, record)
    if (place !== null) await bringContents(run, record, place)
    step()
  }
  // what relates projects to each other
  for (const record of found) {
    const place = run.projects.get(record.key)
    if (place) await bringRelations(run, record, place)
    step()
  }
  for (const name of users) await bringSnippets(run, 'personal snippet', { key: name.toLowerCase(), path: name }, null)
}

async function bringContents(run: Run, record: ProjectRecord, place: Place): Promise<void> {
  const scope = { key: place.key, path: place.path }
  const subject = await subjectOf(run, place)
  if (subject === null) return
  run.projects.set(place.key, place)
  const owner = { kind: 'project' as const, id: place.here, fullPath: place.path }
  await bringRepositories(run, place, subject.project, record.default_branch)
  await bringProjectMembers(run, scope, owner)
  await bringPlan(run, scope, place.here)
  await bringProtections(run, scope, subject)
  await bringVariables(run, 'variable', scope, owner)
  await bringHooks(run, 'hook', scope, owner)
  if (!record.without.includes('issue')) await bringIssues(run, scope, subject)
  await bringReleases(run, scope, subject)
  await bringSnippets(run, 'snippet', scope, place.here)
}

async function bringRelations(run: Run, record: ProjectRecord, place: Place): Promise<void> {
  const subject = await subjectOf(run, place)
  if (subject === null) return
  await relateProject(run, record, subject)
  if (!record.without.includes('merge request')) await bringMergeRequests(run, { key: place.key, path: place.path }, subject)
}
