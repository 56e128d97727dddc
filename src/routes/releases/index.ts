import { z } from 'zod'
import { fullPathOf, onProject, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { presentRelease, presentReleaseLink, Release, ReleaseLink } from '../../entities/content/release.js'
import { notFound } from '../../failures.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { clearable, datetime, list, oneOf, oneOfOrBlank, opt, orDefault, paging, rowId, str, updateOf } from '../../http/params.js'
import type { View } from '../../http/view.js'
import { shownWith } from '../../http/wire.js'
import {
  createLink,
  createRelease,
  deleteLink,
  deleteRelease,
  getLink,
  getRelease,
  LINK_TYPES,
  listLinks,
  listReleases,
  type ReleaseLinkRecord,
  updateLink,
  updateRelease,
} from '../../services/content/releases.js'

const projectOf = ({ project, can }: ProjectSubject) => ({ id: project.id, fullPath: fullPathOf(project), mayEdit: can('manage_release') })

const read = onProject('download_code')
const write = onProjectSignedIn('manage_release')

const RELEASES = '/projects/:id/releases'
const RELEASE = `${RELEASES}/:tag_name`
const LINKS = `${RELEASE}/assets/links`

const named = { tag_name: z.string() }
const described = {
  name: opt(clearable()),
  description: opt(clearable()),
  milestones: opt(list(str())),
  released_at: opt(datetime()),
}
const link = {
  name: opt(documented.short()),
  url: opt(documented.webAddress()),
  filepath: opt(documented.filePath()),
  direct_asset_path: opt(documented.filePath()),
  link_type: opt(oneOfOrBlank(LINK_TYPES)),
}
const linkId = { ...named, link_id: rowId() }

/** Newer clients send `filepath` as `direct_asset_path`. */
const linkOf = ({ direct_asset_path, ...given }: z.infer<z.ZodObject<typeof link>>) => ({
  ...given,
  filepath: given.filepath ?? direct_asset_path,
})

/** Presents the links of one release. */
const linksIn = (subject: ProjectSubject, tag: string, view: View) => (link: ReleaseLinkRecord) =>
  presentReleaseLink(link, tag, projectOf(subject), view)

/** Releases (RL-1 to RL-6). */
export const releases = [
  endpoint({
    method: 'GET',
    path: RELEASES,
    summary: 'List releases',
    access: read,
    jobToken: true,
    input: z.object({
      order_by: orDefault(oneOf(['released_at', 'created_at']), 'released_at'),
      sort: orDefault(oneOf(['asc', 'desc']), 'desc'),
      ...paging,
    }),
    output: z.array(Release),
    async handler({ ctx, subject, input, view }) {
      const project = projectOf(subject)
      return pageOf(await listReleases(ctx, subject, input), input, (release) => presentRelease(release, project, ctx.now(), view))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${RELEASES}/permalink/latest`,
    summary: 'Get the newest release',
    access: read,
    jobToken: true,
    output: Release,
    async handler({ ctx, subject, view }) {
      const { items } = await listReleases(ctx, subject, { order_by: 'released_at', sort: 'desc', page: 1, per_page: 1 })
      const [newest] = items
      if (!newest) throw notFound()
      return presentRelease(newest, projectOf(subject), ctx.now(), view)
    },
  }),
  endpoint({
    method: 'GET',
    path: RELEASE,
    summary: 'Get a release',
    access: read,
    jobToken: true,
    input: z.object(named),
    output: Release,
    async handler({ ctx, subject, input, view }) {
      return presentRelease(await getRelease(ctx, subject, input.tag_name), projectOf(subject), ctx.now(), view)
    },
  }),
  endpoint({
    method: 'POST',
    path: RELEASES,
    summary: 'Create a release',
    answers: [409, 422],
    access: write,
    jobToken: true,
    input: z.object({
      tag_name: documented.filled(),
      ...described,
      tag_message: opt(str()),
      ref: opt(str()),
      assets: z.object({ links: opt(list(shownWith(z.object(link, 'is invalid'), { required: ['name', 'url'] }))) }, 'is invalid').nullish(),
    }),
    output: Release,
    async handler({ ctx, caller, subject, input: { assets, ...input }, view }) {
      const release = await createRelease(ctx, subject, caller, { ...input, links: assets?.links?.map(linkOf) })
      return presentRelease(release, projectOf(subject), ctx.now(), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: RELEASE,
    summary: 'Update a release',
    access: write,
    jobToken: true,
    input: updateOf(z.object({ ...named, ...described })),
    output: Release,
    async handler({ ctx, subject, input: { tag_name, ...input }, view }) {
      return presentRelease(await updateRelease(ctx, subject, tag_name, input), projectOf(subject), ctx.now(), view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: RELEASE,
    summary: 'Delete a release',
    access: write,
    jobToken: true,
    status: 200,
    input: z.object(named),
    output: Release,
    async handler({ ctx, subject, input, view }) {
      return presentRelease(await deleteRelease(ctx, subject, input.tag_name), projectOf(subject), ctx.now(), view)
    },
  }),
  endpoint({
    method: 'GET',
    path: LINKS,
    summary: 'List the links of a release',
    access: read,
    jobToken: true,
    input: z.object({ ...named, ...paging }),
    output: z.array(ReleaseLink),
    async handler({ ctx, subject, input, view }) {
      return pageOf(await listLinks(ctx, subject, input.tag_name, input), input, linksIn(subject, input.tag_name, view))
    },
  }),
  endpoint({
    method: 'POST',
    path: LINKS,
    summary: 'Add a link to a release',
    access: write,
    jobToken: true,
    input: z.object({ ...named, ...link, name: documented.title(), url: documented.webAddress() }),
    output: ReleaseLink,
    async handler({ ctx, subject, input: { tag_name, ...input }, view }) {
      return linksIn(subject, tag_name, view)(await createLink(ctx, subject, tag_name, linkOf(input)))
    },
  }),
  endpoint({
    method: 'GET',
    path: `${LINKS}/:link_id`,
    summary: 'Get a link of a release',
    access: read,
    jobToken: true,
    input: z.object(linkId),
    output: ReleaseLink,
    async handler({ ctx, subject, input, view }) {
      return linksIn(subject, input.tag_name, view)(await getLink(ctx, subject, input.tag_name, input.link_id))
    },
  }),
  endpoint({
    method: 'PUT',
    path: `${LINKS}/:link_id`,
    summary: 'Update a link of a release',
    access: write,
    jobToken: true,
    input: updateOf(z.object({ ...linkId, ...link })),
    output: ReleaseLink,
    async handler({ ctx, subject, input: { tag_name, link_id, ...input }, view }) {
      return linksIn(subject, tag_name, view)(await updateLink(ctx, subject, tag_name, link_id, linkOf(input)))
    },
  }),
  endpoint({
    method: 'DELETE',
    path: `${LINKS}/:link_id`,
    summary: 'Delete a link of a release',
    access: write,
    jobToken: true,
    status: 200,
    input: z.object(linkId),
    output: ReleaseLink,
    async handler({ ctx, subject, input, view }) {
      return linksIn(subject, input.tag_name, view)(await deleteLink(ctx, subject, input.tag_name, input.link_id))
    },
  }),
]
