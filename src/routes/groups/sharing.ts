import { z } from 'zod'
import { onGroupSignedIn } from '../../access/rules.js'
import { GroupDetails } from '../../entities/groups/group.js'
import { endpoint } from '../../http/endpoint.js'
import { newShare, rowId } from '../../http/params.js'
import { shareGroup, unshareGroup } from '../../services/groups/shares.js'
import { detailsOf } from './details.js'

const LEVELS = [10, 20, 30, 40, 50]

/** Shares of groups with groups (WB-351). */
export const groupSharing = [
  endpoint({
    method: 'POST',
    path: '/groups/:id/share',
    summary: 'Share a group with a group',
    description: 'Direct members of the other group get access to the group and all in it, with at most this role.',
    answers: [409],
    access: onGroupSignedIn('manage_members'),
    input: z.object(newShare(LEVELS)),
    output: GroupDetails,
    async handler({ ctx, caller, subject, input, view }) {
      await shareGroup(ctx, caller, subject, input)
      return detailsOf(ctx, caller, subject.group.id, view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/groups/:id/share/:group_id',
    summary: 'Unshare a group from a group',
    access: onGroupSignedIn('manage_members'),
    input: z.object({ group_id: rowId() }),
    handler: ({ ctx, subject, input }) => unshareGroup(ctx, subject, input.group_id),
  }),
]
