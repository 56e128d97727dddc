import { z } from 'zod'

/** One file of a diff (C-53 to C-55); `git/` returns this shape already. */
export const Diff = z
  .strictObject({
    old_path: z.string(),
    new_path: z.string(),
    a_mode: z.string(),
    b_mode: z.string(),
    new_file: z.boolean(),
    renamed_file: z.boolean(),
    deleted_file: z.boolean(),
    diff: z.string(),
  })
  .meta({ id: 'Diff', description: 'The change of one file.' })
