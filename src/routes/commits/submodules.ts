import { z } from 'zod'
import { fullPathOf, onProjectSignedIn } from '../../access/rules.js'
import { CommitDetail, presentCommit } from '../../entities/repository/commit.js'
import * as documented from '../../http/documented.js'
import { endpoint } from '../../http/endpoint.js'
import { documentedWith, opt, str } from '../../http/params.js'
import { updateSubmodule } from '../../services/repository/commits/submodule.js'

/** Submodules (RE-12). */
export const submodules = [
  endpoint({
    method: 'PUT',
    path: '/projects/:id/repository/submodules/:submodule',
    summary: 'Update the commit of a submodule',
    access: onProjectSignedIn('push_code'),
    input: z.object({
      submodule: z.string(),
      branch: documented.filled(),
      commit_sha: documentedWith(str(), { pattern: '^(?!0+$)[0-9a-f]{40}$' }),
      commit_message: opt(str()),
    }),
    output: CommitDetail,
    async handler({ ctx, caller, subject, input, view }) {
      const { commit, stats } = await updateSubmodule(ctx, subject, caller, input)
      return {
        ...presentCommit(commit, { fullPath: fullPathOf(subject.project) }, view, stats),
        project_id: subject.project.id,
        status: null,
        last_pipeline: null,
      }
    },
  }),
]
