import type { Caller } from '../../access/actor.js'
import { getProjectFor } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { invalidInput } from '../../failures.js'
import { linksOfReferences } from './references.js'

/** The longest text, in bytes. */
const MAX_TEXT = 1_048_576

export interface MarkdownText {
  text: string
  /** Whether references become links. */
  gfm?: boolean | undefined
  /** The project that the text belongs to: its id or full path. */
  project?: string | undefined
}

/** Renders a text for a reader: what it refers to becomes a link if they may see it (MD-1, MD-2). */
export async function renderFor(ctx: Context, caller: Pick<Caller, 'user'>, { text, gfm, project: named }: MarkdownText): Promise<string> {
  if (Buffer.byteLength(text) > MAX_TEXT) throw invalidInput(`text is too long (maximum is ${MAX_TEXT} bytes)`)
  const project = named === undefined ? null : await getProjectFor(ctx, caller, named)
  return ctx.cpu.markdown.html(text, gfm ? await linksOfReferences(ctx, { caller, project }, text) : {})
}
