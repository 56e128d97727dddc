import { z } from 'zod'
import type { View } from '../../http/view.js'
import type { Version, VersionDetails } from '../../services/issuables/merge-requests/reading/contents.js'
import { Commit, presentCommit } from '../repository/commit.js'
import { Diff } from '../repository/diff.js'

/** A version in a list (MR-91). */
export const MergeRequestVersion = z
  .strictObject({
    id: z.int(),
    head_commit_sha: z.string(),
    base_commit_sha: z.string().nullable(),
    start_commit_sha: z.string(),
    created_at: z.iso.datetime(),
    merge_request_id: z.int(),
    state: z.enum(['collected', 'empty', 'overflow']),
    real_size: z.string(),
  })
  .meta({ id: 'MergeRequestVersion', description: 'What a merge request was after a push.' })

/** A version with its commits and diffs (MR-92). */
export const MergeRequestVersionDetail = z
  .strictObject({ ...MergeRequestVersion.shape, commits: z.array(Commit), diffs: z.array(Diff) })
  .meta({ id: 'MergeRequestVersionDetail', description: 'A version of a merge request with its commits and changes.' })

export const presentVersion = (version: Version): z.infer<typeof MergeRequestVersion> => ({
  id: version.id,
  head_commit_sha: version.head_commit_sha,
  base_commit_sha: version.base_commit_sha,
  start_commit_sha: version.start_commit_sha,
  created_at: version.created_at.toISOString(),
  merge_request_id: version.merge_request_id,
  state: version.state,
  real_size: version.real_size,
})

export const presentVersionDetail = (
  { version, commits, diffs }: VersionDetails,
  project: { fullPath: string },
  view: View,
): z.infer<typeof MergeRequestVersionDetail> =>
  Object.assign(presentVersion(version), {
    commits: commits.map((commit) => presentCommit(commit, project, view)),
    diffs,
  })
