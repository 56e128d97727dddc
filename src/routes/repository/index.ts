import { z } from 'zod'
import { fullPathOf, onProject } from '../../access/rules.js'
import { Commit, presentCommit } from '../../entities/repository/commit.js'
import { Diff, someTooLarge } from '../../entities/repository/diff.js'
import { Blob, presentTreeEntry, TreeEntry } from '../../entities/repository/tree.js'
import { Content } from '../../http/content.js'
import { Answer, endpoint, overflowHeaders, pageOf } from '../../http/endpoint.js'
import { renderElements, renderWith } from '../../http/list-body.js'
import { bool, gitPath, opt, orDefault, paging, rowId, str } from '../../http/params.js'
import { compareAcross, getInNetwork } from '../../services/projects/comparisons.js'
import { openBlob, readBlob } from '../../services/repository/blobs.js'
import { listTree } from '../../services/repository/tree.js'

const access = onProject('download_code')
const scope = 'read_repository'

/** Trees, blobs and comparisons (RE-1 to RE-4). */
export const repository = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/tree',
    summary: 'List the entries of a tree',
    access,
    scope,
    input: z.object({ ref: opt(str()), path: opt(gitPath()), recursive: orDefault(bool(), false), ...paging }),
    output: z.array(TreeEntry),
    async handler({ ctx, subject, input }) {
      return pageOf(await listTree(ctx, subject, input), input, presentTreeEntry)
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/blobs/:sha',
    summary: 'Get a blob',
    answers: [413],
    access,
    scope,
    input: z.object({ sha: z.string().toLowerCase() }),
    output: Blob,
    async handler({ ctx, subject, input }) {
      const content = await readBlob(ctx, subject, input.sha)
      return { size: content.length, encoding: 'base64', content: content.toString('base64'), sha: input.sha }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/blobs/:sha/raw',
    summary: 'Get the raw content of a blob',
    raw: ['text/plain', 'application/octet-stream'],
    access,
    scope,
    input: z.object({ sha: z.string().toLowerCase() }),
    async handler({ ctx, subject, input, gone }) {
      const { size, type, open } = await openBlob(ctx, subject, input.sha, gone())
      return new Content({ etag: `"${input.sha}"`, size, headers: { 'content-type': type }, open })
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/compare',
    summary: 'Compare two revisions',
    description:
      'Returns the commits and changes between two revisions, by default since their merge base. With `from_project_id`, `from` is a revision of another project of the fork network.',
    access,
    scope,
    input: z.object({ from: str(), to: str(), straight: orDefault(bool(), false), from_project_id: opt(rowId()) }),
    output: z.strictObject({
      commit: Commit.nullable(),
      commits: z.array(Commit),
      diffs: z.array(Diff),
      compare_timeout: z.boolean(),
      compare_same_ref: z.boolean(),
      web_url: z.url(),
    }),
    async handler({ ctx, caller, subject, input, view }) {
      const fullPath = fullPathOf(subject.project)
      const other = await getInNetwork(ctx, caller, subject, input.from_project_id)
      const { commits, diffs, overflow, sameRef, timedOut } = await compareAcross(ctx, subject, other, input)
      const shown = commits.map((commit) => presentCommit(commit, { fullPath }, view))
      const range = `${encodeURIComponent(input.from)}${input.straight ? '..' : '...'}${encodeURIComponent(input.to)}`
      const query = other.project.id === subject.project.id ? '' : `?from_project_id=${other.project.id}`
      const comparison = {
        commit: shown.at(-1) ?? null,
        diffs,
        compare_timeout: timedOut,
        compare_same_ref: sameRef,
        web_url: `${view.links.project(fullPath)}/compare/${range}${query}`,
      }
      return new Answer(200, renderWith(comparison, { commits: await renderElements(ctx, shown) }), overflowHeaders(overflow || someTooLarge(diffs)))
    },
  }),
]
