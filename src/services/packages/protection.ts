import { and, asc, eq, sql } from 'drizzle-orm'
import { effectiveLevel } from '../../access/can.js'
import { fullPathOf, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { totalCount } from '../../db/decoded.js'
import { onlyRow } from '../../db/only-row.js'
import { packageProtectionRules } from '../../db/schema/index.js'
import { statement } from '../../db/statement.js'
import { Failure, invalidRecord, notFound } from '../../failures.js'
import { PROTECTION_LEVELS, type ProtectionLevel, wordOf } from '../../rules/packages/protection.js'
import type { PackageType } from '../../rules/packages/types.js'
import { type AuditAction, audit, changesOf } from '../core/audit.js'
import { createdNow } from '../core/created-now.js'
import { lockName } from '../core/lock-name.js'
import { type Page, type Paging, pageFrom } from '../core/page.js'
import { matchesPattern } from '../repository/protection.js'

export type PackageProtectionRule = typeof packageProtectionRules.$inferSelect

export interface ProtectionAttributes {
  package_type: PackageType
  package_name_pattern: string
  minimum_access_level_for_push: ProtectionLevel | null
  minimum_access_level_for_delete: ProtectionLevel | null
}
type Given = { [Name in keyof ProtectionAttributes]?: ProtectionAttributes[Name] | undefined }

/** The most rules of a project. */
export const MAX_RULES = 100
const MAX_PATTERN = 255
const TAKEN = { package_name_pattern: ['has already been taken'] }
const PATTERN = /^[\w.+~@*/-]+$/

const attributesOf = (rule: PackageProtectionRule): ProtectionAttributes => ({
  package_type: rule.package_type,
  package_name_pattern: rule.package_name_pattern,
  minimum_access_level_for_push: wordOf(rule.minimum_push_level),
  minimum_access_level_for_delete: wordOf(rule.minimum_delete_level),
})

const selectRules = statement('package protection rules', (db) =>
  db
    .select({ rule: packageProtectionRules, total: totalCount() })
    .from(packageProtectionRules)
    .where(eq(packageProtectionRules.project_id, sql.placeholder('project')))
    .orderBy(asc(packageProtectionRules.id))
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset')),
)

/** The rules of a project, the oldest first (PK-91). */
export async function listProtectionRules(ctx: Context, { project }: ProjectSubject, paging: Paging): Promise<Page<PackageProtectionRule>> {
  const { items, total } = await pageFrom(selectRules(ctx.db, null), { project: project.id }, paging)
  return { items: items.map(({ rule }) => rule), total }
}

/** The spelling by which names are compared: no other spelling of a name that clients take for the same gets around a rule. */
const comparable = (type: PackageType, name: string) => {
  const lower = name.toLowerCase()
  return type === 'pypi' ? lower.replace(/[-_.]+/g, '-') : lower
}

/** Throws 403 if a rule keeps the caller from publishing or deleting a package of this name (PK-90). */
export async function checkProtected(
  db: Pick<Transaction, 'select'>,
  subject: ProjectSubject,
  act: 'push' | 'delete',
  { type, name }: { type: PackageType; name: string },
): Promise<void> {
  const rules = await db
    .select()
    .from(packageProtectionRules)
    .where(and(eq(packageProtectionRules.project_id, subject.project.id), eq(packageProtectionRules.package_type, type)))
  const level = subject.user?.admin ? PROTECTION_LEVELS.admin : effectiveLevel(subject)
  const isRefused = rules.some(({ package_name_pattern: pattern, minimum_push_level, minimum_delete_level }) => {
    const least = act === 'push' ? minimum_push_level : minimum_delete_level
    return least !== null && level < least && matchesPattern(comparable(type, pattern), comparable(type, name))
  })
  // npm reads `error`
  if (isRefused) throw new Failure('forbidden', { message: '403 Forbidden - Package protected.', error: 'Package protected.' })
}

const ofProject = ({ project }: ProjectSubject, id: number) =>
  and(eq(packageProtectionRules.project_id, project.id), eq(packageProtectionRules.id, id))

/** The attributes as they are stored; throws what is wrong with them. */
function checked({ package_type, package_name_pattern, ...levels }: ProtectionAttributes) {
  const { minimum_access_level_for_push: push, minimum_access_level_for_delete: remove } = levels
  const faults: Record<string, string[]> = {}
  const fault = patternFault(package_name_pattern)
  if (fault) faults['package_name_pattern'] = [fault]
  if (!push && !remove) faults['base'] = ['needs a minimum access level for push or for delete']
  if (Object.keys(faults).length > 0) throw invalidRecord(faults)
  return {
    package_type,
    package_name_pattern,
    minimum_push_level: push && PROTECTION_LEVELS[push],
    minimum_delete_level: remove && PROTECTION_LEVELS[remove],
  }
}

function patternFault(pattern: string): string | null {
  if (pattern.trim() === '') return "can't be blank"
  if (pattern.length > MAX_PATTERN) return `is too long (maximum is ${MAX_PATTERN} characters)`
  return PATTERN.test(pattern) ? null : 'is invalid'
}

const auditRule = (
  ctx: Context,
  tx: Transaction,
  { project }: ProjectSubject,
  action: Extract<AuditAction, `package_protection_rule_${string}`>,
  changes: Record<string, unknown>,
) => audit(ctx, tx, { action, target: { type: 'project', id: project.id, name: fullPathOf(project) }, changes })

const lockRules = (tx: Transaction, { project }: ProjectSubject) => lockName(tx, `package protection rules of project ${project.id}`)

async function refuseTwice(tx: Transaction, subject: ProjectSubject, { package_type, package_name_pattern }: ProtectionAttributes, but = 0) {
  const same = and(
    eq(packageProtectionRules.project_id, subject.project.id),
    eq(packageProtectionRules.package_type, package_type),
    eq(packageProtectionRules.package_name_pattern, package_name_pattern),
    sql`${packageProtectionRules.id} <> ${but}`,
  )
  if ((await tx.$count(packageProtectionRules, same)) > 0) throw new Failure('unprocessable', { message: TAKEN }, {}, TAKEN)
}

export async function createProtectionRule(ctx: Context, subject: ProjectSubject, given: ProtectionAttributes): Promise<PackageProtectionRule> {
  const columns = checked(given)
  const project_id = subject.project.id
  return ctx.db.transaction(async (tx) => {
    await lockRules(tx, subject)
    await refuseTwice(tx, subject, given)
    if ((await tx.$count(packageProtectionRules, eq(packageProtectionRules.project_id, project_id))) >= MAX_RULES)
      throw invalidRecord({ base: [`there are already ${MAX_RULES} rules`] })
    const values = { project_id, ...columns, ...createdNow(ctx) }
    const made = onlyRow(await tx.insert(packageProtectionRules).values(values).returning())
    await auditRule(ctx, tx, subject, 'package_protection_rule_created', { rule_id: made.id, ...given })
    return made
  })
}

export async function updateProtectionRule(ctx: Context, subject: ProjectSubject, id: number, given: Given): Promise<PackageProtectionRule> {
  return ctx.db.transaction(async (tx) => {
    await lockRules(tx, subject)
    const [found] = await tx.select().from(packageProtectionRules).where(ofProject(subject, id))
    if (!found) throw notFound()
    const before = attributesOf(found)
    const after = { ...before, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) } as ProtectionAttributes
    const columns = checked(after)
    await refuseTwice(tx, subject, after, id)
    const changes = changesOf(before, after)
    if (Object.keys(changes).length === 0) return found
    const values = { ...columns, updated_at: ctx.now() }
    const changed = onlyRow(await tx.update(packageProtectionRules).set(values).where(ofProject(subject, id)).returning())
    await auditRule(ctx, tx, subject, 'package_protection_rule_updated', { rule_id: id, ...changes })
    return changed
  })
}

export async function deleteProtectionRule(ctx: Context, subject: ProjectSubject, id: number): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [gone] = await tx.delete(packageProtectionRules).where(ofProject(subject, id)).returning()
    if (!gone) throw notFound()
    await auditRule(ctx, tx, subject, 'package_protection_rule_deleted', { rule_id: id, ...attributesOf(gone) })
  })
}
