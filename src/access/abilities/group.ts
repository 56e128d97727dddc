/** Abilities that each role adds on a group (companions 5.2). */
export const GROUP_ROLES = {
  anonymous: ['read_group'],
  visitor: ['read_member', 'request_access'],
  guest: [],
  reporter: ['manage_label'],
  developer: ['manage_milestone'],
  maintainer: ['create_project', 'manage_variables', 'manage_deploy_tokens'],
  owner: ['create_subgroup', 'manage_group', 'manage_members', 'manage_hooks', 'manage_runners', 'remove_group'],
} as const

export type GroupRole = keyof typeof GROUP_ROLES
export type GroupAbility = (typeof GROUP_ROLES)[GroupRole][number]
