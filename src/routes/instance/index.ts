import { z } from 'zod'
import { signedIn } from '../../access/rules.js'
import { endpoint } from '../../http/endpoint.js'

/** Version and metadata (VE-1, VE-2). */
export const instance = [
  endpoint({
    method: 'GET',
    path: '/version',
    summary: 'Get the version',
    access: signedIn,
    input: z.object({}),
    output: z.strictObject({ version: z.string(), revision: z.string() }),
    async handler({ ctx }) {
      return { version: ctx.config.version, revision: ctx.revision }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/metadata',
    summary: 'Get the metadata of this installation',
    access: signedIn,
    input: z.object({}),
    output: z.strictObject({
      version: z.string(),
      revision: z.string(),
      kas: z.strictObject({ enabled: z.literal(false), externalUrl: z.null(), version: z.null() }),
      enterprise: z.literal(false),
    }),
    async handler({ ctx }) {
      return { version: ctx.config.version, revision: ctx.revision, kas: { enabled: false, externalUrl: null, version: null }, enterprise: false }
    },
  }),
]
