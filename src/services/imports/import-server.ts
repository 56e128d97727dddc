import { and, eq } from 'drizzle-orm'
import type { Context } from '../../context.js'
import { namespaces } from '../../db/schema/index.js'
import { StartFault } from '../../lib/start-fault.js'
import { importDeployKeysAndProtection, importHooks, importProjectMembers, importVariables } from './configuration.js'
import { importReleases, importSnippets } from './content.js'
import { importGroups } from './groups.js'
import { importIssues } from './issues.js'
import { dryLedger, type LeftOut, openLedger } from './ledger.js'
import { importMergeRequests } from './merge-requests.js'
import { importPlanning } from './planning.js'
import { findOrImportProject, importForkAndShares, loadSubject, selectProjects } from './projects.js'
import { importRepositories } from './repositories.js'
import type { ImportedItem, ImportOptions, Run } from './run.js'
import { SourceFailed } from './source/client.js'
import type { ProjectRecord } from './source/records.js'
import { openSource, type SourceName } from './source/source.js'
import { importUsers } from './users.js'

/** The result of this and all earlier runs of an import. */
export interface ImportReport {
  url: string
  from: SourceName
  dry_run: boolean
  /** Whether this run completed. */
  finished: boolean
  /** Why it did not complete. */
  fault: string | null
  /** Imported items by kind. */
  came: Record<string, number>
  left_out: LeftOut[]
  left_out_count: number
  /** What is never imported from this kind of server. */
  never: { kind: string; reason: string }[]
}

/**
 * Imports from another server, whether or not the service is running. Items imported earlier are not changed, so a run
 * continues one that ended early. It sends no mail, calls no webhook and creates no events.
 */
export async function importServer(ctx: Context, options: ImportOptions): Promise<ImportReport> {
  const signal = options.signal ? AbortSignal.any([options.signal, ctx.process.stopping]) : ctx.process.stopping
  const into = options.into === undefined ? null : await groupNamed(ctx, options.into)
  const source = await openSource({ ...options, signal }).catch((error: unknown) => {
    throw error instanceof SourceFailed ? new StartFault(error.message) : error
  })
  const ledger = options.dryRun ? dryLedger() : await openLedger(ctx, source.client.base)
  const maps = {
    userIdsByName: new Map(),
    userIdsByKey: new Map(),
    groups: new Map(),
    failedGroups: new Set<string>(),
    projects: new Map(),
    teamsByProject: new Map(),
  }
  const run: Run = { ctx, options, source, ledger, signal, into, ...maps }
  let fault: string | null = null
  try {
    await importEverything(run)
  } catch (error) {
    if (!(error instanceof SourceFailed)) throw error
    fault = error.message
  }
  const { name, unsupported } = source.dialect
  const summary = { url: source.client.base, from: name, dry_run: ledger.dry, finished: fault === null, fault }
  return { ...summary, ...(await ledger.totals()), never: unsupported }
}

async function groupNamed(ctx: Context, path: string): Promise<number> {
  const [group] = await ctx.db.write
    .select({ id: namespaces.id })
    .from(namespaces)
    .where(and(eq(namespaces.kind, 'group'), eq(namespaces.full_path, path)))
  if (!group) throw new StartFault(`there is no group ${path} to import into`)
  return group.id
}

async function importEverything(run: Run): Promise<void> {
  const { groups = [], projects = [], onProgress = () => undefined } = run.options
  const all = groups.length === 0 && projects.length === 0
  const users = all ? await importUsers(run) : []
  const paths = await importGroups(run, users)
  const found = await selectProjects(run, paths)
  const steps = found.length * 2
  let done = 0
  const step = () => onProgress(++done, steps)
  onProgress(0, steps)
  for (const record of found) {
    const imported = await findOrImportProject(run, record)
    if (imported !== null) await importProjectContents(run, record, imported)
    step()
  }
  // forks, shares and merge requests need all projects
  for (const record of found) {
    const imported = run.projects.get(record.key)
    if (imported) await importProjectRelations(run, record, imported)
    step()
  }
  for (const name of users) await importSnippets(run, 'personal snippet', { key: name.toLowerCase(), path: name }, null)
}

async function importProjectContents(run: Run, record: ProjectRecord, imported: ImportedItem): Promise<void> {
  const scope = { key: imported.key, path: imported.path }
  const subject = await loadSubject(run, imported)
  if (subject === null) return
  run.projects.set(imported.key, imported)
  const owner = { kind: 'project' as const, id: imported.localId, fullPath: imported.path }
  await importRepositories(run, imported, subject.project, record.default_branch)
  await importProjectMembers(run, scope, owner)
  await importPlanning(run, scope, imported.localId)
  await importDeployKeysAndProtection(run, scope, subject)
  await importVariables(run, 'variable', scope, owner)
  await importHooks(run, 'hook', scope, owner)
  if (!record.without.includes('issue')) await importIssues(run, scope, subject)
  await importReleases(run, scope, subject)
  await importSnippets(run, 'snippet', scope, imported.localId)
}

async function importProjectRelations(run: Run, record: ProjectRecord, imported: ImportedItem): Promise<void> {
  const subject = await loadSubject(run, imported)
  if (subject === null) return
  await importForkAndShares(run, record, subject)
  if (!record.without.includes('merge request')) await importMergeRequests(run, { key: imported.key, path: imported.path }, subject)
}
