import { z } from 'zod'
import type { Rendered } from '../../http/rendered-cache.js'
import { encodedPath } from './encoded-path.js'

/** One file of a diff (C-53 to C-55); `git/` returns this shape already. */
export const Diff = z
  .strictObject({
    old_path: z.string(),
    new_path: z.string(),
    encoded_old_path: encodedPath(),
    encoded_new_path: encodedPath(),
    a_mode: z.string(),
    b_mode: z.string(),
    new_file: z.boolean(),
    renamed_file: z.boolean(),
    deleted_file: z.boolean(),
    diff: z.string(),
    collapsed: z.literal(false).optional(),
    too_large: z.literal(true).optional(),
  })
  .meta({ id: 'Diff', description: 'The change of one file. `too_large`: its text is left out.' })

type Element = z.infer<typeof Diff> | Rendered

/** Whether one of the elements says that its text is left out (C-57), which a rendered one says at its end. */
export const someTooLarge = (elements: Element[]) =>
  elements.some((element) => ('text' in element ? element.text.endsWith('"too_large":true}') : element.too_large === true))
