import { z } from 'zod'
import { int, oneOf, opt, str } from './params.js'

const number = opt(int({ min: 1 }))
const extent = opt(int({ min: 0, max: 100_000 }))
const point = z.object({ line_code: opt(str()), type: opt(oneOf(['old', 'new', 'expanded'])), old_line: number, new_line: number }).nullish()

/** The parameters of a place in a diff (DI-3, DI-10, DI-11, DI-12). */
export const positionParameters = z.object(
  {
    base_sha: opt(str()),
    start_sha: opt(str()),
    head_sha: opt(str()),
    position_type: opt(oneOf(['text', 'file', 'image'])),
    old_path: opt(str()),
    new_path: opt(str()),
    old_line: number,
    new_line: number,
    line_range: z.object({ start: point, end: point }).nullish(),
    width: extent,
    height: extent,
    x: extent,
    y: extent,
  },
  'is invalid',
)
