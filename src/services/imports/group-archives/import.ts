import { createReadStream } from 'node:fs'
import { mkdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { and, eq } from 'drizzle-orm'
import { z } from 'zod'
import type { ActorUser, SignedIn } from '../../../access/actor.js'
import type { Namespace } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { ArchiveFault } from '../../../db/copies/project-archive.js'
import { isUniqueViolation } from '../../../db/errors.js'
import { onlyRow } from '../../../db/only-row.js'
import { auditEvents, badges, boardLists, boards, labels, milestones, namespaces } from '../../../db/schema/index.js'
import { Failure, failureText } from '../../../failures.js'
import { enqueue } from '../../../jobs/enqueue.js'
import { defineJob } from '../../../jobs/kinds.js'
import { syncDirectory, writeNewFile } from '../../../lib/files/durable.js'
import { VISIBILITY_LEVEL } from '../../../rules/visibility.js'
import { audit } from '../../core/audit.js'
import { createdNow } from '../../core/created-now.js'
import { raiseIid } from '../../core/iids.js'
import { readSettings } from '../../core/settings.js'
import { groupFaults } from '../../groups/attributes.js'
import { createGroup, insertGroup, isTooDeep } from '../../groups/create.js'
import { lockNamespace } from '../../identity/namespaces.js'
import { getUser } from '../../identity/users.js'
import { checkBoardName, MAX_BOARDS } from '../../issuables/boards.js'
import { labelColumns } from '../../issuables/labels.js'
import { milestoneColumns } from '../../issuables/milestones.js'
import { folderOf } from '../../projects/archives/import.js'
import { readTar } from '../../projects/archives/tar.js'
import { badgeColumns, MAX_BADGES } from '../../projects/badges/badges.js'
import { FORMAT, Line } from './lines.js'

const DEADLINE_MS = 3_600_000
const MAX_BYTES = 64 * 1024 * 1024
const MAX_LINES = 100_000
/** A description may have a million characters. */
const MAX_LINE = 2_000_000

const nameOf = (id: number) => `group-${id}`
const fileOf = (ctx: Pick<Context, 'config'>, id: number) => join(folderOf(ctx), `${nameOf(id)}.tar.gz`)

/** Creates a group that a job fills from an archive; returns its id (EX-69). */
export const importGroup = (ctx: Context, caller: SignedIn, given: { name: string; path: string; parent_id?: number | undefined }, archive: Buffer) =>
  createGroup(ctx, caller, given, async (tx, id) => {
    await mkdir(folderOf(ctx), { recursive: true, mode: 0o700 })
    // left by a group with this id whose creation was not committed
    await rm(fileOf(ctx, id), { force: true })
    await writeNewFile(fileOf(ctx, id), archive, 0o600)
    await syncDirectory(folderOf(ctx))
    await enqueue(tx, importGroupArchive, { group: id, user: caller.user.id }, { key: String(id), lane: importGroupArchive.kind })
  })

export const importGroupArchive = defineJob({
  kind: 'import of a group',
  input: z.object({ group: z.int(), user: z.int() }),
  run: (ctx: Context, { group, user }, { signal }) => run(ctx, group, user, AbortSignal.any([ctx.process.stopping, signal])),
  async failed(ctx, { group, user }) {
    await recordFailure(ctx, group, user, 'it failed too often')
    await rm(fileOf(ctx, group), { force: true })
  },
  concurrency: 1,
  deadline: DEADLINE_MS,
})

async function recordFailure(ctx: Context, id: number, actorId: number, reason: string): Promise<void> {
  ctx.log.warn({ group: id, reason }, 'an import failed')
  const [group] = await ctx.db.write.select({ name: namespaces.full_path }).from(namespaces).where(eq(namespaces.id, id))
  if (group)
    await audit(ctx, ctx.db.write, { action: 'group_import_failed', target: { type: 'group', id, name: group.name }, actorId, changes: { reason } })
}

async function run(ctx: Context, id: number, userId: number, signal: AbortSignal): Promise<void> {
  const work = join(folderOf(ctx), `.${nameOf(id)}`)
  await rm(work, { recursive: true, force: true })
  try {
    await mkdir(work, { recursive: true, mode: 0o700 })
    await readTar(fileOf(ctx, id), work, signal)
    await bringIn(ctx, id, userId, work, signal)
  } catch (error) {
    // the job is tried again from the start
    signal.throwIfAborted()
    const reason = reasonOf(error)
    if (reason === null) throw error
    await recordFailure(ctx, id, userId, reason)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  await rm(fileOf(ctx, id), { force: true })
}

/** What is wrong with the archive; null for what is not its fault, which is tried again. */
function reasonOf(error: unknown): string | null {
  if (error instanceof ArchiveFault) return error.message.slice(0, 1_000)
  if (error instanceof Failure && error.kind === 'invalid') return failureText(error.body).slice(0, 1_000)
  return isUniqueViolation(error) ? 'a name is there twice' : null
}

/** All in one transaction, so that an attempt that was killed leaves nothing and the next one begins again. */
async function bringIn(ctx: Context, id: number, userId: number, work: string, signal: AbortSignal): Promise<void> {
  const file = join(work, 'group.jsonl')
  const { format } = await versionOf(join(work, 'version.json'))
  if (format > FORMAT) throw new ArchiveFault('a newer version has made it')
  const size = (await stat(file).catch(() => null))?.size
  if (size === undefined) throw new ArchiveFault('the file is not an archive of a group')
  if (size > MAX_BYTES) throw new ArchiveFault('the archive is too large')
  const user = await getUser(ctx, userId)
  await ctx.db.transaction(async (tx) => {
    const root = await lockNamespace(tx, id)
    if (!root || (await isImported(tx, id))) return
    const copy = new GroupCopy(ctx, tx, user, root)
    let count = 0
    for await (const text of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
      signal.throwIfAborted()
      if (++count > MAX_LINES || text.length > MAX_LINE) throw new ArchiveFault('the archive is too large')
      await copy.add(lineOf(text))
    }
    await audit(ctx, tx, { action: 'group_imported', target: { type: 'group', id, name: root.full_path }, actorId: userId })
  })
}

/** Whether a job was killed between its transaction and its end. */
const isImported = async (tx: Transaction, id: number) =>
  (await tx.$count(auditEvents, and(eq(auditEvents.action, 'group_imported'), eq(auditEvents.target_type, 'group'), eq(auditEvents.target_id, id)))) >
  0

async function versionOf(file: string) {
  try {
    return z.object({ format: z.int() }).parse(JSON.parse(await readFile(file, 'utf8')))
  } catch {
    throw new ArchiveFault('the file is not an archive of a group')
  }
}

function lineOf(text: string): Line {
  try {
    return Line.parse(JSON.parse(text))
  } catch {
    throw new ArchiveFault('a line of group.jsonl is not valid')
  }
}

/** Adds what the lines of an archive say to a new group, with the checks that its importer would meet. */
class GroupCopy {
  readonly #groups = new Map<string, Namespace>()

  constructor(
    private readonly ctx: Context,
    private readonly tx: Transaction,
    private readonly user: ActorUser,
    private readonly root: Namespace,
  ) {}

  add(line: Line): Promise<void> {
    switch (line.kind) {
      case 'group':
        return this.#addGroup(line)
      case 'label':
        return this.#addLabel(line)
      case 'milestone':
        return this.#addMilestone(line)
      case 'badge':
        return this.#addBadge(line)
      case 'board':
        return this.#addBoard(line)
    }
  }

  #groupAt(path: string): Namespace {
    const found = this.#groups.get(path)
    if (!found) throw new ArchiveFault(`the group ${path} is missing`)
    return found
  }

  async #addGroup({ group, name, description, visibility, settings: given }: Line & { kind: 'group' }): Promise<void> {
    const { ctx, tx, user, root } = this
    if (this.#groups.has(group)) throw new ArchiveFault(`the group ${group} is there twice`)
    const settings = await readSettings(ctx)
    const isRoot = group === ''
    const parent = isRoot ? root.parent_id && (await lockNamespace(tx, root.parent_id)) : this.#groupAt(group.split('/').slice(0, -1).join('/'))
    const above = parent || null
    // not more visible than its parent
    const level = Math.min(VISIBILITY_LEVEL[visibility], above?.visibility ?? VISIBILITY_LEVEL.public)
    const path = group.split('/').at(-1) as string
    const default_branch = given.default_branch ?? undefined
    const faults = await groupFaults(
      tx,
      { user, settings, parent: above, self: isRoot ? root : null },
      { description, default_branch, level, ...(!isRoot && { name, path }) },
    )
    if (!isRoot && above && (await isTooDeep(tx, above))) faults['parent_id'] = ['has too deep level of nesting']
    if (Object.keys(faults).length > 0)
      throw new ArchiveFault(`${group || root.path}: ${Object.entries(faults).map(([field, texts]) => `${field} ${texts.join(', ')}`)[0]}`)
    const values = { description, visibility: level, ...given }
    const id = isRoot ? root.id : (await insertGroup(tx, above, { name, path, ...values, ...createdNow(ctx) })).id
    if (isRoot) await tx.update(namespaces).set(values).where(eq(namespaces.id, id))
    else await audit(ctx, tx, { action: 'group_created', target: { type: 'group', id, name: `${root.full_path}/${group}` }, actorId: user.id })
    this.#groups.set(group, onlyRow(await tx.select().from(namespaces).where(eq(namespaces.id, id))))
  }

  async #addLabel({ group, title, color, description, priority }: Line & { kind: 'label' }): Promise<void> {
    const values = await labelColumns(this.ctx, { title, color, description })
    const named = { title: values.title as string, color: values.color as string }
    await this.tx.insert(labels).values({ ...values, ...named, priority, namespace_id: this.#groupAt(group).id, ...createdNow(this.ctx) })
  }

  async #addMilestone({ group, iid, closed, ...given }: Line & { kind: 'milestone' }): Promise<void> {
    const owner = { namespace_id: this.#groupAt(group).id }
    const { title, description, start_date, due_date } = given
    const values = milestoneColumns({ title, description, start_date, due_date })
    const state = closed ? ('closed' as const) : ('active' as const)
    await this.tx.insert(milestones).values({ ...values, title: values.title as string, iid, state, ...owner, ...createdNow(this.ctx) })
    await raiseIid(this.tx, owner, 'milestone', iid)
  }

  async #addBadge({ group, name, link_url, image_url }: Line & { kind: 'badge' }): Promise<void> {
    const namespace_id = this.#groupAt(group).id
    if ((await this.tx.$count(badges, eq(badges.namespace_id, namespace_id))) >= MAX_BADGES) throw new ArchiveFault(`more than ${MAX_BADGES} badges`)
    await this.tx.insert(badges).values({ ...badgeColumns({ name, link_url, image_url }), namespace_id, created_at: this.ctx.now() })
  }

  async #addBoard({ group, name, lists }: Line & { kind: 'board' }): Promise<void> {
    const now = createdNow(this.ctx)
    const namespace_id = this.#groupAt(group).id
    if ((await this.tx.$count(boards, eq(boards.namespace_id, namespace_id))) >= MAX_BOARDS) throw new ArchiveFault(`more than ${MAX_BOARDS} boards`)
    const values = { name: checkBoardName(name), namespace_id, ...now }
    const { id } = onlyRow(await this.tx.insert(boards).values(values).returning({ id: boards.id }))
    for (const [position, list] of lists.entries()) {
      const { group: above, title } = 'label' in list ? list.label : list.milestone
      const { id: owner } = this.#groupAt(above)
      const [found] =
        'label' in list
          ? await this.tx
              .select({ id: labels.id })
              .from(labels)
              .where(and(eq(labels.namespace_id, owner), eq(labels.title, title)))
          : await this.tx
              .select({ id: milestones.id })
              .from(milestones)
              .where(and(eq(milestones.namespace_id, owner), eq(milestones.title, title)))
      if (!found) throw new ArchiveFault(`the ${'label' in list ? 'label' : 'milestone'} of a list of ${name} is missing`)
      await this.tx
        .insert(boardLists)
        .values({ board_id: id, position, ...('label' in list ? { label_id: found.id } : { milestone_id: found.id }), ...now })
    }
  }
}
