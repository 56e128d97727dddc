import { z } from 'zod'
import { onGroup, onProject, onProjectSignedIn, signedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import {
  ContainerRepository,
  ContainerTag,
  ContainerTagDetail,
  presentContainerRepository,
  presentContainerTag,
  presentContainerTagDetail,
} from '../../entities/projects/container.js'
import { invalidInput } from '../../failures.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { bool, int, opt, paging, rowId, str } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { parsePeriod } from '../../rules/ci/periods.js'
import { compilePattern } from '../../rules/ci/regex.js'
import type { Page, Paging } from '../../services/core/page.js'
import {
  deleteRepository,
  deleteSomeTags,
  deleteTags,
  getRepository,
  getTag,
  getVisibleRepository,
  listGroupRepositories,
  listRepositories,
  listTags,
  type RepositoryRecord,
  tagsOf,
} from '../../services/registry/repositories.js'

const shown = { tags: opt(bool()), tags_count: opt(bool()) }
type Shown = { tags?: boolean | undefined; tags_count?: boolean | undefined }
/** Tags that are shown of a repository in a list. */
const MAX_SHOWN = 100

async function presented(ctx: Context, { items, total }: Page<RepositoryRecord>, input: Paging & Shown, view: View) {
  const ids = input.tags ? items.map(({ id }) => id) : []
  const tags = await tagsOf(ctx, ids, MAX_SHOWN)
  return pageOf({ items, total }, input, (item) =>
    presentContainerRepository(item, view, { tags_count: input.tags_count, ...(input.tags && { tags: tags.get(item.id) ?? [] }) }),
  )
}

const repository_id = rowId()

/** A pattern of RE2 for whole names; null for none. */
function patternOf(name: string, source: string | undefined) {
  const compiled = source ? compilePattern(source) : null
  if (source && !compiled) throw invalidInput(`${name} is invalid`)
  return compiled
}

/** Repositories of container images (OCI-20 to OCI-23). */
export const containerRepositories = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/registry/repositories',
    summary: 'List the container repositories of a project',
    access: onProject('read_image'),
    jobToken: true,
    input: z.object({ ...shown, ...paging }),
    output: z.array(ContainerRepository),
    handler: async ({ ctx, subject, input, view }) => presented(ctx, await listRepositories(ctx, subject, input), input, view),
  }),
  endpoint({
    method: 'GET',
    path: '/groups/:id/registry/repositories',
    summary: 'List the container repositories of a group',
    description: 'Of the projects in it and in its subgroups whose images the caller may read.',
    access: onGroup('read_group'),
    jobToken: true,
    input: z.object({ ...shown, ...paging }),
    output: z.array(ContainerRepository),
    handler: async ({ ctx, caller, subject, input, view }) => presented(ctx, await listGroupRepositories(ctx, caller, subject, input), input, view),
  }),
  endpoint({
    method: 'GET',
    path: '/registry/repositories/:id',
    summary: 'Get a container repository',
    access: signedIn,
    jobToken: true,
    input: z.object({ id: rowId(), ...shown }),
    output: ContainerRepository,
    async handler({ ctx, caller, input, view }) {
      const found = await getVisibleRepository(ctx, caller, input.id)
      const tags = input.tags ? ((await tagsOf(ctx, [found.id], MAX_SHOWN)).get(found.id) ?? []) : undefined
      return presentContainerRepository(found, view, { tags, tags_count: input.tags_count })
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/registry/repositories/:repository_id',
    summary: 'Delete a container repository',
    description: 'With all images in it.',
    access: onProjectSignedIn('destroy_image_repository'),
    input: z.object({ repository_id }),
    status: 202,
    handler: async ({ ctx, subject, input }) => {
      await deleteRepository(ctx, subject, input.repository_id)
      return { message: '202 Accepted' }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/registry/repositories/:repository_id/tags',
    summary: 'List the tags of a container repository',
    access: onProject('read_image'),
    jobToken: true,
    input: z.object({ repository_id, ...paging }),
    output: z.array(ContainerTag),
    async handler({ ctx, subject, input, view }) {
      const repository = await getRepository(ctx, input.repository_id, subject)
      return pageOf(await listTags(ctx, repository.id, input), input, (tag) => presentContainerTag(repository, tag, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/registry/repositories/:repository_id/tags/:tag_name',
    summary: 'Get a tag of a container repository',
    access: onProject('read_image'),
    jobToken: true,
    input: z.object({ repository_id, tag_name: str() }),
    output: ContainerTagDetail,
    async handler({ ctx, subject, input, view }) {
      const repository = await getRepository(ctx, input.repository_id, subject)
      return presentContainerTagDetail(repository, await getTag(ctx, repository.id, input.tag_name), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/registry/repositories/:repository_id/tags/:tag_name',
    summary: 'Delete a tag of a container repository',
    description: 'What it is of stays there by its digest.',
    access: onProjectSignedIn('destroy_image'),
    jobToken: true,
    input: z.object({ repository_id, tag_name: str() }),
    status: 200,
    handler: async ({ ctx, subject, input }) => {
      await deleteTags(ctx, subject, input.repository_id, [input.tag_name])
      return { message: '200 OK' }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/registry/repositories/:repository_id/tags',
    summary: 'Delete tags of a container repository',
    description: 'Those whose whole names fit a pattern, but for `latest`.',
    access: onProjectSignedIn('destroy_image_repository'),
    input: z.object({
      repository_id,
      name_regex_delete: opt(str()),
      name_regex: opt(str()),
      name_regex_keep: opt(str()),
      keep_n: opt(int({ min: 0 })),
      older_than: opt(str()),
    }),
    status: 202,
    async handler({ ctx, subject, input }) {
      const wanted = patternOf('name_regex_delete', input.name_regex_delete ?? input.name_regex)
      if (!wanted) throw invalidInput('name_regex_delete is missing')
      const seconds = input.older_than === undefined ? null : parsePeriod(input.older_than)
      if (input.older_than !== undefined && seconds === null) throw invalidInput('older_than is invalid')
      await deleteSomeTags(ctx, subject, input.repository_id, {
        name_regex_delete: wanted,
        name_regex_keep: patternOf('name_regex_keep', input.name_regex_keep),
        keep_n: input.keep_n ?? 0,
        older_than: seconds === null ? null : new Date(ctx.now().getTime() - seconds * 1_000),
      })
      return { message: '202 Accepted' }
    },
  }),
]
