import { eq, sql } from 'drizzle-orm'
import { isOutsider, type SignedIn } from '../../access/actor.js'
import { fullPathOf, getGroupFor, type Namespace, type Project } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { members, namespaces, projects, routes } from '../../db/schema/index.js'
import { type Failure, forbidden, notFound } from '../../failures.js'
import { numericId } from '../../lib/numeric-id.js'
import { visibilityName } from '../../rules/visibility.js'
import { audit } from '../core/audit.js'
import { isRouteTaken, lockNamespace, moveRoute } from '../identity/namespaces.js'
import { addTakenFaults, checkLimit, namespaceFor } from './create.js'
import { lowerForks } from './fork-network.js'
import { transferLabels } from './transfer-labels.js'

/**
 * Transfers a project to another namespace in one transaction (GR-41 to GR-43, PR-13, PR-18, SEC-133). Inherited access
 * from the old namespace ends and direct members stay. The visibility is lowered to that of the group, and that of
 * forks to the project's (AC-5). The old path redirects Git (GH-4) but not the API (W-8). The endpoints differ in their
 * error messages: `sameMessage` is the one for a project that is already there, and `refuse` makes the error from a
 * message. The caller has checked the access to the target.
 */
export async function transferProject(
  ctx: Context,
  caller: SignedIn,
  { id }: Pick<Project, 'id'>,
  targetId: number,
  { sameMessage, refuse }: { sameMessage: string; refuse: (text: string) => Failure },
): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [before] = await tx.select({ namespace_id: projects.namespace_id }).from(projects).where(eq(projects.id, id))
    if (!before) throw notFound('Project')
    // locked in order of their ids, so that transfers in opposite directions do not deadlock
    const locked = new Map<number, Awaited<ReturnType<typeof lockNamespace>>>()
    for (const namespace of [before.namespace_id, targetId].sort((a, b) => a - b)) locked.set(namespace, await lockNamespace(tx, namespace))
    const [source, target] = [locked.get(before.namespace_id), locked.get(targetId)]
    const [project] = await tx.select().from(projects).where(eq(projects.id, id)).for('update')
    if (!project || project.marked_for_deletion_at) throw notFound('Project')
    if (!target) throw notFound('Namespace')
    if (target.id === project.namespace_id) throw refuse(sameMessage)
    // another call has moved it since it was read
    if (project.namespace_id !== source?.id) throw refuse('Project was transferred to another namespace meanwhile')
    // a project moved into a personal namespace counts towards the projects limit (PR-14)
    if (target.kind === 'user') await checkLimit(tx, caller.user, target.id)
    const faults: string[] = []
    await addTakenFaults(tx, target, project, project.id, (field, texts) => texts.length > 0 && faults.push(field))
    if (await isRouteTaken(tx, `${target.full_path}/${project.path}`)) faults.push('path')
    if (faults.length > 0) throw refuse(takenMessage(faults))

    const visibility = target.kind === 'group' ? Math.min(project.visibility, target.visibility) : project.visibility
    await moveRoute(tx, id, fullPathOf({ ...project, namespace: source }), fullPathOf({ ...project, namespace: target }))
    await tx.update(projects).set({ namespace_id: target.id, visibility, updated_at: ctx.now() }).where(eq(projects.id, id))
    // a project cannot be shared with the group it is in or an ancestor of it (PR-23)
    await tx.execute(
      sql`delete from project_shares s using namespace_ancestry a where s.project_id = ${id} and s.group_id = a.ancestor_id and a.descendant_id = ${target.id}`,
    )
    await transferLabels(tx, id, target.id, ctx.now())
    if (target.owner_id !== null) await addOwnerMembership(tx, id, target.owner_id)
    await audit(ctx, tx, {
      action: 'project_transferred',
      target: { type: 'project', id, name: fullPathOf({ ...project, namespace: source }) },
      changes: {
        namespace: [source.full_path, target.full_path],
        ...(visibility !== project.visibility && { visibility: [visibilityName(project.visibility), visibilityName(visibility)] }),
      },
    })
    if (visibility < project.visibility) await lowerForks(ctx, tx, id, visibility)
  })
}

const takenMessage = (fields: string[]) => `Project with same ${fields.includes('path') ? 'path' : 'name'} in target namespace already exists`

/** Makes the owner of a personal project one of its members (AC-13). */
async function addOwnerMembership(tx: Transaction, project_id: number, user_id: number) {
  const membership = { access_level: 40, expires_at: null, requested_at: null }
  await tx
    .insert(members)
    .values({ user_id, project_id, ...membership })
    .onConflictDoUpdate({ target: [members.user_id, members.project_id], targetWhere: sql`${members.project_id} is not null`, set: membership })
}

/**
 * The target namespace of a transfer, by id or full path (5.2 row 4). 404 when the caller may not see it, 403 when they
 * may not create projects in it.
 */
export async function transferTarget(ctx: Context, caller: SignedIn, named: string): Promise<Namespace> {
  const id = numericId(named)
  const [namespace] = await ctx.db.write
    .select()
    .from(namespaces)
    .where(
      id !== null ? eq(namespaces.id, id) : sql`${namespaces.id} = (select r.namespace_id from ${routes} r where r.key = ${named.toLowerCase()})`,
    )
  if (!namespace) throw notFound('Namespace')
  if (namespace.kind === 'group') await getGroupFor(ctx, caller, String(namespace.id), 'Namespace')
  else if (namespace.owner_id !== caller.user.id && !caller.user.admin) throw notFound('Namespace')
  // external users may neither create nor transfer projects (AC-8)
  if (isOutsider(caller.user)) throw forbidden()
  if (!(await namespaceFor(ctx, caller, namespace))) throw forbidden()
  return namespace
}
