/** Who may create projects in a group (GR-50). */
export const PROJECT_CREATION_LEVELS = ['noone', 'maintainer', 'developer'] as const
export type ProjectCreationLevel = (typeof PROJECT_CREATION_LEVELS)[number]

/** Who may create subgroups of a group (GR-51). */
export const SUBGROUP_CREATION_LEVELS = ['owner', 'maintainer'] as const
export type SubgroupCreationLevel = (typeof SUBGROUP_CREATION_LEVELS)[number]
