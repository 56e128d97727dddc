import { z } from 'zod'
import type { SignedIn } from '../../access/actor.js'
import type { ProjectSubject } from '../../access/rules.js'
import type { Context } from '../../context.js'
import type { Transaction } from '../../db/client.js'
import { invalidInput, invalidRecord } from '../../failures.js'
import { GitFault, RefChanged, TooLarge } from '../../git/errors.js'
import { ZERO } from '../../git/types.js'
import { enqueue } from '../../jobs/enqueue.js'
import { defineJob } from '../../jobs/kinds.js'
import { readSettings } from '../core/settings.js'
import { findActiveUser, findVisibleProject } from '../identity/acting-users.js'
import { copyCommits } from '../repository/object-copies.js'
import { moveUnderIntent } from '../repository/push/door.js'
import { repositoryOf, signatureOf } from '../repository/repositories.js'
import { beginImport, finishImport, recordImportFailure, refuseTooLarge } from './import.js'

const DEADLINE_MS = 3_600_000

/** What a new project says about its template, as the v4 API does. */
export interface TemplateChoice {
  use_custom_template?: boolean | undefined
  template_project_id?: number | string | undefined
}

/** The project whose files a new project begins with (WB-391); null if none is given. */
export async function readTemplate(ctx: Context, caller: SignedIn, given: TemplateChoice): Promise<ProjectSubject | null> {
  const { use_custom_template: wanted = false, template_project_id: named } = given
  if (!wanted && named === undefined) return null
  if (!wanted) throw invalidInput('use_custom_template is missing')
  if (named === undefined) throw invalidInput('template_project_id is missing')
  const subject = await findVisibleProject(ctx, caller, named)
  // one text for both, so that it says nothing about projects that the caller does not see
  if (!subject?.can('download_code')) throw invalidRecord({ template_project_id: ['is not a project whose code you may read'] })
  if (subject.project.empty_repo) throw invalidRecord({ template_project_id: ['has no files'] })
  return subject
}

/** A project to be filled from a template, and for whom. */
const Filling = z.object({ project: z.int(), template: z.int(), user: z.int() })
type Filling = z.infer<typeof Filling>

/** Enqueues the copy of the files, in the transaction that creates the project. */
export const recordTemplate = (tx: Transaction, filling: Filling): Promise<unknown> =>
  enqueue(tx, templateJob, filling, { key: String(filling.project), lane: `imports of user ${filling.user}` })

export const templateJob = defineJob({
  kind: 'project from a template',
  input: Filling,
  async run(ctx: Context, filling, { signal }) {
    if (!(await beginImport(ctx, filling.project))) return
    const fault = await fill(ctx, filling).catch((error: unknown) => {
      // the job is tried again from the start
      signal.throwIfAborted()
      if (error instanceof TooLarge) return 'The repository is too large'
      if (error instanceof RefChanged) return 'It was pushed to before its files came'
      if (error instanceof GitFault) return 'The files cannot be copied'
      throw error
    })
    await finishImport(ctx, filling.project, { import_status: fault === null ? 'finished' : 'failed', import_error: fault })
  },
  failed: recordImportFailure,
  // leaves capacity for other jobs
  concurrency: 2,
  deadline: DEADLINE_MS,
})

/**
 * Makes the files of the template's default branch the first commit; returns why it cannot. A run that was interrupted
 * leaves objects that nothing refers to, or the branch, and then there is nothing left to do.
 */
async function fill(ctx: Context, { project: id, template, user }: Filling): Promise<string | null> {
  const caller = await findActiveUser(ctx, user)
  const [target, source] = caller ? await Promise.all([findVisibleProject(ctx, caller, id), findVisibleProject(ctx, caller, template)]) : []
  if (!caller || !target || !source) return 'The template cannot be read any more'
  const repository = repositoryOf(ctx, target.project)
  if ((await repository.refs('refs/heads/')).length > 0) return null
  const from = repositoryOf(ctx, source.project)
  const head = await from.ref(`refs/heads/${source.project.default_branch}`)
  const tree = head && (await from.commit(head))?.tree
  if (!tree) return 'The template has no files'
  if (!(await copyCommits(ctx, user, from.key, repository.key, { commits: [tree] }))) return 'The template cannot be read any more'
  await refuseTooLarge(ctx, repository)
  const author = signatureOf(ctx, caller)
  const commit = await repository.writeCommit({ tree, parents: [], author, committer: author, message: 'Initial commit' })
  const moves = [{ ref: `refs/heads/${target.project.default_branch}`, old: ZERO, new: commit }]
  await moveUnderIntent(ctx, { project: target.project, actorId: user, moves, settings: await readSettings(ctx), repository })
  return null
}
