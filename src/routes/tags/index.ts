import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn } from '../../access/rules.js'
import { presentTag, ReleaseNote, Tag } from '../../entities/repository/tag.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { oneOf, opt, orDefault, paging, searchText, str } from '../../http/params.js'
import { createDescribedTag, createReleaseNote, updateReleaseNote } from '../../services/content/releases.js'
import { deleteTag, getTag, listTags } from '../../services/repository/tags.js'

const named = z.object({ tag_name: z.string() })

/** Tags (TG-1 to TG-6). */
export const tags = [
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/tags',
    summary: 'List tags',
    access: onProject('download_code'),
    input: z.object({
      order_by: orDefault(oneOf(['name', 'updated']), 'updated'),
      sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
      search: opt(searchText()),
      ...paging,
    }),
    output: z.array(Tag),
    async handler({ ctx, subject, input, view }) {
      const fullPath = fullPathOf(subject.project)
      return pageOf(await listTags(ctx, subject, input), input, (tag) => presentTag(tag, { fullPath }, view))
    },
  }),
  endpoint({
    method: 'GET',
    path: '/projects/:id/repository/tags/:tag_name',
    summary: 'Get a tag',
    access: onProject('download_code'),
    input: named,
    output: Tag,
    async handler({ ctx, subject, input, view }) {
      return presentTag(await getTag(ctx, subject, input.tag_name), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/repository/tags',
    summary: 'Create a tag',
    access: onProjectSignedIn('create_tag'),
    input: z.object({ tag_name: documented.newTag(), ref: documented.filled(), message: opt(str()), release_description: opt(str()) }),
    output: Tag,
    async handler({ ctx, caller, subject, input, view }) {
      return presentTag(await createDescribedTag(ctx, subject, caller, input), { fullPath: fullPathOf(subject.project) }, view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/repository/tags/:tag_name',
    summary: 'Delete a tag',
    answers: [409],
    access: onProjectSignedIn('push_code'),
    input: named,
    async handler({ ctx, caller, subject, input }) {
      await deleteTag(ctx, subject, caller, input.tag_name)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/projects/:id/repository/tags/:tag_name/release',
    summary: 'Create the release notes of a tag',
    answers: [409],
    access: onProjectSignedIn('manage_release'),
    input: z.object({ tag_name: z.string(), description: documented.filled() }),
    output: ReleaseNote,
    async handler({ ctx, caller, subject, input }) {
      return createReleaseNote(ctx, subject, caller, input.tag_name, input.description)
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/projects/:id/repository/tags/:tag_name/release',
    summary: 'Update the release notes of a tag',
    access: onProjectSignedIn('manage_release'),
    input: z.object({ tag_name: z.string(), description: documented.filled() }),
    output: ReleaseNote,
    async handler({ ctx, subject, input }) {
      return updateReleaseNote(ctx, subject, input.tag_name, input.description)
    },
  }),
]
