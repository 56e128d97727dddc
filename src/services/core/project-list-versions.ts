import { type SQLWrapper, sql } from 'drizzle-orm'
import { qualified } from '../../access/roles.js'
import type { Transaction } from '../../db/client.js'
import { decoded } from '../../db/decoded.js'
import { namespaceAncestry, projectListVersions, projects } from '../../db/schema/index.js'

type Kind = (typeof projectListVersions.$inferSelect)['kind']

/**
 * A column of queries of lists within one project: the version that their totals are cached by; null while nothing was
 * ever written.
 */
export const projectVersionOf = (kind: Kind, projectId: SQLWrapper) =>
  decoded(
    qualified(sql<number | null>`(select v.version from ${projectListVersions} v where v.project_id = ${projectId} and v.kind = ${kind})`),
    (value) => (value === null ? null : Number(value)),
  )

/**
 * Records that rows of a kind were added, removed or changed within a project. Call it at the end of the transaction
 * that changed them.
 */
export async function touchProjectList(tx: Pick<Transaction, 'insert'>, projectId: number, kind: Kind): Promise<void> {
  await tx
    .insert(projectListVersions)
    .values({ project_id: projectId, kind, version: 1 })
    .onConflictDoUpdate({
      target: [projectListVersions.project_id, projectListVersions.kind],
      set: { version: sql`${projectListVersions.version} + 1` },
    })
}

/** The same for all projects of a group and its descendants, for what they inherit. */
async function touchProjectListsBelow(tx: Pick<Transaction, 'execute'>, groupId: number, kind: Kind): Promise<void> {
  await tx.execute(sql`update ${projectListVersions} set version = version + 1 where kind = ${kind} and project_id in (
    select p.id from ${namespaceAncestry} a join ${projects} p on p.namespace_id = a.descendant_id where a.ancestor_id = ${groupId})`)
}

/** The same for all kinds in all projects. */
export async function touchAllProjectLists(tx: Pick<Transaction, 'execute'>): Promise<void> {
  await tx.execute(sql`update ${projectListVersions} set version = version + 1`)
}

/**
 * A label or a milestone of a project, or of a group, has changed, by which both issues and merge requests can be
 * filtered.
 */
export async function touchWhatIsBelow(
  tx: Pick<Transaction, 'insert' | 'execute'>,
  source: { projectId: number } | { groupId: number },
): Promise<void> {
  for (const kind of ['issues', 'merge_requests'] as const)
    await ('projectId' in source ? touchProjectList(tx, source.projectId, kind) : touchProjectListsBelow(tx, source.groupId, kind))
}
