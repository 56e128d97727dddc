import { timingSafeEqual } from 'node:crypto'
import { countBadToken } from '../../../access/authenticate.js'
import type { Context } from '../../../context.js'
import { Failure } from '../../../failures.js'
import { digestOf } from '../../../lib/crypto/secret.js'
import { type Application, findApplication } from './applications.js'

/** What a program says that it is: by HTTP Basic, or in the body. */
export interface ClientCredentials {
  id: string
  /** Undefined for a program that has none to keep. */
  secret: string | undefined
}

const invalidClient = () =>
  new Failure(
    'unauthenticated',
    {
      error: 'invalid_client',
      error_description:
        'Client authentication failed due to unknown client, no client authentication included, or unsupported authentication method.',
    },
    { 'www-authenticate': 'Basic realm="Roost"' },
  )

/**
 * The application that a call comes from. One that keeps a secret has to show it; wrong ones count against the address, as unknown
 * tokens do (CR-34).
 */
export async function requireClient(ctx: Context, credentials: ClientCredentials | null): Promise<Application> {
  if (!credentials) throw invalidClient()
  const application = await findApplication(ctx, credentials.id)
  if (application && proves(application, credentials.secret)) return application
  await countBadToken(ctx, ctx.origin?.address ?? '')
  throw invalidClient()
}

function proves({ confidential, secret_digest }: Application, secret: string | undefined): boolean {
  if (secret === undefined || secret === '') return !confidential
  return timingSafeEqual(Buffer.from(digestOf(secret)), Buffer.from(secret_digest))
}
