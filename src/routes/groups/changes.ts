import { z } from 'zod'
import { adminOnGroup, getGroupFor, getProjectFor, onGroupOrDeletedSignedIn, onGroupSignedIn, signedIn } from '../../access/rules.js'
import { GroupDetails } from '../../entities/groups/group.js'
import { failedTo, refused } from '../../failures.js'
import * as documented from '../../http/documented.js'
import { endpoint } from '../../http/endpoint.js'
import { bool, clearable, clearableFile, int, oneOf, opt, rowId, str, updateOf } from '../../http/params.js'
import { PROJECT_CREATION_LEVELS, SUBGROUP_CREATION_LEVELS } from '../../rules/creation-levels.js'
import { VISIBILITIES } from '../../rules/visibility.js'
import { createGroup } from '../../services/groups/create.js'
import { updateGroup } from '../../services/groups/update.js'
import { deleteGroup, restoreGroup } from '../../services/operations/group-deletion.js'
import { transferGroup } from '../../services/operations/group-transfer.js'
import { transferProject } from '../../services/projects/transfer.js'
import { detailsOf } from './details.js'

const attributes = {
  description: opt(clearable()),
  visibility: opt(oneOf(VISIBILITIES)),
  lfs_enabled: opt(bool()),
  request_access_enabled: opt(bool()),
  share_with_group_lock: opt(bool()),
  project_creation_level: opt(oneOf([...PROJECT_CREATION_LEVELS])),
  subgroup_creation_level: opt(oneOf([...SUBGROUP_CREATION_LEVELS])),
  default_branch_protection: opt(int({ min: 0, max: 3 })),
  default_branch: opt(clearable()),
  emails_disabled: opt(bool()),
  emails_enabled: opt(bool()),
  mentions_disabled: opt(bool()),
  auto_devops_enabled: opt(bool()),
  require_two_factor_authentication: opt(bool()),
  two_factor_grace_period: opt(int({ min: 0, max: 8_760 })),
  avatar: opt(clearableFile()),
}

export const groupChanges = [
  endpoint({
    method: 'POST',
    path: '/groups',
    summary: 'Create a group',
    answers: [404],
    access: signedIn,
    input: z.object({ name: documented.groupName(), path: documented.namespacePath(), ...attributes, parent_id: opt(rowId()) }),
    output: GroupDetails,
    async handler({ ctx, caller, input, view }) {
      return detailsOf(ctx, caller, await createGroup(ctx, caller, input), view)
    },
  }),
  endpoint({
    method: 'PUT',
    path: '/groups/:id',
    summary: 'Update a group',
    access: onGroupSignedIn('manage_group'),
    input: updateOf(z.object({ name: opt(documented.groupName()), path: opt(documented.namespacePath()), ...attributes })),
    output: GroupDetails,
    async handler({ ctx, caller, subject, input, view }) {
      await updateGroup(ctx, caller, subject, input)
      return detailsOf(ctx, caller, subject.group.id, view)
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/groups/:id',
    summary: 'Delete a group',
    description:
      'Also deletes all projects and subgroups. They are hidden immediately, and can be restored with the group for as many days as the setting `deletion_delay_days` says; then they are removed.',
    answers: [412],
    access: onGroupOrDeletedSignedIn('remove_group'),
    input: z.object({ permanently_remove: opt(bool()), full_path: opt(str()) }),
    async handler({ ctx, subject, input, unchangedSince }) {
      unchangedSince(subject.group.updated_at)
      await deleteGroup(ctx, subject, input)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/groups/:id/restore',
    summary: 'Restore a deleted group',
    description: 'Its projects and subgroups are restored with it, unless they were deleted before.',
    access: onGroupOrDeletedSignedIn('remove_group'),
    output: GroupDetails,
    async handler({ ctx, caller, subject, view }) {
      await restoreGroup(ctx, subject.group.id)
      return detailsOf(ctx, caller, subject.group.id, view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/groups/:id/transfer',
    summary: 'Transfer a group',
    description:
      'Moves the group with its subgroups and projects below the group `group_id`, or to the top level without it. Members of the groups that were above it lose the access they had by them; what is more visible than the new parent gets its visibility.',
    access: onGroupSignedIn('manage_group'),
    input: z.object({ group_id: opt(rowId()) }),
    output: GroupDetails,
    async handler({ ctx, caller, subject, input, view }) {
      const target = input.group_id === undefined ? null : await getGroupFor(ctx, caller, String(input.group_id))
      await transferGroup(ctx, caller, subject, target, (text) => refused(`Transfer failed: ${text}`))
      return detailsOf(ctx, caller, subject.group.id, view)
    },
  }),
  endpoint({
    method: 'POST',
    path: '/groups/:id/projects/:project_id',
    summary: 'Transfer a project to a group',
    description: 'The group becomes the namespace of the project.',
    access: adminOnGroup,
    input: z.object({ project_id: z.string() }),
    output: GroupDetails,
    async handler({ ctx, caller, subject, input, view }) {
      const { project } = await getProjectFor(ctx, caller, input.project_id)
      // an administrator's transfer of a project into the group (GR-42)
      await transferProject(ctx, caller, project, subject.id, {
        sameMessage: 'Transfer failed, please contact an admin.',
        refuse: (text) => failedTo('transfer project', { new_namespace: [text] }),
      })
      return detailsOf(ctx, caller, subject.id, view)
    },
  }),
]
