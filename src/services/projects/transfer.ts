import { and, eq, sql } from 'drizzle-orm'
import type { SignedIn } from '../../access/actor.js'
import { findGroupFor, fullPathOf, type Namespace, type ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { isUniqueViolation, type Transaction } from '../../db/client.js'
import { members, namespaceAncestry, namespaces, projectShares, projects, redirects, routes } from '../../db/schema/index.js'
import { forbidden, notFound, refused } from '../../failures.js'
import { numericId } from '../../lib/numeric-id.js'
import { visibilityWord } from '../../lib/visibility.js'
import { audit } from '../audit.js'
import { claimRoute } from '../namespaces.js'
import { touchList } from '../totals.js'
import { addTakenFaults, checkLimit, placeIn } from './create.js'
import { lowerForks } from './fork-network.js'

const TAKEN = 'Project with same name or path in target namespace already exists'
const SAME = 'Project is already in this namespace'

/**
 * Moves a project to another namespace, as a whole or not at all (PR-13, PR-18, SEC-133). Its repositories stay where they are, for their place follows the id; the old path leads Git to the new one (GH-4; not the API, W-8).
 * Rights that came from the old group end with the move and those of the new one begin (GR-43); a visibility above the new group's becomes the group's, and that of its forks with it (SEC-40, AC-5). The caller's right to the target is `transferTarget`'s to check.
 */
export async function transferProject(ctx: Context, caller: SignedIn, subject: ProjectSubject, target: Namespace): Promise<void> {
  const { id } = subject.project
  await ctx.db
    .transaction(async (tx) => {
      const [to] = await tx.select().from(namespaces).where(eq(namespaces.id, target.id)).for('update')
      if (!to) throw notFound('Namespace')
      const [project] = await tx.select().from(projects).where(eq(projects.id, id)).for('update')
      if (!project) throw notFound('Project')
      if (project.namespace_id === to.id) throw refused(SAME)
      const [from] = await tx.select().from(namespaces).where(eq(namespaces.id, project.namespace_id))
      if (!from) throw notFound('Project')
      // PR-14: a place in a personal namespace is one, however it is taken
      if (to.kind === 'user') await checkLimit(tx, caller.user, to.id)
      let taken = false
      await addTakenFaults(tx, to, project, id, () => {
        taken = true
      })
      const key = `${to.full_path}/${project.path}`.toLowerCase()
      const [other] = await tx.select({ key: routes.key }).from(routes).where(eq(routes.key, key))
      if (taken || other) throw refused(TAKEN)

      const former = `${from.full_path}/${project.path}`
      const visibility = to.kind === 'group' ? Math.min(project.visibility, to.visibility) : project.visibility
      await tx.update(projects).set({ namespace_id: to.id, visibility, updated_at: ctx.now() }).where(eq(projects.id, id))
      await tx.delete(routes).where(eq(routes.key, former.toLowerCase()))
      await claimRoute(tx, `${to.full_path}/${project.path}`, { project_id: id })
      await tx
        .insert(redirects)
        .values({ key: former.toLowerCase(), project_id: id })
        .onConflictDoUpdate({ target: redirects.key, set: { project_id: id } })
      await handOver(tx, caller, id, to)
      await audit(ctx, tx, {
        action: 'project_transferred',
        target: { type: 'project', id, name: fullPathOf({ path: project.path, namespace: to }) },
        changes: { namespace: [from.full_path, to.full_path] },
      })
      if (visibility < project.visibility) {
        await audit(ctx, tx, {
          action: 'visibility_changed',
          target: { type: 'project', id, name: fullPathOf({ path: project.path, namespace: to }) },
          changes: { visibility: [visibilityWord(project.visibility), visibilityWord(visibility)] },
        })
        await lowerForks(ctx, tx, id, visibility)
      }
      await touchList(tx, 'projects')
    })
    .catch((error: unknown) => {
      // somebody took the path in the same moment
      if (isUniqueViolation(error)) throw refused(TAKEN)
      throw error
    })
}

/** Direct members stay, a former personal owner too (GR-43); that of a personal namespace is one (AC-13). A share with a group the project now lies in has nothing more to give (PR-23). */
async function handOver(tx: Transaction, caller: SignedIn, id: number, to: Namespace) {
  if (to.owner_id !== null) {
    await tx.delete(members).where(and(eq(members.project_id, id), eq(members.user_id, to.owner_id)))
    await tx.insert(members).values({ user_id: to.owner_id, project_id: id, access_level: 40, created_by_id: caller.user.id })
  }
  await tx.execute(sql`delete from ${projectShares} s using ${namespaceAncestry} a
    where s.project_id = ${id} and a.descendant_id = ${to.id} and s.group_id = a.ancestor_id`)
}

/** The namespace named by an id or a full path, where this caller may put a project (5.2 row 4): 404 out of his sight, 403 without the right. */
export async function transferTarget(ctx: Context, caller: SignedIn, named: string): Promise<Namespace> {
  const id = numericId(named)
  const [namespace] = await ctx.db.write
    .select()
    .from(namespaces)
    .where(
      id !== null ? eq(namespaces.id, id) : sql`${namespaces.id} = (select r.namespace_id from ${routes} r where r.key = ${named.toLowerCase()})`,
    )
  if (!namespace) throw notFound('Namespace')
  if (namespace.kind === 'group') await findGroupFor(ctx, caller, String(namespace.id), 'Namespace')
  else if (namespace.owner_id !== caller.user.id && !caller.user.admin) throw notFound('Namespace')
  // AC-8: what external people may not create they may not bring along either
  if (caller.user.external && !caller.user.admin) throw forbidden()
  if (!(await placeIn(ctx, caller, namespace))) throw forbidden()
  return namespace
}
