import { z } from 'zod'
import { onMergeRequest } from '../../access/merge-requests.js'
import { fullPathOf } from '../../access/rules.js'
import { Pipeline, PipelineBasic, presentPipeline, presentPipelineBasic } from '../../entities/ci/pipeline.js'
import { DetailedMergeRequest, presentDetailedMergeRequest } from '../../entities/issuables/merge-request.js'
import {
  MergeRequestVersion,
  MergeRequestVersionDetail,
  presentVersion,
  presentVersionDetail,
} from '../../entities/issuables/merge-request-version.js'
import { Commit, presentCommit } from '../../entities/repository/commit.js'
import { Diff, someTooLarge } from '../../entities/repository/diff.js'
import { Answer, endpoint, overflowHeaders, pageOf } from '../../http/endpoint.js'
import { renderElements, renderWith } from '../../http/list-body.js'
import { idPaging, paging, rowId } from '../../http/params.js'
import { Rendered } from '../../http/rendered-cache.js'
import { dayOf } from '../../lib/text/day.js'
import { runRequestPipeline } from '../../services/ci/merge-requests/run.js'
import { getMergeRef } from '../../services/issuables/merge-requests/merging/merge-ref.js'
import {
  changesOfRequest,
  getVersion,
  hasTruncatedChanges,
  listRequestCommits,
  listRequestDiffs,
  listVersions,
} from '../../services/issuables/merge-requests/reading/contents.js'
import { completeMergeRequest } from '../../services/issuables/merge-requests/reading/load.js'
import { listRequestPipelines } from '../../services/issuables/merge-requests/reading/pipelines.js'

const REQUEST = '/projects/:id/merge_requests/:merge_request_iid'
const read = onMergeRequest('read_merge_request')

/** Commits, changes, pipelines and versions of merge requests (MR-87 to MR-93, X-7). */
export const contents = [
  endpoint({
    method: 'GET',
    path: `${REQUEST}/commits`,
    summary: 'List the commits of a merge request',
    access: read,
    input: z.object({ ...paging }),
    output: z.array(Commit),
    async handler({ ctx, subject, input, view }) {
      const project = { fullPath: fullPathOf(subject.project) }
      const { version_id } = subject.request
      const { page, per_page } = input
      const commits = await ctx.caches.rendered.immutablePage(`commits ${version_id} ${page} ${per_page} ${project.fullPath}`, async () => {
        const { items, total } = await listRequestCommits(ctx, subject.project, subject.request, input)
        const texts = await renderElements(
          ctx,
          items.map((commit) => presentCommit(commit, project, view)),
        )
        return { items: texts.map((text) => new Rendered(text)), total }
      })
      return pageOf(commits, input, (element) => element)
    },
  }),
  endpoint({
    method: 'GET',
    path: `${REQUEST}/merge_ref`,
    summary: 'Get the commit that merging a merge request would give',
    description: 'Git clients fetch it as `refs/merge-requests/:merge_request_iid/merge`. The target branch does not move.',
    access: read,
    output: z.strictObject({ commit_id: z.string() }),
    handler: async ({ ctx, subject }) => ({ commit_id: await getMergeRef(ctx, subject) }),
  }),
  endpoint({
    method: 'GET',
    path: `${REQUEST}/changes`,
    summary: 'Get a merge request with its changes',
    description: 'Diffs beyond the limits are omitted, and `X-Diff-Overflow` is set.',
    access: read,
    output: z
      .strictObject({ ...DetailedMergeRequest.shape, changes: z.array(Diff), overflow: z.literal(true).optional() })
      .meta({ id: 'MergeRequestWithChanges', description: 'A merge request with the changes of its files.' }),
    async handler({ ctx, caller, subject, view }) {
      const [request, { items }] = await Promise.all([
        completeMergeRequest(ctx, caller, subject),
        ctx.caches.rendered.immutablePage(`changes ${subject.request.version_id}`, async () => {
          const items = await changesOfRequest(ctx, subject.project, subject.request)
          return { items, total: items.length }
        }),
      ])
      const shown = JSON.stringify(presentDetailedMergeRequest(request, dayOf(ctx.now()), view))
      const overflow = hasTruncatedChanges(subject.request)
      const text = `${shown.slice(0, -1)},"changes":[${items.map(({ text }) => text).join(',')}]${overflow ? ',"overflow":true' : ''}}`
      return new Answer(200, new Rendered(text), overflowHeaders(overflow || someTooLarge(items)))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${REQUEST}/diffs`,
    summary: 'List the diffs of a merge request',
    access: read,
    input: z.object({ ...paging }),
    output: z.array(Diff),
    async handler({ ctx, subject, input }) {
      const page = await listRequestDiffs(ctx, subject.project, subject.request, input)
      return pageOf(page, input, (diff) => diff, overflowHeaders(hasTruncatedChanges(subject.request) || someTooLarge(page.items)))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${REQUEST}/pipelines`,
    summary: 'List the pipelines of a merge request',
    polled: true,
    access: read,
    input: z.object(idPaging),
    output: z.array(PipelineBasic),
    async handler({ ctx, caller, subject, input, view }) {
      const { page, fullPath } = await listRequestPipelines(ctx, caller, subject, input)
      return pageOf(page, input, (pipeline) => presentPipelineBasic(pipeline, { fullPath }, view)).inOrderOfIds(input, 'desc')
    },
  }),
  endpoint({
    method: 'POST',
    path: `${REQUEST}/pipelines`,
    summary: 'Create a pipeline of a merge request',
    description: 'In the source project, for who may create pipelines there. 405 for a merge request without commits.',
    access: read,
    output: Pipeline,
    status: 200,
    answers: [405],
    async handler({ ctx, caller, subject, view }) {
      const { pipeline, fullPath } = await runRequestPipeline(ctx, caller, subject)
      return presentPipeline(pipeline, { fullPath }, view)
    },
  }),
  endpoint({
    method: 'GET',
    path: `${REQUEST}/versions`,
    summary: 'List the versions of a merge request',
    access: read,
    input: z.object(idPaging),
    output: z.array(MergeRequestVersion),
    async handler({ ctx, subject, input }) {
      return pageOf(await listVersions(ctx, subject.request, input), input, presentVersion).inOrderOfIds(input, 'desc')
    },
  }),
  endpoint({
    method: 'GET',
    path: `${REQUEST}/versions/:version_id`,
    summary: 'Get a version of a merge request with its commits and diffs',
    access: read,
    input: z.object({ version_id: rowId() }),
    output: MergeRequestVersionDetail,
    async handler({ ctx, subject, input, view }) {
      const details = await getVersion(ctx, subject.project, subject.request, input.version_id)
      const { commits, ...shown } = presentVersionDetail(details, { fullPath: fullPathOf(subject.project) }, view)
      const leavesOut = shown.state === 'overflow' || someTooLarge(shown.diffs) || details.version.commits_count > commits.length
      return new Answer(200, renderWith(shown, { commits: await renderElements(ctx, commits) }), overflowHeaders(leavesOut))
    },
  }),
]
