import { z } from 'zod'
import { signedIn } from '../../access/rules.js'
import type { Context } from '../../context.js'
import { endpoint } from '../../http/endpoint.js'

const Metadata = z.strictObject({
  version: z.string(),
  revision: z.string(),
  kas: z.strictObject({ enabled: z.literal(false), externalUrl: z.null(), version: z.null() }),
  enterprise: z.literal(false),
})

const metadataOf = (ctx: Pick<Context, 'config'>): z.infer<typeof Metadata> => ({
  version: ctx.config.version,
  revision: ctx.config.revision,
  kas: { enabled: false, externalUrl: null, version: null },
  enterprise: false,
})

/** Version and metadata (VE-1, VE-2). */
export const instance = [
  endpoint({
    method: 'GET',
    path: '/version',
    summary: 'Get the version',
    access: signedIn,
    output: Metadata,
    handler: async ({ ctx }) => metadataOf(ctx),
  }),
  endpoint({
    method: 'GET',
    path: '/metadata',
    summary: 'Get the metadata of this installation',
    access: signedIn,
    output: Metadata,
    handler: async ({ ctx }) => metadataOf(ctx),
  }),
]
