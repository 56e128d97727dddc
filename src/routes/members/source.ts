import type { Access } from '../../access/access.js'
import { onGroupSignedIn, onProjectSignedIn } from '../../access/rules.js'
import { documentedWith, int } from '../../http/params.js'
import { type MemberSource, sourceOfGroup, sourceOfProject } from '../../services/groups/members.js'

/** The project or group whose members are requested, and whether the caller can manage them. */
export interface MemberSubject {
  source: MemberSource
  manages: boolean
}

type Ability = 'read_member' | 'manage_members' | 'request_access'

export const onProjectMembers = (ability: Ability): Access<MemberSubject, true> => {
  const access = onProjectSignedIn(ability)
  return {
    ...access,
    find: async (ctx, caller, params) => {
      const subject = await access.find(ctx, caller, params)
      return { source: sourceOfProject(subject), manages: subject.can('manage_members') }
    },
  }
}

export const onGroupMembers = (ability: Ability): Access<MemberSubject, true> => {
  const access = onGroupSignedIn(ability)
  return {
    ...access,
    find: async (ctx, caller, params) => {
      const subject = await access.find(ctx, caller, params)
      return { source: sourceOfGroup(subject), manages: subject.can('manage_members') }
    },
  }
}

/** The roles that members of a project, or of a group, can have. */
export const levels = (path: string) =>
  documentedWith(int({ min: -1, max: 100 }), { enum: path.startsWith('/projects/') ? [10, 20, 30, 40] : [10, 20, 30, 40, 50] })
