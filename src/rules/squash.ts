export const SQUASH_OPTIONS = ['never', 'always', 'default_on', 'default_off'] as const

type SquashOption = (typeof SQUASH_OPTIONS)[number]

/** Whether a merge squashes the commits: as the project says or, where it leaves a choice, the merge request (MR-96). */
export const isSquashed = ({ squash_option }: { squash_option: SquashOption }, { squash }: { squash: boolean }) =>
  squash_option === 'always' || (squash_option !== 'never' && squash)

/** Whether new merge requests squash unless they say otherwise. */
export const squashesByDefault = ({ squash_option }: { squash_option: SquashOption }) => squash_option === 'always' || squash_option === 'default_on'
