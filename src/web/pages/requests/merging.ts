import { z } from 'zod'
import { onMergeRequest } from '../../../access/merge-requests.js'
import { conflict, forbidden, refused } from '../../../failures.js'
import { bool, orDefault, str } from '../../../http/params.js'
import { isDraft, withoutDraftMark } from '../../../rules/draft.js'
import { withTask } from '../../../rules/references.js'
import { acceptMergeRequest, cancelAutomaticMerge } from '../../../services/issuables/merge-requests/merging/accept.js'
import { startRebase } from '../../../services/issuables/merge-requests/merging/rebase.js'
import { branchOptions } from '../../../services/issuables/merge-requests/reading/after-merge.js'
import { isUnrelated } from '../../../services/issuables/merge-requests/reading/contents.js'
import { pickCommit, revertCommit } from '../../../services/issuables/merge-requests/reading/picked.js'
import { approve, unapprove } from '../../../services/issuables/merge-requests/writing/approvals.js'
import { updateMergeRequest } from '../../../services/issuables/merge-requests/writing/update.js'
import { createBranch, deleteBranch } from '../../../services/repository/branches.js'
import { checkVersion } from '../../components/editor/version.js'
import { shortId } from '../../components/files/code.js'
import { t } from '../../language/language.js'
import { form, Redirect } from '../../page.js'
import { AT, addressOf, read, within } from './address.js'
import { mayRebase, merge, pick } from './merge-box.js'
import { mergeRequestPage } from './show.js'

const updates = onMergeRequest('update_merge_request')

/** Marks a draft as ready, or the other way round. */
export const requestReady = form({
  at: `${AT}/ready`,
  access: updates,
  input: z.object({ draft: orDefault(bool(), false) }),
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input: { draft } }) {
    const { title, state } = subject.request
    if (state !== 'opened' || isDraft(title) === draft)
      throw conflict(
        state !== 'opened'
          ? t('The merge request is not open')
          : draft
            ? t('The merge request is a draft already')
            : t('The merge request is ready already'),
      )
    await updateMergeRequest(ctx, caller, subject, { title: draft ? `Draft: ${title}` : withoutDraftMark(title) })
    return new Redirect(addressOf(subject), { notice: draft ? t('The merge request is a draft.') : t('The merge request is ready.') })
  },
})

export const requestMerge = form({
  at: `${AT}/merge`,
  access: onMergeRequest('accept_merge_request'),
  input: merge,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input }) {
    const { sha, commit_message, squash_commit_message, squash, ...given } = input
    const { squash_option } = subject.project
    const { request } = await acceptMergeRequest(ctx, caller, subject, {
      ...given,
      sha: sha || undefined,
      merge_commit_message: commit_message.trim() || undefined,
      squash_commit_message: squash_commit_message.trim() || undefined,
      squash: squash_option === 'never' || squash_option === 'always' ? undefined : squash,
    })
    return new Redirect(addressOf(subject), { notice: request.state === 'merged' ? t('Merged.') : t('This is merged when its pipeline succeeds.') })
  },
})

export const mergeCancellation = form({
  at: `${AT}/cancel_merge_when_pipeline_succeeds`,
  access: read,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject }) {
    await cancelAutomaticMerge(ctx, caller, subject)
    return new Redirect(addressOf(subject), { notice: t('Automatic merge canceled.') })
  },
})

export const requestRebase = form({
  at: `${AT}/rebase`,
  access: read,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject }) {
    if (!mayRebase(subject.request, await isUnrelated(ctx, subject.request))) throw conflict(t('The merge request cannot be rebased at the moment'))
    await startRebase(ctx, caller, subject)
    return new Redirect(addressOf(subject), { notice: t('Rebase started.') })
  },
})

const approving = (name: 'approve' | 'unapprove', notice: () => string) =>
  form({
    at: `${AT}/${name}`,
    access: onMergeRequest('approve_merge_request'),
    input: z.object({ sha: orDefault(str(), '') }),
    on: mergeRequestPage,
    async submit({ ctx, caller, subject, input }) {
      await (name === 'approve' ? approve(ctx, caller, subject, input.sha || undefined) : unapprove(ctx, caller, subject))
      return new Redirect(addressOf(subject), { notice: notice() })
    },
  })

export const requestApproval = approving('approve', () => t('Merge request approved.'))
export const requestUnapproval = approving('unapprove', () => t('Approval revoked.'))

/** Ticks a task of the description, if that has not changed since the page was made (WB-107). */
export const requestTasks = form({
  at: `${AT}/tasks`,
  access: updates,
  input: z.object({ task: str(), version: orDefault(str(), '') }),
  on: mergeRequestPage,
  async submit({ ctx, caller, subject, input: { task, version } }) {
    const { request } = subject
    checkVersion(version, request.description)
    const [number = '', state] = task.split(':')
    const description = await withTask(ctx.cpu.slices, request.description, Number(number), state === '1')
    if (description === null) throw refused(t('There is no such task'))
    await updateMergeRequest(ctx, caller, subject, { description, check: (before) => checkVersion(version, before.description) })
    return new Redirect(`${addressOf(subject)}#description`)
  },
})

export const sourceBranchRemoval = form({
  at: `${AT}/source_branch`,
  method: 'DELETE',
  access: read,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject }) {
    const { source, deletable } = await branchOptions(ctx, caller, subject)
    if (!source || !deletable) throw forbidden()
    await deleteBranch(ctx, source, caller, subject.request.source_branch)
    return new Redirect(addressOf(subject), { notice: t('The branch {sourceBranch} is deleted.', { sourceBranch: subject.request.source_branch }) })
  },
})

export const sourceBranchRestoration = form({
  at: `${AT}/source_branch`,
  access: read,
  on: mergeRequestPage,
  async submit({ ctx, caller, subject }) {
    const { source, restorable } = await branchOptions(ctx, caller, subject)
    if (!source || !restorable) throw forbidden()
    await createBranch(ctx, source, caller, { branch: subject.request.source_branch, ref: restorable })
    return new Redirect(addressOf(subject), {
      notice: t('The branch {sourceBranch} is there again.', { sourceBranch: subject.request.source_branch }),
    })
  },
})

/** Reverts a merge, or picks it onto another branch: on a new branch, from which a merge request is opened (WB-106). */
const picking = (kind: 'revert' | 'cherry_pick') =>
  form({
    at: `${AT}/${kind}`,
    access: read,
    input: pick,
    on: mergeRequestPage,
    async submit({ ctx, caller, subject, input }) {
      const { merged: sha } = await branchOptions(ctx, caller, subject)
      if (!sha) throw forbidden()
      const target = kind === 'revert' ? subject.request.target_branch : input.branch
      const branch = `${kind === 'revert' ? 'revert' : 'cherry-pick'}-${shortId(sha)}`
      await createBranch(ctx, subject, caller, { branch, ref: target })
      try {
        await (kind === 'revert' ? revertCommit(ctx, subject, caller, { sha, branch }) : pickCommit(ctx, subject, caller, { sha, branch }))
      } catch (error) {
        await deleteBranch(ctx, subject, caller, branch)
        throw error
      }
      const title = kind === 'revert' ? `Revert "${subject.request.title}"` : subject.request.title
      const query = { 'merge_request[source_branch]': branch, 'merge_request[target_branch]': target, 'merge_request[title]': title.slice(0, 255) }
      return new Redirect(`${within(subject)}/new?${new URLSearchParams(query)}`, { notice: t('The branch {branch} has the change.', { branch }) })
    },
  })

export const requestRevert = picking('revert')
export const requestPick = picking('cherry_pick')
