import { z } from 'zod'
import { fullPathOf, onProject } from '../../access/rules.js'
import { presentPipelineBasic } from '../../entities/ci/pipeline.js'
import { Commit, CommitDetail, presentCommit } from '../../entities/repository/commit.js'
import { Diff, someTooLarge } from '../../entities/repository/diff.js'
import { forbidden } from '../../failures.js'
import * as documented from '../../http/documented.js'
import { endpoint, overflowHeaders, pageOf } from '../../http/endpoint.js'
import { bool, datetime, gitPath, list, opt, orDefault, paging, str } from '../../http/params.js'
import { lastPipelineOf } from '../../services/ci/pipelines.js'
import { slice } from '../../services/core/page.js'
import { createCommit } from '../../services/repository/commits/create.js'
import { diffOf, getCommit, listCommits, statsOf } from '../../services/repository/commits/read.js'

const read = onProject('download_code')

const MAX_ACTIONS = 100_000

export const commits = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/commits',
    summary: 'List commits',
    description: 'Newest first, starting at the default branch unless `ref_name` is given.',
    access: read,
    input: z.object({
      ref_name: opt(str()),
      since: opt(datetime()),
      until: opt(datetime()),
      path: opt(gitPath()),
      all: opt(bool()),
      with_stats: opt(bool()),
      first_parent: opt(bool()),
      ...paging,
    }),
    output: z.array(Commit),
    async handler({ ctx, subject, input, view }) {
      const fullPath = fullPathOf(subject.project)
      return pageOf(await listCommits(ctx, subject, input), input, ({ commit, stats }) => presentCommit(commit, { fullPath }, view, stats))
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/repository/commits',
    summary: 'Create a commit with several actions',
    description: 'All actions are applied in one commit, or none is.',
    access: onProject('push_code'),
    largeBody: true,
    input: z.object({
      branch: documented.filled(),
      commit_message: str(),
      start_branch: opt(str()),
      start_sha: opt(str()),
      force: opt(bool()),
      actions: list(z.record(z.string(), z.unknown(), 'is invalid'), MAX_ACTIONS),
      author_email: opt(documented.authorEmail()),
      author_name: opt(documented.authorName()),
      stats: orDefault(bool(), true),
    }),
    output: CommitDetail,
    async handler({ ctx, caller, subject, input, view }) {
      if (!caller.user) throw forbidden()
      const { commit, stats } = await createCommit(ctx, subject, caller, input)
      return {
        ...presentCommit(commit, { fullPath: fullPathOf(subject.project) }, view, input.stats ? stats : undefined),
        project_id: subject.project.id,
        status: null,
        last_pipeline: null,
      }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/commits/:sha',
    summary: 'Get a commit',
    access: read,
    input: z.object({ sha: z.string(), stats: orDefault(bool(), true) }),
    output: CommitDetail,
    async handler({ ctx, subject, input, view }) {
      const commit = await getCommit(ctx, subject, input.sha)
      const [stats, pipeline] = await Promise.all([
        input.stats ? statsOf(ctx, subject, commit.oid) : undefined,
        lastPipelineOf(ctx, subject, commit.oid),
      ])
      const project = { fullPath: fullPathOf(subject.project) }
      return {
        ...presentCommit(commit, project, view, stats),
        project_id: subject.project.id,
        status: pipeline?.status ?? null,
        last_pipeline: pipeline && presentPipelineBasic(pipeline, project, view),
      }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/commits/:sha/diff',
    summary: 'Get the diff of a commit',
    access: read,
    input: z.object({ sha: z.string(), ...paging }),
    output: z.array(Diff),
    async handler({ ctx, subject, input }) {
      const commit = await getCommit(ctx, subject, input.sha)
      const { files, truncated } = await diffOf(ctx, subject, commit)
      return pageOf(slice(files, input), input, (diff) => diff, overflowHeaders(truncated || someTooLarge(files)))
    },
  }),
]
