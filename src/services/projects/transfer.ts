import { eq, sql } from 'drizzle-orm'
import { fullPathOf, type Project } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { members, projects } from '../../db/schema/index.js'
import { type Failure, notFound } from '../../failures.js'
import { visibilityWord } from '../../lib/visibility.js'
import { audit } from '../audit.js'
import { isRouteTaken, lockNamespace, moveRoute } from '../namespaces.js'
import { touchLists } from '../totals.js'
import { addTakenFaults } from './create.js'

/** Moves a project to another namespace as a whole or not at all (GR-41 to GR-43, PR-13, PR-18, SEC-133). Rights that came from the old one end, direct members stay; it becomes no more visible than the group. `refused` makes the answer of a text: the endpoints word it differently. */
export async function transferProject(
  ctx: Context,
  { id }: Pick<Project, 'id'>,
  targetId: number,
  refused: (text: string) => Failure,
): Promise<void> {
  await ctx.db.transaction(async (tx) => {
    const [before] = await tx.select({ namespace_id: projects.namespace_id }).from(projects).where(eq(projects.id, id))
    if (!before) throw notFound('Project')
    // always in this order, so that two who move in opposite directions do not wait for each other
    const locked = new Map<number, Awaited<ReturnType<typeof lockNamespace>>>()
    for (const namespace of [before.namespace_id, targetId].sort((a, b) => a - b)) locked.set(namespace, await lockNamespace(tx, namespace))
    const [source, target] = [locked.get(before.namespace_id), locked.get(targetId)]
    const [project] = await tx.select().from(projects).where(eq(projects.id, id)).for('update')
    if (!project || !source || project.namespace_id !== source.id) throw notFound('Project')
    if (!target) throw notFound('Namespace')
    if (target.id === source.id) throw refused('Transfer failed, please contact an admin.')
    const faults: string[] = []
    await addTakenFaults(tx, target, project, project.id, (field, texts) => texts.length > 0 && faults.push(field))
    if (await isRouteTaken(tx, `${target.full_path}/${project.path}`)) faults.push('path')
    if (faults.length > 0) throw refused(taken(faults))

    const visibility = target.kind === 'group' ? Math.min(project.visibility, target.visibility) : project.visibility
    if (visibility < project.visibility && (await hasForkAbove(tx, id, visibility)))
      throw refused(`Transfer failed, there are forks that are more than ${visibilityWord(visibility)}.`)
    await moveRoute(tx, id, fullPathOf({ ...project, namespace: source }), fullPathOf({ ...project, namespace: target }))
    await tx.update(projects).set({ namespace_id: target.id, visibility, updated_at: ctx.now() }).where(eq(projects.id, id))
    // PR-23: no project is shared with the group it is in, nor with one above
    await tx.execute(
      sql`delete from project_shares s using namespace_ancestry a where s.project_id = ${id} and s.group_id = a.ancestor_id and a.descendant_id = ${target.id}`,
    )
    if (target.owner_id !== null) await makeOwnersMembership(tx, id, target.owner_id)
    await audit(ctx, tx, {
      action: 'project_transferred',
      target: { type: 'project', id, name: fullPathOf({ ...project, namespace: source }) },
      changes: {
        namespace: [source.full_path, target.full_path],
        ...(visibility !== project.visibility && { visibility: [visibilityWord(project.visibility), visibilityWord(visibility)] }),
      },
    })
    await touchLists(tx)
  })
}

const taken = (fields: string[]) => `Project with same ${fields.includes('path') ? 'path' : 'name'} in target namespace already exists`

/** AC-5: a fork is never more visible than its source. */
async function hasForkAbove(tx: Transaction, id: number, visibility: number) {
  const [fork] = await tx
    .select({ id: projects.id })
    .from(projects)
    .where(sql`${projects.forked_from_id} = ${id} and ${projects.visibility} > ${visibility}`)
    .limit(1)
  return fork !== undefined
}

/** AC-13: the owner of a personal project is one of its members. */
async function makeOwnersMembership(tx: Transaction, project_id: number, user_id: number) {
  const membership = { access_level: 40, expires_at: null, requested_at: null }
  await tx
    .insert(members)
    .values({ user_id, project_id, ...membership })
    .onConflictDoUpdate({ target: [members.user_id, members.project_id], targetWhere: sql`${members.project_id} is not null`, set: membership })
}
