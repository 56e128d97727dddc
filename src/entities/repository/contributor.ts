import { z } from 'zod'
import type { Contributor as GitContributor } from '../../git/types.js'

export const Contributor = z
  .strictObject({ name: z.string(), email: z.string(), commits: z.int(), additions: z.int(), deletions: z.int() })
  .meta({ id: 'Contributor', description: 'An author and their number of commits.' })

/** Lines are not counted: RE-7 allows both to be 0. */
export const presentContributor = ({ name, email, commits }: GitContributor): z.infer<typeof Contributor> => ({
  name,
  email,
  commits,
  additions: 0,
  deletions: 0,
})
