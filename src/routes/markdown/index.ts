import { z } from 'zod'
import { anyone } from '../../access/rules.js'
import { endpoint } from '../../http/endpoint.js'
import { bool, opt, str } from '../../http/params.js'
import { renderFor } from '../../services/markdown/render.js'

/** Rendering of Markdown (OT-5, MD-1 to MD-4). */
export const markdown = [
  endpoint({
    method: 'POST',
    path: '/markdown',
    summary: 'Render Markdown',
    description: 'HTML in the text is escaped. With `gfm`, references to what the caller may see become links.',
    access: anyone,
    openWhen: ['read_only'],
    input: z.object({ text: str(), gfm: opt(bool()), project: opt(str()) }),
    output: z.strictObject({ html: z.string() }),
    handler: async ({ ctx, caller, input }) => ({ html: await renderFor(ctx, caller, input) }),
  }),
]
