import { and, desc, eq, gt, sql } from 'drizzle-orm'
import type { Context } from '../../../context.js'
import { events, notes, pipelines, projects, todos } from '../../../db/schema/index.js'
import type { Examination } from '../../../git/types.js'
import { type GitRepository, type Oid, type RepositoryKey, ZERO } from '../../../git/types.js'
import { readSettings } from '../../core/settings.js'
import { updateDefaultBranch } from '../../repository/push/finish.js'
import { repositoryOf, wikiKeyOf } from '../../repository/repositories.js'
import { orphanRepositories } from '../orphans.js'
import type { OnProgress } from '../progress.js'
import { wasDamaged } from '../repository-checks.js'
import { branchFaults } from './branches.js'
import type { Check } from './fault.js'
import { mergeRequestFaults } from './merge-requests.js'

/** The number of projects read in one query. */
const BATCH_SIZE = 500

const MADE_ANEW = 'made anew, empty: what was in it must come from a backup or from a clone'

type Project = Pick<typeof projects.$inferSelect, 'id' | 'storage' | 'default_branch' | 'empty_repo' | 'has_wiki'>

export interface DoctorOptions {
  /** Reads all objects completely; otherwise only those of repositories that were found damaged before. */
  full?: boolean
  /** Called after each project. */
  onProgress?: OnProgress
}

/** Compares every project with its repositories. */
export async function* repositories(ctx: Context, options: DoctorOptions): Check {
  const all = options.onProgress ? await ctx.db.write.$count(projects) : 0
  let done = 0
  for (let last = 0; ; ) {
    const batch = await ctx.db.write
      .select({
        id: projects.id,
        storage: projects.storage,
        default_branch: projects.default_branch,
        empty_repo: projects.empty_repo,
        has_wiki: projects.has_wiki,
      })
      .from(projects)
      .where(gt(projects.id, last))
      .orderBy(projects.id)
      .limit(BATCH_SIZE)
    for (const project of batch) {
      yield* repositoryFaults(ctx, project, options)
      options.onProgress?.(++done, all)
    }
    if (batch.length < BATCH_SIZE) return
    last = batch.at(-1)?.id as number
  }
}

async function* repositoryFaults(ctx: Context, project: Project, options: DoctorOptions): Check {
  const of = `project ${project.id}`
  const key: RepositoryKey = { storage: project.storage, id: project.id, kind: 'project' }
  if (ctx.config.storages[project.storage] === undefined) {
    yield { kind: 'missing storage', of, text: `its storage ${project.storage} is not configured`, repair: null }
    return
  }
  if (!(await ctx.git.exists(key))) {
    const repair = async () => {
      await ctx.git.create(key, project.default_branch)
      await ctx.db.write.update(projects).set({ empty_repo: true, commit_count: 0, repository_size: 0 }).where(eq(projects.id, project.id))
      return MADE_ANEW
    }
    yield { kind: 'missing repository', of, text: 'its repository is not there', repair }
    return
  }
  const repository = repositoryOf(ctx, project)
  const full = options.full || (await wasDamaged(ctx, project.id))
  const examination = await repository.examine({ full })
  yield* examinationFaults(ctx, repository, of, examination, (ref) => resetRef(ctx, project, repository, ref))
  // missing objects may be in a damaged pack: rows and refs are not repaired until an administrator has examined it
  if (examination.brokenPacks.length === 0) {
    yield* branchFaults(ctx, project.id, repository, examination)
    yield* commitFaults(ctx, project, repository)
    yield* mergeRequestFaults(ctx, project.id, repository)
  }
  const wiki = wikiKeyOf(project)
  if (await ctx.git.exists(wiki)) {
    const opened = ctx.git.open(wiki)
    yield* examinationFaults(ctx, opened, `wiki of ${of}`, await opened.examine({ full }), async ({ name, oid }) => {
      if (oid === ZERO) await opened.dropUnreadableRef(name)
      else await opened.updateRefs([{ ref: name, old: oid, new: ZERO }])
      return 'removed'
    })
  } else if (project.has_wiki) {
    const repair = async () => {
      await ctx.git.create(wiki, ctx.config.defaultBranch)
      return MADE_ANEW
    }
    yield { kind: 'missing repository', of: `wiki of ${of}`, text: 'its repository is not there', repair }
  }
}

type BrokenRef = Examination['brokenRefs'][number]

