import { z } from 'zod'
import type { Access } from '../../access/access.js'
import { type GroupSubject, onGroup, onGroupSignedIn, onProject, onProjectSignedIn, type ProjectSubject } from '../../access/rules.js'
import { Badge, presentBadge, presentRenderedBadge, RenderedBadge } from '../../entities/projects/badge.js'
import * as documented from '../../http/documented.js'
import { endpoint, pageOf } from '../../http/endpoint.js'
import { opt, paging, rowId, str } from '../../http/params.js'
import { type BadgeSource, createBadge, deleteBadge, getBadge, listBadges, renderBadge, updateBadge } from '../../services/projects/badges/badges.js'

const badge_id = rowId()
const name = opt(documented.short())
const attributes = { link_url: documented.webUrl(), image_url: documented.webUrl(), name }

interface Routes<Subject> {
  kind: 'project' | 'group'
  read: Access<Subject, false>
  write: Access<Subject, true>
  source(subject: Subject): BadgeSource
}

function badgesOf<Subject>({ kind, read, write, source }: Routes<Subject>) {
  const BADGES = `/${kind}s/:id/badges`
  const BADGE = `${BADGES}/:badge_id`
  return [
    endpoint({
      method: 'GET',
      path: BADGES,
      summary: `List the badges of a ${kind}`,
      description: 'With those of the groups above it.',
      access: read,
      input: z.object({ name: opt(str()), ...paging }),
      output: z.array(Badge),
      handler: async ({ ctx, caller, subject, input }) => pageOf(await listBadges(ctx, caller, source(subject), input), input, presentBadge),
    }),
    endpoint({
      method: 'GET',
      path: `${BADGES}/render`,
      summary: 'Get a badge as it would be shown',
      access: write,
      input: z.object(attributes),
      output: RenderedBadge,
      handler: async ({ ctx, caller, subject, input: { name = null, ...urls } }) =>
        presentRenderedBadge(await renderBadge(ctx, caller, source(subject), { name, ...urls })),
    }),
    endpoint({
      method: 'GET',
      path: BADGE,
      summary: `Get a badge of a ${kind}`,
      access: read,
      input: z.object({ badge_id }),
      output: Badge,
      handler: async ({ ctx, caller, subject, input }) => presentBadge(await getBadge(ctx, caller, source(subject), input.badge_id)),
    }),
    endpoint({
      method: 'POST',
      path: BADGES,
      summary: `Create a badge of a ${kind}`,
      access: write,
      input: z.object(attributes),
      output: Badge,
      handler: async ({ ctx, caller, subject, input: { name = null, ...urls } }) =>
        presentBadge(await createBadge(ctx, caller, source(subject), { name, ...urls })),
    }),
    endpoint({
      method: 'PUT',
      path: BADGE,
      summary: `Update a badge of a ${kind}`,
      access: write,
      input: z.object({ badge_id, link_url: opt(documented.webUrl()), image_url: opt(documented.webUrl()), name }),
      output: Badge,
      handler: async ({ ctx, caller, subject, input: { badge_id, ...given } }) =>
        presentBadge(await updateBadge(ctx, caller, source(subject), badge_id, given)),
    }),
    endpoint({
      method: 'DELETE',
      path: BADGE,
      summary: `Delete a badge of a ${kind}`,
      access: write,
      input: z.object({ badge_id }),
      handler: ({ ctx, subject, input }) => deleteBadge(ctx, source(subject), input.badge_id),
    }),
  ]
}

/** Badges (BD-1 to BD-5). */
export const badges = [
  ...badgesOf({
    kind: 'project',
    read: onProject('read_project'),
    write: onProjectSignedIn('manage_project'),
    source: (project: ProjectSubject) => ({ project }),
  }),
  ...badgesOf({ kind: 'group', read: onGroup('read_group'), write: onGroupSignedIn('manage_group'), source: (group: GroupSubject) => ({ group }) }),
]
