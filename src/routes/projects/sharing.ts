import { z } from 'zod'
import { onProjectSignedIn } from '../../access/rules.js'
import { presentShareLink, ShareLink } from '../../entities/projects/share-link.js'
import { endpoint } from '../../http/endpoint.js'
import { newShare, rowId } from '../../http/params.js'
import { shareProject, unshareProject } from '../../services/projects/shares.js'

const LEVELS = [10, 20, 30, 40]

/** Shares of projects with groups (PR-23, PR-24). */
export const sharing = [
  endpoint({
    method: 'POST',
    path: '/projects/:id/share',
    summary: 'Share a project with a group',
    description: 'Members of the group get access to the project, with at most this role.',
    answers: [409],
    access: onProjectSignedIn('manage_shares'),
    input: z.object(newShare(LEVELS)),
    output: ShareLink,
    handler: async ({ ctx, caller, subject, input }) => presentShareLink(await shareProject(ctx, caller, subject, input)),
  }),
  endpoint({
    method: 'DELETE',
    path: '/projects/:id/share/:group_id',
    summary: 'Unshare a project from a group',
    access: onProjectSignedIn('manage_shares'),
    input: z.object({ group_id: rowId() }),
    handler: ({ ctx, subject, input }) => unshareProject(ctx, subject, input.group_id),
  }),
]
