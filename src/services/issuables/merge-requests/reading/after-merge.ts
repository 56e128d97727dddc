import type { SignedIn } from '../../../../access/actor.js'
import type { MergeRequestSubject } from '../../../../access/merge-requests.js'
import type { ProjectSubject } from '../../../../access/rules.js'
import type { Context } from '../../../../context.js'
import type { Oid } from '../../../../git/types.js'
import { branchExists } from '../../../repository/branches.js'
import { branchProtectionsOf, mayPushTo } from '../../../repository/protection.js'
import { type SingleMergeRequest, sourceOf } from './load.js'

/** What a reader may still do with the branches of a merge request. */
export interface BranchOptions {
  /** The source project, if the reader may push its branch. */
  source: ProjectSubject | null
  /** The source branch is there, and may be deleted. */
  deletable: boolean
  /** The commit from which the deleted source branch can be made again. */
  restorable: Oid | null
  /** The commit that merged, which can be reverted and picked. */
  merged: Oid | null
}

/** What a reader may do with the source branch, and with the commit of the merge (WB-106). */
export async function branchOptions(
  ctx: Context,
  caller: SignedIn,
  subject: MergeRequestSubject,
  record?: Pick<SingleMergeRequest, 'protections'>,
): Promise<BranchOptions> {
  const { request, project } = subject
  const found = await sourceOf(ctx, caller, subject, request)
  const protections = found && ((found.project.id === project.id && record?.protections) || (await branchProtectionsOf(ctx, found.project.id)))
  const source = found && protections && mayPushTo(found, protections, request.source_branch) ? found : null
  const merged = request.state === 'merged' && subject.can('push_code') ? (request.merge_commit_sha ?? request.squash_commit_sha) : null
  const isOwn = source !== null && request.source_branch !== source.project.default_branch && !protections?.isProtected(request.source_branch)
  if (request.state === 'opened' || !isOwn || project.archived) return { source, deletable: false, restorable: null, merged }
  const exists = await branchExists(ctx, source, request.source_branch)
  return { source, deletable: exists, restorable: exists ? null : (request.merged_head_sha ?? request.sha), merged }
}
