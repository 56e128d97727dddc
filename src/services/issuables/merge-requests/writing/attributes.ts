import { and, eq, isNull, ne } from 'drizzle-orm'
import type { SignedIn } from '../../../../access/actor.js'
import { type MergeRequestRelations, seesMergeRequest } from '../../../../access/can.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Transaction } from '../../../../db/client.js'
import { mergeRequests } from '../../../../db/schema/index.js'
import { conflict, unprocessable } from '../../../../failures.js'
import { permittedAmong } from '../../readers.js'
import { readersAmong } from '../reading/readers.js'

const UNRELATED: MergeRequestRelations = { author_id: 0, assignee_ids: [] }

/** Those of these users who may read the merge requests of the project (MR-26). */
export const assignableAmong = (tx: Pick<Transaction, 'execute'>, { project }: ProjectSubject, userIds: readonly number[]): Promise<number[]> =>
  permittedAmong(userIds, (candidates) => readersAmong(tx, project, UNRELATED, candidates))

/** Source and target of a merge request. */
export interface Branches {
  /** The merge request's own id if it exists: it is not its own duplicate. */
  id?: number
  project_id: number
  target_branch: string
  source_project_id: number | null
  source_branch: string
}

/** 422 when source and target are the same branch of the same project (MR-30). */
export function refuseSameBranch({ project_id, target_branch, source_project_id, source_branch }: Branches): void {
  if (source_project_id === project_id && source_branch === target_branch)
    throw unprocessable('You can not use same project/branch for source and target')
}

/** An index has the names of both branches in one row, which may have 2,704 bytes. */
const MAX_BRANCH_BYTES = 1_000

/** What is wrong with the name of a branch, whether it exists or not. */
export const branchFaults = (name: string): string[] =>
  name.trim() === '' ? ["can't be blank"] : Buffer.byteLength(name) > MAX_BRANCH_BYTES ? [`is too long (maximum is ${MAX_BRANCH_BYTES} bytes)`] : []

/** Finds another open merge request for these branches. */
export async function findDuplicate(
  tx: Pick<Transaction, 'select'>,
  { id = 0, project_id, target_branch, source_project_id, source_branch }: Branches,
): Promise<(MergeRequestRelations & { title: string }) | null> {
  if (source_project_id === null) return null
  const [duplicate] = await tx
    .select({ title: mergeRequests.title, author_id: mergeRequests.author_id, assignee_ids: mergeRequests.assignee_ids })
    .from(mergeRequests)
    .where(
      and(
        eq(mergeRequests.project_id, project_id),
        eq(mergeRequests.target_branch, target_branch),
        eq(mergeRequests.source_project_id, source_project_id),
        eq(mergeRequests.source_branch, source_branch),
        eq(mergeRequests.state, 'opened'),
        isNull(mergeRequests.deleted_at),
        ne(mergeRequests.id, id),
      ),
    )
  return duplicate ?? null
}

/**
 * 409 when there is an open merge request for the same branches (MR-32). For a caller who may not read that one, the
 * message has the title of their own merge request (SEC-32).
 */
export async function refuseDuplicate(
  tx: Pick<Transaction, 'select'>,
  caller: SignedIn,
  subject: ProjectSubject,
  branches: Branches,
  title: string,
): Promise<void> {
  const duplicate = await findDuplicate(tx, branches)
  if (!duplicate) return
  const shown = seesMergeRequest({ ...subject, user: caller.user }, duplicate) ? duplicate.title : title
  throw conflict([`Cannot Create: This merge request already exists: ["${shown}"]`])
}
