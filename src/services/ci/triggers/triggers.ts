import { and, asc, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../../access/actor.js'
import { fullPathOf, type ProjectSubject } from '../../../access/rules.js'
import type { Context } from '../../../context.js'
import type { Transaction } from '../../../db/client.js'
import { totalCount } from '../../../db/decoded.js'
import { onlyRow } from '../../../db/only-row.js'
import { pipelineTriggers, users } from '../../../db/schema/index.js'
import { statement } from '../../../db/statement.js'
import { forbidden, invalidRecord, notFound } from '../../../failures.js'
import { digestOf, newSecret } from '../../../lib/crypto/secret.js'
import { lengthOf, tooLong } from '../../../rules/path.js'
import { type AuditAction, audit, changesOf } from '../../core/audit.js'
import { createdNow } from '../../core/created-now.js'
import { lockName } from '../../core/lock-name.js'
import { type Page, type Paging, pageFrom } from '../../core/page.js'
import { unsealed } from '../../core/unsealed.js'
import { type UserRefRecord, userRefColumns } from '../../identity/user-ref.js'

type Row = typeof pipelineTriggers.$inferSelect

export interface Trigger extends Omit<Row, 'sealed' | 'digest'> {
  owner: UserRefRecord
  /** For the owner the whole of it, for others its beginning; null if it cannot be decrypted (SEC-257). */
  token: string | null
}

/** The most tokens of a project. */
const MAX_TRIGGERS = 100
const MAX_DESCRIPTION = 255
/** Characters of a token that those see whose it is not. */
const SHOWN_TO_OTHERS = 4

/** Binds an encrypted token to its project. */
export const triggerPurpose = ({ project_id }: Pick<Row, 'project_id'>) => `trigger token of project ${project_id}`

const columns = { trigger: pipelineTriggers, owner: userRefColumns(users) }

function shown(ctx: Context, caller: SignedIn, { trigger, owner }: { trigger: Row; owner: UserRefRecord }): Trigger {
  const { sealed, digest: _, ...row } = trigger
  const token = sealed === null ? null : unsealed(ctx, sealed, triggerPurpose(trigger))
  return { ...row, owner, token: row.owner_id === caller.user.id ? token : (token?.slice(0, SHOWN_TO_OTHERS) ?? null) }
}

const selectTriggers = statement('tokens that trigger pipelines', (db) =>
  db
    .select({ ...columns, total: totalCount() })
    .from(pipelineTriggers)
    .innerJoin(users, eq(users.id, pipelineTriggers.owner_id))
    .where(eq(pipelineTriggers.project_id, sql.placeholder('project')))
    .orderBy(asc(pipelineTriggers.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The tokens of a project that trigger pipelines, the oldest first (CI-220). */
export async function listTriggers(ctx: Context, caller: SignedIn, { project }: ProjectSubject, paging: Paging): Promise<Page<Trigger>> {
  const { items, total } = await pageFrom(selectTriggers(ctx.db, null), { project: project.id }, paging)
  return { items: items.map((row) => shown(ctx, caller, row)), total }
}

const ofProject = ({ project }: ProjectSubject, id: number) => and(eq(pipelineTriggers.project_id, project.id), eq(pipelineTriggers.id, id))

export async function getTrigger(ctx: Context, caller: SignedIn, subject: ProjectSubject, id: number): Promise<Trigger> {
  const [found] = await ctx.db.write
    .select(columns)
    .from(pipelineTriggers)
    .innerJoin(users, eq(users.id, pipelineTriggers.owner_id))
    .where(ofProject(subject, id))
  if (!found) throw notFound('Trigger')
  return shown(ctx, caller, found)
}

function check(description: string): void {
  if (lengthOf(description) > MAX_DESCRIPTION) throw invalidRecord({ description: [tooLong(MAX_DESCRIPTION)] })
}

const auditTrigger = (
  ctx: Context,
  tx: Transaction,
  { project }: ProjectSubject,
  action: Extract<AuditAction, `trigger_${string}`>,
  changes: Record<string, unknown>,
) => audit(ctx, tx, { action, target: { type: 'project', id: project.id, name: fullPathOf(project) }, changes })

/** Makes a token whose pipelines are made as the caller. */
export async function createTrigger(ctx: Context, caller: SignedIn, subject: ProjectSubject, description: string): Promise<Trigger> {
  check(description)
  const project_id = subject.project.id
  const token = newSecret(ctx.random)
  const id = await ctx.db.transaction(async (tx) => {
    await lockName(tx, `triggers of project ${project_id}`)
    if ((await tx.$count(pipelineTriggers, eq(pipelineTriggers.project_id, project_id))) >= MAX_TRIGGERS)
      throw invalidRecord({ base: [`there are already ${MAX_TRIGGERS} triggers`] })
    const made = onlyRow(
      await tx
        .insert(pipelineTriggers)
        .values({
          project_id,
          owner_id: caller.user.id,
          description,
          digest: digestOf(token),
          sealed: ctx.encryption.seal(token, triggerPurpose({ project_id })),
          ...createdNow(ctx),
        })
        .returning({ id: pipelineTriggers.id }),
    )
    await auditTrigger(ctx, tx, subject, 'trigger_created', { trigger_id: made.id, description })
    return made.id
  })
  return getTrigger(ctx, caller, subject, id)
}

/** Changes the description of a token of the caller. */
export async function updateTrigger(
  ctx: Context,
  caller: SignedIn,
  subject: ProjectSubject,
  id: number,
  { description }: { description?: string | undefined },
): Promise<Trigger> {
  const before = await getTrigger(ctx, caller, subject, id)
  if (before.owner_id !== caller.user.id) throw forbidden()
  if (description === undefined || description === before.description) return before
  check(description)
  await ctx.db.transaction(async (tx) => {
    await tx.update(pipelineTriggers).set({ description, updated_at: ctx.now() }).where(ofProject(subject, id))
    await auditTrigger(ctx, tx, subject, 'trigger_updated', { trigger_id: id, ...changesOf(before, { description }) })
  })
  return getTrigger(ctx, caller, subject, id)
}

/** Ends a token, whoever owns it. */
export async function revokeTrigger(ctx: Context, subject: ProjectSubject, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [gone] = await tx.delete(pipelineTriggers).where(ofProject(subject, id)).returning({ description: pipelineTriggers.description })
    if (!gone) throw notFound('Trigger')
    await auditTrigger(ctx, tx, subject, 'trigger_revoked', { trigger_id: id, description: gone.description })
  })
}
