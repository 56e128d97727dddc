import { z } from 'zod'
import type { View } from '../../http/view.js'
import { dayOf } from '../../lib/text/day.js'
import { tagInAddress } from '../../rules/path.js'
import type { ReleaseLinkRecord, ReleaseRecord } from '../../services/content/releases.js'
import { presentUserRef, UserRef } from '../identity/user.js'
import { Milestone, presentMilestone } from '../issuables/milestone.js'
import { Commit, presentCommit } from '../repository/commit.js'

export const ReleaseLink = z
  .strictObject({
    id: z.int(),
    name: z.string(),
    url: z.string(),
    direct_asset_url: z.string(),
    link_type: z.enum(['other', 'runbook', 'image', 'package']),
  })
  .meta({ id: 'ReleaseLink', description: 'A link of a release.' })

const FORMATS = ['zip', 'tar.gz', 'tar'] as const

export const Release = z
  .strictObject({
    tag_name: z.string(),
    name: z.string(),
    description: z.string(),
    description_html: z.string(),
    created_at: z.iso.datetime(),
    released_at: z.iso.datetime(),
    upcoming_release: z.boolean(),
    author: UserRef,
    // null if the tag does not point at a commit, contrary to the type in section 12
    commit: Commit.nullable(),
    milestones: z.array(Milestone),
    commit_path: z.string().nullable(),
    tag_path: z.string(),
    assets: z.strictObject({
      count: z.int(),
      sources: z.array(z.strictObject({ format: z.enum(FORMATS), url: z.url() })),
      links: z.array(ReleaseLink),
    }),
    _links: z.strictObject({ self: z.url(), edit_url: z.url().optional() }),
  })
  .meta({ id: 'Release', description: 'A release of a tag.' })

/** The project of a release: what URLs need of it, and whether the viewer may change its releases (WB-394). */
interface Project {
  id: number
  fullPath: string
  mayEdit: boolean
}

const escaped = (tag: string) => tag.split('/').map(encodeURIComponent).join('/')

const below = (tag: string, { fullPath }: Project, { links }: View) => `${links.project(fullPath)}/-/releases/${encodeURIComponent(tag)}`

/** A link with a `filepath` has a permanent address, which stays the same when its `url` changes (RL-7). */
export const presentReleaseLink = (
  { id, name, url, filepath, link_type }: ReleaseLinkRecord,
  tag: string,
  project: Project,
  view: View,
): z.infer<typeof ReleaseLink> => ({
  id,
  name,
  url,
  direct_asset_url: filepath === null ? url : `${below(tag, project, view)}/downloads${filepath}`,
  link_type,
})

export function presentRelease(
  { release, author, links, commit, milestones }: ReleaseRecord,
  project: Project,
  now: Date,
  view: View,
): z.infer<typeof Release> {
  const { tag } = release
  const base = view.links.project(project.fullPath)
  const page = below(tagInAddress(tag), project, view)
  const path = new URL(base).pathname
  const archive = view.links.api(`/projects/${project.id}/repository/archive`)
  const sources = FORMATS.map((format) => ({ format, url: `${archive}.${format}?sha=${encodeURIComponent(tag)}` }))
  return {
    tag_name: tag,
    name: release.name ?? tag,
    description: release.description,
    description_html: release.description_html,
    created_at: release.created_at.toISOString(),
    released_at: release.released_at.toISOString(),
    upcoming_release: release.released_at > now,
    author: presentUserRef(author, view),
    commit: commit && presentCommit(commit, project, view),
    milestones: milestones.map((each) => presentMilestone(each, dayOf(now), view)),
    commit_path: commit && `${path}/commit/${commit.oid}`,
    tag_path: `${path}/-/tags/${escaped(tagInAddress(tag))}`,
    assets: {
      count: sources.length + links.length,
      sources,
      links: links.map((link) => presentReleaseLink(link, tag, project, view)),
    },
    _links: { self: page, ...(project.mayEdit && { edit_url: `${page}/edit` }) },
  }
}