async function* examinationFaults(
  ctx: Context,
  repository: GitRepository,
  of: string,
  { brokenGraph, brokenRefs, damage }: Examination,
  repairRef: (ref: BrokenRef) => Promise<string>,
): Check {
  if (brokenGraph) {
    const repair = async () => {
      await repository.dropCommitGraph()
      const { housekeeping_enabled: packing, housekeeping_bitmaps_enabled: bitmaps } = await readSettings(ctx)
      return (await repository.maintain({ packing, bitmaps })) ? 'written anew' : 'removed; the next maintenance writes another'
    }
    yield { kind: 'broken commit-graph', of, text: 'its commit-graph cannot be used', repair }
  }
  for (const ref of brokenRefs) {
    const text = ref.oid === ZERO ? `${ref.name} holds no object id` : `${ref.name} is at ${ref.oid}, which is not there`
    yield { kind: 'broken ref', of, text, repair: () => repairRef(ref) }
  }
  if (damage !== '') {
    const text = `${damage.split('\n')[0]}; the objects must come from a backup or be pushed again`
    yield { kind: 'damaged repository', of, text, repair: null }
  }
}

/** Resets a branch to the newest existing commit that push events have recorded; removes the ref if there is none. */
async function resetRef(ctx: Context, project: Project, repository: GitRepository, { name, oid }: BrokenRef): Promise<string> {
  const short = name.replace(/^refs\/(heads|tags)\//, '')
  const recorded = await ctx.db.write
    .select({ push: events.push })
    .from(events)
    .where(and(eq(events.project_id, project.id), sql`${events.push}->>'ref' = ${short}`))
    .orderBy(desc(events.id))
    .limit(1_000)
  const candidates = recorded.flatMap(({ push }) => [push?.commit_to, push?.commit_from]).filter((one): one is Oid => Boolean(one) && one !== ZERO)
  const existing = await repository.existingObjects(candidates)
  const previous = name.startsWith('refs/heads/') ? candidates.find((one) => existing.has(one)) : undefined
  if (oid === ZERO) await repository.dropUnreadableRef(name)
  const old = oid === ZERO ? ((await repository.ref(name)) ?? ZERO) : oid
  // an unreadable loose ref may have hidden a packed value, which is older than the last push
  const to = previous ?? (oid === ZERO ? old : ZERO)
  if (old !== to) await repository.updateRefs([{ ref: name, old, new: to }])
  await updateDefaultBranch(ctx, project.id, [{ ref: name, old: oid, new: to }], await readSettings(ctx))
  if (to !== ZERO) return `put back to ${to}`
  return 'removed'
}

/** Rows that refer to missing commits. */
async function* commitFaults(ctx: Context, { id }: Project, repository: GitRepository): Check {
  const { rows } = await ctx.db.write.execute<{ oid: Oid }>(sql`
    select ${pipelines.sha} as oid from ${pipelines} where ${pipelines.project_id} = ${id}
    union select ${notes.commit_id} from ${notes} where ${notes.project_id} = ${id} and ${notes.commit_id} is not null
    union select ${todos.commit_id} from ${todos} where ${todos.project_id} = ${id} and ${todos.commit_id} is not null`)
  const oids = rows.map(({ oid }) => oid)
  const existing = await repository.existingObjects(oids)
  for (const oid of oids.filter((one) => !existing.has(one))) {
    const repair = async () => {
      await ctx.db.transaction(async (tx) => {
        await tx.delete(pipelines).where(and(eq(pipelines.project_id, id), eq(pipelines.sha, oid)))
        await tx.delete(todos).where(and(eq(todos.project_id, id), eq(todos.commit_id, oid)))
        await tx.delete(notes).where(and(eq(notes.project_id, id), eq(notes.commit_id, oid)))
      })
      return 'removed what was said of it'
    }
    yield { kind: 'missing commit', of: `project ${id}`, text: `statuses or comments speak of ${oid}, which is not there`, repair }
  }
}

/** Repositories on disk that no row refers to. */
export async function* orphans(ctx: Context): Check {
  for await (const key of orphanRepositories(ctx)) {
    const repair = async () => `moved to ${await ctx.git.quarantineRepository(key)}`
    yield { kind: 'orphan repository', of: `${key.kind} ${key.id} in ${key.storage}`, text: 'no project has it', repair }
  }
}
